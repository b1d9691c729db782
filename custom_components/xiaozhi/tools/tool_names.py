"""Parses the name of a tool: its words, its verb and its subject."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
import re
from typing import Final


def word_set(*texts: str) -> frozenset[str]:
    """Return the set of words in texts."""
    return frozenset(word for text in texts for word in text.split())


_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_CAMEL: Final = re.compile(r"(?<=[^\W_])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
# The dot in PM2.5 does not end a group.
# Of all tools: `self` of stock firmware, `user` of sketches for Arduino.
_PREFIX: Final = re.compile(r"^(?:self|user)\.")
_DECIMAL: Final = re.compile(r"(?<=\d)\.(?=\d)")
_WIFI: Final = re.compile(r"\bwi ?fi\b", re.IGNORECASE)
# Words that are written in another way than others.
_SPELLINGS: Final = {
    **{word.lower(): word for word in word_set("AC AQI HCHO IR LED pH PM10 RGB TDS TV TVOC USB UV")},
    "co2": "CO₂",
    "pm1 0": "PM1",
    "pm2 5": "PM2.5",
    "pm25": "PM2.5",
    "temp": "temperature",
}
_SPELT: Final = re.compile(rf"\b(?:{'|'.join(sorted(_SPELLINGS, key=len, reverse=True))})\b", re.IGNORECASE)
_MAX_NAME: Final = 64


class Verb(StrEnum):
    """Verb of a tool's name, which decides on the entity."""

    GET = "get"
    IS = "is"
    """It answers yes or no."""
    SET = "set"
    ON = "on"
    OFF = "off"
    OTHER = "other"


_ENGLISH: Final = {
    word: verb
    for verb, listed in {
        Verb.GET: "get|read|query|measure|check|fetch",
        Verb.IS: "is|has",
        Verb.SET: "set|adjust|change|select|choose|switch",
        Verb.ON: "turn on|switch on|power on|enable|activate|on",
        Verb.OFF: "turn off|switch off|power off|disable|deactivate|off",
    }.items()
    for word in listed.split("|")
}
_CHINESE: Final = {
    word: verb
    for verb, listed in {
        Verb.GET: "获取 查询 查看 得到 读取 检查 检测 测量 当前 列出 列举",
        Verb.IS: "是否",
        Verb.SET: "设置 设定 修改 更改 切换 调节 调整 选择",
        Verb.ON: "打开 开启",
        Verb.OFF: "关闭 关上",
    }.items()
    for word in listed.split()
}
# For a light, as a translation of 打开.
_OPENS: Final = {"open": Verb.ON, "close": Verb.OFF}
# 开机, 关机, 开始, 关于 and 开关 are words of their own.
_ONE_CHARACTER: Final = {"开": Verb.ON, "关": Verb.OFF}
_AT_THE_BEGINNING: Final = re.compile(rf"(?:{'|'.join(_CHINESE)}|[开关](?![关机始于]))+")
_AT_THE_END: Final = re.compile(rf"(?:{'|'.join(_CHINESE)}|状态)+$")
# Verbs inside a name, such as curtain_set_position.
_IN_THE_MIDDLE: Final = frozenset({"set", "get", "is", "read"})
# Before such a verb: a question that is answered in words, as in ask_what_is_seen.
_QUESTIONS: Final = frozenset({"ask", "describe", "explain", "how", "tell", "what", "which", "who", "why"})
_STATES: Final = word_set("humidity info state status temperature version")
# Last words of tools that answer with a list, unless another word says that they do something with it.
_LISTS: Final = frozenset({"keys", "list", "show"})
_DOES: Final = word_set(
    "add apply cancel clear copy create cycle delete download erase export import learn load make move next",
    "pause play power press previous random refresh reload remove reset restore save send share shuffle sort",
    "start stop store sync test turn type update upload write",
)
_PERFORMED: Final = word_set("dance fire fireworks light lights led magic slide talk")
_CHANGES_LIST: Final = re.compile("[保停刷删加发学播更添清移]")
# These begin with a verb without a separator, as in setbacklight.
_SETS: Final = re.compile(r"set(?!s?$|t|up)")


@dataclass(frozen=True, slots=True)
class ParsedName:
    """The name of a tool."""

    verb: Verb
    group: str
    """The part before the last dot."""
    rest: str
    """The last part without the verb."""
    subject: tuple[str, ...]
    """The words of group and rest, in lower case."""

    @property
    def named(self) -> str:
        """The name without the verb."""
        return join_name(self.group, self.rest)


@lru_cache(maxsize=2048)
def parse_name(name: str) -> ParsedName:
    """Return the parts of a name: on and lamp for `lamp.turn_on`, `turnOnLamp` and 打开lamp."""
    group, _, last = _DECIMAL.sub("_", name).rpartition(".")
    verb, rest = _chinese(last) if not last.isascii() else _english(last)
    found = [word for word in (*words(_PREFIX.sub("", f"{group}.")), *words(rest)) if word != "self"]
    subject = tuple(word for at, word in enumerate(found) if at == 0 or word != found[at - 1])
    return ParsedName(verb, group, rest, subject)


def join_name(group: str, rest: str) -> str:
    """Return a name of these parts, each of which may be empty."""
    return ".".join(filter(None, (group, rest)))


def _english(last: str) -> tuple[Verb, str]:
    parts = re.findall("[^_]+", _CAMEL.sub("_", last)) or [""]
    found = [part.lower() for part in parts]
    if _lists(found) or (found[-1] in _STATES and found[0] not in {"is", "has", "set"}):
        # The last word stays in the name: a state is shown as one.
        reads = _ENGLISH.get(found[0]) is Verb.GET or (found[0] == "list" and len(found) > 1)
        return Verb.GET, "_".join(parts[1:] if reads else parts)
    if (verb := _around(found)) is not None:
        return verb, "_".join(parts[1 : None if found[0] in _OPENS else -1])
    for length in (2, 1):
        if (verb := _ENGLISH.get(" ".join(found[:length]))) is not None:
            return verb, "_".join(parts[length:])
        if (verb := _ENGLISH.get(" ".join(found[-length:]), Verb.IS)) is not Verb.IS:
            return verb, "_".join(parts[:-length])
    at = next((index for index, word in enumerate(found) if word in _IN_THE_MIDDLE), None)
    if at is not None and _QUESTIONS.isdisjoint(found[:at]):
        return _ENGLISH[found[at]], "_".join([*parts[:at], *parts[at + 1 :]])
    sets = _SETS.match(found[0])
    return (Verb.SET, "_".join([parts[0][3:], *parts[1:]])) if sets else (Verb.OTHER, last)


def _around(found: list[str]) -> Verb | None:
    """Return the verb of words such as turn_lamp_on and open_lamp."""
    if len(found) > 1 and found[0] in _OPENS:
        return None if LIGHTS.isdisjoint(found) else _OPENS[found[0]]
    return _ENGLISH.get(f"{found[0]} {found[-1]}") if len(found) > 2 else None


def _lists(found: list[str]) -> bool:
    if found[0] in _ENGLISH or not _DOES.isdisjoint(found):
        return False
    return found[0] == "list" or (
        found[-1] in _LISTS and (found[-1] != "show" or _PERFORMED.isdisjoint(found))
    )


def _chinese(last: str) -> tuple[Verb, str]:
    if last.endswith("列表") and not _CHANGES_LIST.match(last) and not _AT_THE_BEGINNING.match(last):
        return Verb.GET, last
    begin, end = _AT_THE_BEGINNING.match(last), _AT_THE_END.search(last)
    rest = last[begin.end() if begin else 0 : end.start() if end else len(last)]
    verbs = (begin[0] if begin else "") or (end[0] if end else "")
    if not verbs:
        return Verb.OTHER, last
    if verbs[:1] in _ONE_CHARACTER and verbs[:2] not in _CHINESE:
        return _ONE_CHARACTER[verbs[0]], rest
    # The first verb counts; a state is read.
    return next((verb for word, verb in _CHINESE.items() if verbs.startswith(word)), Verb.GET), rest


LIGHTS: Final = word_set("bulb lamp lamps led leds light lights neopixel rgb")
"""Words for lights."""


def words(text: str) -> list[str]:
    """Return the lower-case words of a name: `turn`, `left` for `turn_left` and `turnLeft`."""
    spaced = " ".join(_WORD.findall(text)).lower()
    return re.sub(r"\bpoweroff\b", "power off", _WIFI.sub("wifi", spaced)).split()


def readable_name(name: str) -> str:
    """Return a tool's name as text for people: `Enter Wi-Fi config` for `self.enterWiFiConfig`."""
    shown: list[str] = []
    for word in re.split(r"[\W_]+", _CAMEL.sub(" ", _PREFIX.sub("", name))):
        if word and (not shown or word.lower() != shown[-1].lower()):
            shown.append(word if word.isupper() else word.lower())
    text = _SPELT.sub(lambda found: _SPELLINGS[found[0].lower()], " ".join(shown))
    text = _WIFI.sub("Wi-Fi", text)[:_MAX_NAME].rstrip() or name[:_MAX_NAME]
    return text[:1].upper() + text[1:]
