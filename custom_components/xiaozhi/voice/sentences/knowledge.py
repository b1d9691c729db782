"""The sentences and names that Home Assistant knows, prepared for judgements in a thread."""

from collections.abc import Iterator, Mapping
from typing import Final

from hassil.intents import Intents, SlotList
from hassil.recognize import RecognizeResult
from hassil.util import normalize_for_matching, remove_skip_words
from homeassistant.core import HomeAssistant

from .completeness import Completeness
from .grammar import Grammar, Lists, Outlook, OutOfTimeError, values_of_lists
from .meaning import Meaning
from .recogniser import Hearing, async_hear, own_lists, recognise, trigger_intents
from .request import Request
from .values import TextValues

__all__ = ["Knowledge"]

# Languages whose sentences are kept.
_MOST_LANGUAGES: Final = 4


class _Home:
    """The names of the home, as the search for longer sentences uses them."""

    def __init__(self, lists: Mapping[str, SlotList], language: str) -> None:
        self.lists: Final = lists
        self.own_lists: Final = own_lists(lists)
        self.values: Final[Lists] = values_of_lists(lists, language)

    def names_one_thing(self, result: RecognizeResult) -> bool:
        """Whether a sentence names something, and nothing else has this name."""
        name, names = result.entities.get("name"), self.values.get("name")
        return name is not None and isinstance(names, TextValues) and names.names_one_thing(name.text)


class _Known:
    """Sentences that are known: those of a language, or those that start automations."""

    def __init__(self, intents: Intents, language: str) -> None:
        self.intents: Final = intents
        self._grammar: Final = Grammar(intents, language)
        self._is_prepared = False

    def prepare(self, hearing: Hearing, home: _Home) -> None:
        """Have hassil prepare what it needs when it is first asked."""
        if not self._is_prepared:
            recognise(hearing, self.intents, home.own_lists)
            self._is_prepared = True

    def outlook(self, hearing: Hearing, home: _Home, deadline: float) -> Outlook:
        """Return how a text may go on, with and without words such as "please". Raises OutOfTimeError."""
        text = normalize_for_matching(hearing.text).text
        ignores_spaces = self.intents.settings.ignore_whitespace
        outlook = Outlook()
        for words in {text, remove_skip_words(text, self.intents.skip_words, ignores_spaces).strip()}:
            outlook.add(self._grammar.outlook(words, home.values, hearing.context, deadline))
        return outlook


class Knowledge:
    """All that is known of a home. It keeps what took long to prepare."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass: Final = hass
        self._languages: Final[dict[str, _Known]] = {}
        self._triggers: tuple[tuple[str, ...], _Known] | None = None
        self._home: _Home | None = None

    async def judge(self, request: Request) -> Completeness:
        """Return how complete a text is, or prepare for others if there is none."""
        hearing = await async_hear(self._hass, request)
        if hearing is None:
            return Completeness.UNKNOWN
        try:
            return await self._hass.async_add_executor_job(self._judge, hearing, request.deadline)
        except OutOfTimeError:
            return Completeness.UNKNOWN

    def _judge(self, hearing: Hearing, deadline: float) -> Completeness:
        if self._home is None or self._home.lists is not hearing.lists:
            self._home = _Home(hearing.lists, hearing.language)
        home = self._home
        sources = [*self._sources(hearing)]
        if not normalize_for_matching(hearing.text).text:
            for known in sources:
                known.prepare(hearing, home)
            return Completeness.UNKNOWN
        outlook = Outlook()
        for known in sources:
            outlook.add(known.outlook(hearing, home, deadline))
        result = None
        if outlook.is_sentence:
            # The search is more lenient than the recogniser, which decides what is a command.
            understood = (recognise(hearing, known.intents, home.own_lists) for known in sources)
            result = next(filter(None, understood), None)
        if result is None:
            return Completeness.BEGINNING if outlook.is_beginning else Completeness.UNKNOWN
        meaning = Meaning.of(result, home.names_one_thing(result))
        if outlook.ends_in_wildcard or any(meaning.is_changed(*longer) for longer in outlook.longer):
            return Completeness.MAY_GO_ON
        return Completeness.COMPLETE

    def _sources(self, hearing: Hearing) -> Iterator[_Known]:
        """Yield what is known, first what Home Assistant asks first."""
        if hearing.triggers:
            if self._triggers is None or self._triggers[0] != hearing.triggers:
                intents = trigger_intents(hearing.triggers, hearing.language)
                self._triggers = hearing.triggers, _Known(intents, hearing.language)
            yield self._triggers[1]
        if hearing.intents is not None:
            known = self._languages.pop(hearing.language, None)
            if known is None or known.intents is not hearing.intents:
                known = _Known(hearing.intents, hearing.language)
            self._languages[hearing.language] = known
            while len(self._languages) > _MOST_LANGUAGES:
                del self._languages[next(iter(self._languages))]
            yield known
