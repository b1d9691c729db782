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
from .recogniser import Hearing, async_hear, recognise, trigger_intents
from .request import Request
from .values import TextValues

__all__ = ["Knowledge"]

# Languages whose sentences are kept.
_MOST_LANGUAGES: Final = 4


class _Home:
    """The names of the home, as the search for longer sentences uses them."""

    def __init__(self, lists: Mapping[str, SlotList], language: str) -> None:
        self.lists: Final = lists
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

    def outlooks(
        self, hearing: Hearing, home: _Home, meaning: Meaning | None, deadline: float
    ) -> Iterator[Outlook]:
        """Yield how a text may go on, with and without words such as "please". Raises OutOfTimeError."""
        text = normalize_for_matching(hearing.text).text
        ignores_spaces = self.intents.settings.ignore_whitespace
        for words in {text, remove_skip_words(text, self.intents.skip_words, ignores_spaces).strip()}:
            yield self._grammar.outlook(words, home.values, hearing.context, meaning, deadline)


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
        result = next(filter(None, (recognise(hearing, known.intents) for known in sources)), None)
        if not normalize_for_matching(hearing.text).text:
            return Completeness.UNKNOWN
        meaning = None if result is None else Meaning.of(result, home.names_one_thing(result))
        is_sentence = False
        for known in sources:
            for outlook in known.outlooks(hearing, home, meaning, deadline):
                if outlook is Outlook.GOES_ON:
                    return Completeness.BEGINNING if result is None else Completeness.MAY_GO_ON
                is_sentence |= outlook is Outlook.ENDS
        if result is None:
            return Completeness.UNKNOWN
        # What only the recogniser takes for a sentence may have longer ones that only it knows, too.
        return Completeness.COMPLETE if is_sentence else Completeness.MAY_GO_ON

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
