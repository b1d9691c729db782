"""Transcripts in the Chinese script that the pipeline's language has, whichever script the engine writes.

Whisper writes traditional characters for all Chinese, SenseVoice and others simplified ones, and Home
Assistant's sentences and the names of an owner's rooms are in one of the two. OpenCC converts; its
dictionaries are loaded with the first transcript of such a pipeline.
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import cache
import re
from typing import Final

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant


class Script(Enum):
    """Script of the transcripts of a pipeline."""

    SIMPLIFIED = auto()
    TRADITIONAL = auto()
    CANTONESE = auto()
    """Traditional characters, and words that Mandarin does not have."""


# Languages that speech recognition calls Chinese, Mandarin and Cantonese.
_CHINESE: Final = frozenset({"zh", "cmn", "yue"})
_TRADITIONAL: Final = frozenset({"hant", "tw"})
_CANTONESE: Final = frozenset({"yue", "hk", "mo"})
# OpenCC's names for its conversions.
_TO_SIMPLIFIED: Final = "tw2s"
_TO_TRADITIONAL: Final = "s2tw"
# Spellings of OpenCC and of people: 陽台, 加濕器, 吊燈. It takes 清单里加 for the town 里加.
_AS_WRITTEN: Final = (
    (re.compile("臺"), "台"),
    (re.compile("溼"), "濕"),
    (re.compile("弔"), "吊"),
    (re.compile("單里"), "單裡"),
    # A family name, but for the words that have the other character.
    (re.compile("(?<![典垂就師模示規軌防風])範(?![例圍式文本疇])"), "范"),
    # Not hair: 從頭發送, 開頭發現.
    (re.compile("(?<=[從由重開])頭髮(?=[佈動射展布現起送])"), "頭發"),
)
# "Is" and "switch on", which Mandarin writes so only as a part of other words: 系統, 太陽系, 關著.
_CANTONESE_WORDS: Final = (
    (re.compile("(?<![陽河星科體院語派譜])系(?![統列主])"), "係"),
    (re.compile("^著"), "着"),
)


def script_converter(hass: HomeAssistant, pipeline: Pipeline) -> Callable[[str], Awaitable[str]] | None:
    """Return a converter of transcripts to the script of a Chinese pipeline; None for any other pipeline."""
    if (script := _script_of(pipeline)) is None:
        return None
    return lambda text: hass.async_add_executor_job(convert, text, script)


def convert(text: str, script: Script) -> str:
    """Return a transcript in a script. Blocks."""
    simplified = _converter(_TO_SIMPLIFIED)(text)
    if script is Script.SIMPLIFIED:
        return simplified
    if simplified != text:
        # It is in traditional characters already, of which there are more than OpenCC writes.
        return text
    converted = _converter(_TO_TRADITIONAL)(text)
    mends = _AS_WRITTEN + _CANTONESE_WORDS if script is Script.CANTONESE else _AS_WRITTEN
    for pattern, characters in mends:
        converted = pattern.sub(characters, converted)
    return converted


def _script_of(pipeline: Pipeline) -> Script | None:
    """Return the script of a pipeline whose speech is Chinese."""
    if not _CHINESE & _parts(pipeline.stt_language):
        return None
    reads = pipeline.conversation_language
    languages = (pipeline.language, pipeline.stt_language) if reads == MATCH_ALL else (reads,)
    for parts in map(_parts, languages):
        if _CHINESE & parts:
            if _CANTONESE & parts:
                return Script.CANTONESE
            return Script.TRADITIONAL if _TRADITIONAL & parts else Script.SIMPLIFIED
    return None


def _parts(language: str | None) -> set[str]:
    return set((language or "").casefold().replace("_", "-").split("-"))


@cache
def _converter(conversion: str) -> Callable[[str], str]:
    # Only where it is needed: the dictionary for traditional characters takes 25 MB.
    from opencc import OpenCC  # noqa: PLC0415

    return OpenCC(conversion).convert
