"""The sentences and names that Home Assistant knows, prepared for judgements in a thread."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hassil.intents import Intents, SlotList
from hassil.recognize import RecognizeResult
from hassil.util import normalize_for_matching, remove_skip_words
from homeassistant.core import HomeAssistant

from .completeness import Completeness
from .grammar import Grammar, Lists, Outlook, OutOfTimeError, values_of_lists
from .meaning import Change, Meaning, Thing
from .recogniser import Hearing, async_hear, own_lists, recognise, trigger_intents
from .request import Request
from .templates import DEVICE_CLASS
from .values import Context, TextValues

__all__ = ["Knowledge"]

# Languages whose sentences are kept.
_MOST_LANGUAGES: Final = 4
# The area of a device that has one.
_SOME_ROOM: Final = {"area": {"value": "", "text": ""}}


class _Home:
    """The names of the home, as the search for longer sentences uses them."""

    def __init__(self, lists: Mapping[str, SlotList], language: str) -> None:
        self.lists: Final = lists
        self.own_lists: Final = own_lists(lists)
        self.values: Final[Lists] = values_of_lists(lists, language)

    def thing(self, result: RecognizeResult) -> Context | None:
        """Return what is known of what a sentence names, if nothing else has the name."""
        name, names = result.entities.get("name"), self.values.get("name")
        return names.only(name.text) if name is not None and isinstance(names, TextValues) else None

    def other_classes(self, thing: Context) -> set[str] | None:
        """Return of which classes the other things of its domain are; None if it is the only one."""
        names = self.values.get("name")
        others = names.others(thing) if isinstance(names, TextValues) else []
        classes = [other.get(DEVICE_CLASS) for other in others if other.get("domain") == thing.get("domain")]
        return {str(name) for name in classes if name is not None} if classes else None


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

    def outlook(
        self, hearing: Hearing, home: _Home, deadline: float, classes: Collection[str] | None = None
    ) -> Outlook:
        """Return how a text may go on, with and without words such as "please". Raises OutOfTimeError.

        With `classes`, as if there were things of these classes only.
        """
        text = normalize_for_matching(hearing.text).text
        ignores_spaces = self.intents.settings.ignore_whitespace
        outlook = Outlook()
        names = self._grammar.named(home.values, classes)
        for words in {text, remove_skip_words(text, self.intents.skip_words, ignores_spaces).strip()}:
            outlook.add(names.outlook(words, hearing.context, deadline))
        return outlook

    def understood(self, hearing: Hearing, home: _Home, outlook: Outlook) -> RecognizeResult | None:
        """Return what the recogniser understands, which is asked only about the sentences that fit."""
        # The search is more lenient than the recogniser, which decides what is a command.
        if not outlook.blocks:
            return None
        return recognise(hearing, self._grammar.intents_of(outlook), home.own_lists)


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
        outlooks = {known: known.outlook(hearing, home, deadline) for known in sources}
        understood = (known.understood(hearing, home, outlook) for known, outlook in outlooks.items())
        if result := next(filter(None, understood), None):
            return _judge_command(hearing, home, outlooks, result, deadline)
        if not any(outlook.is_beginning for outlook in outlooks.values()):
            return Completeness.UNKNOWN
        if _lacks_room(hearing, home, sources, deadline):
            return Completeness.UNKNOWN
        return Completeness.BEGINNING

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


def _judge_command(
    hearing: Hearing,
    home: _Home,
    outlooks: Mapping[_Known, Outlook],
    result: RecognizeResult,
    deadline: float,
) -> Completeness:
    context = home.thing(result)
    thing = None
    if context is not None:
        takes_position = result.entities["name"].value not in hearing.without_position
        thing = Thing(context.get("domain"), takes_position)
    meaning = Meaning.of(result, thing, chooses_timer=hearing.chooses_timer)
    changes = _changes(meaning, outlooks.values())
    if any(outlook.ends_in_wildcard for outlook in outlooks.values()) or Change.OTHER in changes:
        return Completeness.MAY_GO_ON
    if context is not None and Change.CLASS in changes:
        classes = home.other_classes(context)
        if classes is not None:
            others = [known.outlook(hearing, home, deadline, classes) for known in outlooks]
            if Change.CLASS in _changes(meaning, others):
                return Completeness.MAY_GO_ON
    return Completeness.DETAIL_MAY_FOLLOW if Change.DETAIL in changes else Completeness.COMPLETE


def _changes(meaning: Meaning, outlooks: Iterable[Outlook]) -> set[Change]:
    """Return what longer sentences make of a command."""
    return {meaning.change(*longer) for outlook in outlooks for longer in outlook.longer}


def _lacks_room(hearing: Hearing, home: _Home, sources: Sequence[_Known], deadline: float) -> bool:
    """Whether a text would be a sentence if the device had a room, so that it was said to its end."""
    if hearing.context:
        return False
    in_room = replace(hearing, context=_SOME_ROOM)
    return any(known.outlook(in_room, home, deadline).is_sentence for known in sources)
