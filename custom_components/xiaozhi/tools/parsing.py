"""What the name of a tool says: an action, and what it is done to."""

from dataclasses import dataclass
from functools import lru_cache
import re
from typing import Final

from .everyday import everyday_words
from .words import words

__all__ = ["Parsed", "is_chinese", "parse"]

_ACTIONS: Final = {
    "on": ("turn on", "switch on", "power on", "enable", "activate", "on"),
    "off": ("turn off", "switch off", "power off", "disable", "deactivate", "off"),
    "open": ("open", "roll up", "unroll", "raise", "lift", "up"),
    "close": ("close", "shut", "roll down", "lower", "down"),
    "stop": ("stop", "halt", "pause"),
    "start": ("start", "run", "begin"),
    "unlock": ("unlock",),
    "lock": ("lock",),
    "get": ("get", "read", "query", "measure", "check", "fetch"),
    "is": ("is", "has"),
    "set": ("set", "adjust", "change", "select", "choose", "switch"),
}
_BY_WORDS: Final = {tuple(text.split()): action for action, texts in _ACTIONS.items() for text in texts}
_VERTICAL: Final = frozenset(
    tuple(text.split()) for text in ("raise", "lift", "up", "lower", "down", "roll up", "roll down")
)
# Verbs inside a name, such as curtain_set_position.
_IN_THE_MIDDLE: Final = frozenset({"set", "get", "is", "read"})
# Before such a verb: a question that is answered in words, as in ask_what_is_seen.
_QUESTIONS: Final = frozenset({"ask", "describe", "explain", "how", "tell", "what", "which", "who", "why"})
# Words of a name that say nothing about the subject.
_FILLERS: Final = frozenset({"self", "the", "a", "now", "current", "value", "reading"})
_DECIMAL: Final = re.compile(r"(?<=\d)\.(?=\d)")
_TOLD: Final = frozenset({"state", "status"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The name of a tool."""

    action: str
    """One of the keys of the table, or empty."""
    subject: tuple[str, ...]
    """The other words, in English as far as they are known, without those that say nothing."""
    vertical: bool = False
    """Whether the action is up or down, which opens some things only."""


@lru_cache(maxsize=1024)
def parse(name: str) -> Parsed:
    """Return what a name says: `open` and `curtain` for `curtain.open`, `openCurtain` and 打开窗帘."""
    # The dot in PM2.5 does not end a group.
    group, _, verb = _DECIMAL.sub("_", name).rpartition(".")
    before, found = words(everyday_words(group)), words(everyday_words(verb))
    action, vertical = "", False
    if found and found[-1] in _TOLD and (found[0] not in {"is", "has", "set"}):
        action = "get"
        found = [word for word in found[:-1] if _BY_WORDS.get((word,)) != "get"]
    else:
        for length in (2, 1):
            for part, rest, leads in (
                (tuple(found[:length]), found[length:], True),
                (tuple(found[-length:]), found[:-length], False),
            ):
                if (
                    len(part) == length
                    and part in _BY_WORDS
                    and (leads or not rest or _BY_WORDS[part] != "is")
                ):
                    action, vertical, found = _BY_WORDS[part], part in _VERTICAL, rest
                    break
            if action:
                break
        else:
            at = next((index for index, word in enumerate(found) if word in _IN_THE_MIDDLE), None)
            if at is not None and _QUESTIONS.isdisjoint(found[:at]):
                action, found = _BY_WORDS[found[at],], [*found[:at], *found[at + 1 :]]
    subject: list[str] = []
    for word in (*before, *found):
        if word not in _FILLERS and (not subject or word != subject[-1]):
            subject.append(word)
    return Parsed(action, tuple(subject), vertical)


def is_chinese(name: str) -> bool:
    """Whether a name has Chinese words, whose "open" also means "on"."""
    return not name.isascii()
