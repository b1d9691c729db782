"""A scripted language model: it picks a tool by its name, as a model does by its description."""

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any, Final

from .answer import Answer, ToolCaller

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spoken:
    """Outcome of a sentence."""

    called: str | None
    """The tool's name, None if no tool fits."""
    arguments: Json
    answer: Answer | None


# A sentence, and the end of the tool's name.
_SENTENCES: Final = (
    (r"turn on (?:the )?(?P<name>.+)", "HassTurnOn"),
    (r"turn off (?:the )?(?P<name>.+)", "HassTurnOff"),
    (r"set (?:the )?(?P<name>.+) to (?P<brightness>\d+) ?(?:%|percent)", "HassLightSet"),
    (r"(?:what is|what's) (?:on|in the house)", "GetLiveContext"),
    (r"what time is it|what day is it", "GetDateTime"),
)


async def ask(caller: ToolCaller, sentence: str) -> Spoken:
    """Say a sentence to the model, which calls at most one tool."""
    for pattern, ending in _SENTENCES:
        if found := re.fullmatch(pattern, sentence.strip().rstrip(".?!"), re.IGNORECASE):
            if (tool := _find(caller.tools, ending)) is None:
                break
            arguments: Json = {key: _number(word) for key, word in found.groupdict().items()}
            return Spoken(tool, arguments, await caller.call(tool, arguments))
    return Spoken(None, {}, None)


def _find(tools: Mapping[str, Json], ending: str) -> str | None:
    """Return the shortest name with this ending: servers put prefixes before it."""
    return min((name for name in tools if name.endswith(ending)), key=len, default=None)


def _number(word: str) -> str | int:
    return int(word) if word.isdecimal() else word
