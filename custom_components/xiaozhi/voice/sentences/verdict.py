"""A judgement on one transcript, made in a thread."""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from hassil.intents import Intents, SlotList
from hassil.recognize import RecognizeResult
from hassil.util import normalize_for_matching, remove_skip_words

from .completeness import Completeness
from .grammar import Grammar, Lists, Outlook, OutOfTimeError, home_lists
from .recogniser import recognise

__all__ = ["Home", "Known", "OutOfTimeError", "Question", "verdict"]


class Home:
    """The names of the home, as the recogniser and the search for longer sentences use them."""

    def __init__(self, lists: Mapping[str, SlotList], language: str) -> None:
        self.lists: Final = lists
        self.values: Final[Lists] = home_lists(lists, language)


class Known:
    """Sentences that are known: those of a language, or those that start automations."""

    def __init__(self, intents: Intents, language: str) -> None:
        self.intents: Final = intents
        self.language: Final = language
        self._grammar: Final = Grammar(intents, language)

    def outlook(self, question: Question, home: Home) -> Outlook:
        """Return how a text may go on. Raises OutOfTimeError."""
        text = normalize_for_matching(question.text).text
        ignores_spaces = self.intents.settings.ignore_whitespace
        outlook = Outlook()
        for words in {text, remove_skip_words(text, self.intents.skip_words, ignores_spaces).strip()}:
            if words:
                outlook.add(self._grammar.outlook(words, home.values, question.context, question.deadline))
            else:
                # Somebody has only said "please".
                outlook.goes_on = True
        return outlook

    def recognise(self, question: Question, home: Home) -> RecognizeResult | None:
        """Return what the recogniser understands."""
        result = recognise(question.text, self.intents, home.lists, dict(question.context), self.language)
        return None if result is None or result.intent.name in question.excluded else result


@dataclass
class Question:
    """What is asked of the known sentences."""

    text: str
    context: Mapping[str, Any]
    """What the recogniser knows of the place."""
    excluded: AbstractSet[str]
    """Intents that the recogniser does not get."""
    deadline: float
    """In seconds of `time.monotonic`."""


def verdict(question: Question, sources: list[Known], home: Home) -> Completeness:
    """Return how complete a text is. Raises OutOfTimeError."""
    if not question.text:
        return Completeness.UNKNOWN
    outlook = Outlook()
    understood = ends_in_wildcard = False
    for known in sources:
        outlook.add(known.outlook(question, home))
        if (result := known.recognise(question, home)) is not None:
            understood = True
            ends_in_wildcard |= _ends_in_wildcard(question.text, result)
    if not understood:
        began = outlook.goes_on or outlook.in_wildcard
        return Completeness.BEGINNING if began else Completeness.UNKNOWN
    if outlook.whole and not (outlook.goes_on or outlook.ends_in_wildcard or ends_in_wildcard):
        return Completeness.COMPLETE
    return Completeness.MAY_GO_ON


def _ends_in_wildcard(text: str, result: RecognizeResult) -> bool:
    text = normalize_for_matching(text).text.casefold()
    return any(
        entity.is_wildcard and text.endswith(entity.text_clean.casefold()) for entity in result.entities_list
    )
