"""The texts allowed for an argument, from its schema or from an enumeration in a description."""

from functools import lru_cache
import re
from typing import Final

from ..protocol.mcp.client import MAX_TOOLS
from ..protocol.mcp.tool import Tool, ToolProperty
from .catalogue import CATALOGUE, StockTool
from .pool import limits_of

__all__ = ["choices_of", "described_texts", "enumerated_texts", "labelled_numbers", "listed_texts"]

_MAX_OPTIONS: Final = 32
# Longer texts could keep the event loop busy.
_MAX_TEXT: Final = 1024
# An enumeration in words: `a`, 'b' or "c".
_CHOICE: Final = r"[`'\"“‘]([\w-]{1,40})[`'\"”’]"
_CHOICES: Final = re.compile(rf"{_CHOICE}(?:\s*(?:,|/|\||、|，|or|and|或|和)\s*(?:or\s+)?{_CHOICE})+")
# After these, an enumeration is only examples.
_BEFORE_EXAMPLES: Final = re.compile(
    r"(?:\b(?:e\.\s?g\.?|eg\.?|for (?:example|instance)|examples?|such as|like|including|say)"
    r"|例如|比如|譬如|诸如|示例|例|如)[\s:：,，(（]*$",
    re.IGNORECASE,
)
_AFTER_EXAMPLES: Final = re.compile(
    r"[\s,，、;)）]*(?:(?:and|or)\s+)?(?:etc\b|so on|others?\b|similar|more\b|the like|\.\.\.|…|等|之类)",
    re.IGNORECASE,
)

# An enumeration without quotes: cool/heat/dry, or after what introduces it: "Modes: cool, heat or dry".
_PLAIN: Final = r"[^\W_][\w-]{0,23}"
_GLOSS: Final = (
    r"(?:\s?[(（][^)）]{1,24}[)）]|\s[\u4e00-\u9fff]{1,8}"
    r"|\s?[=＝]\s?[^\s,，、/|;；.。)）]{1,16})?"
)
_SEPARATOR: Final = r"\s*(?:[/|、,，]\s*(?:or\s+|and\s+|或|和)?|\s(?:or|and)\s|或|和)\s*"
_LIST: Final = rf"({_PLAIN}{_GLOSS}(?:{_SEPARATOR}{_PLAIN}{_GLOSS})+)"
_INTRODUCTION: Final = (
    r"(?:\b(?:modes?|values?|options?|one of|types?|choices|scenes?|presets?|available|supported)"
    r"|支持|可选|取值|可以是|包括|包含|类型|模式|场景|选项|ARGUMENT)"
    r"[^:：=(（\n,，。.]{0,20}(?:[:：=(（]|\bis\b|为)\s*"
)
_COMMAND: Final = re.compile(
    rf"(?:\b(?:set|choose|select) |设置|选择)[^:：.。=(（\n]{{0,30}}[:：]\s*{_LIST}", re.IGNORECASE
)
_IN_BRACKETS: Final = re.compile(rf"[(（]\s*({_PLAIN}{_GLOSS}(?:\s*[/|]\s*{_PLAIN}{_GLOSS})+)\s*[)）]")
_NO_CHOICES: Final = frozenset({"etc", "more", "others", "so", "such"})
_WORD: Final = re.compile(rf"({_PLAIN}){_GLOSS}(?:{_SEPARATOR}|$)")
# A number with its meaning: "0: off", "1=low", 2-制热; or the meaning first: off=0.
_NUMBERED: Final = re.compile(
    r"(?<![\d.])(\d{1,2})\s*[:：=＝.\-–—]?\s*([^\W\d_][^\d,，;；、/|()（）.。:：=\n]{0,24})"
)
_NAMED: Final = re.compile(r"([^\W\d_][\w-]{0,24}?)\s*[:：=＝]\s*(\d{1,2})(?!\d)")


@lru_cache(maxsize=4 * MAX_TOOLS)
def described_texts(description: str, argument: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates without quotes, if it has just one enumeration."""
    description = description[:_MAX_TEXT]
    introduced = re.compile(_INTRODUCTION.replace("ARGUMENT", re.escape(argument)) + _LIST, re.IGNORECASE)
    found: set[tuple[str, ...]] = set()
    for pattern in (introduced, _COMMAND, _IN_BRACKETS):
        for match in pattern.finditer(description):
            start, end = match.span(1)
            if _BEFORE_EXAMPLES.search(description[:start]) or _AFTER_EXAMPLES.match(description[end:]):
                return None
            if description[end : end + 1].strip() and description[end] not in ".。)）;；\n,，!！":
                continue
            found.add(tuple(dict.fromkeys(_WORD.findall(match[1]))))
    if len(found) != 1:
        return None
    (choices,) = found
    usable = 1 < len(choices) <= _MAX_OPTIONS and not any(
        choice.isdecimal() or choice.lower() in _NO_CHOICES for choice in choices
    )
    return choices if usable else None


@lru_cache(maxsize=4 * MAX_TOOLS)
def labelled_numbers(description: str, limits: tuple[int, int]) -> tuple[str, ...] | None:
    """Return the names that a description gives to all numbers within the limits, in their order."""
    low, high = limits
    if not 1 < high - low < _MAX_OPTIONS:
        return None
    description = description[:_MAX_TEXT]
    readings = (
        {int(number): name.strip() for number, name in _NUMBERED.findall(description)},
        {int(number): name.strip() for name, number in _NAMED.findall(description)},
    )
    for names in readings:
        labels = tuple(names.get(number, "") for number in range(low, high + 1))
        if all(labels) and len(set(labels)) == len(labels):
            return labels
    return None


def listed_texts(kind: ToolProperty) -> tuple[str, ...] | None:
    """Return the texts that a schema allows."""
    texts = tuple(choice for choice in kind.choices if isinstance(choice, str))
    return texts if texts == kind.choices and 1 < len(texts) <= _MAX_OPTIONS else None


def enumerated_texts(description: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates, if it has just one enumeration."""
    found = list(_CHOICES.finditer(description))
    if len(found) != 1:
        return None
    start, end = found[0].span()
    if _BEFORE_EXAMPLES.search(description[:start]) or _AFTER_EXAMPLES.match(description[end:]):
        return None
    choices = tuple(dict.fromkeys(re.findall(_CHOICE, found[0].group())))
    return choices if 1 < len(choices) <= _MAX_OPTIONS else None


def choices_of(
    tool: Tool, argument: str, stock: StockTool
) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
    """Return the words for what an argument may be, and the numbers that they stand for, if any."""
    kind = tool.properties[argument]
    limits = limits_of(kind)
    if stock.options is not None and stock.values is not None and limits is not None:
        known = [pair for pair in zip(stock.options, stock.values, strict=True) if pair[1] <= limits[1]]
        return tuple(name for name, _ in known), tuple(value for _, value in known)
    if kind.kind == "string":
        said = stock.options or listed_texts(kind) or enumerated_texts(tool.description)
        return said or (
            None if tool.name in CATALOGUE else described_texts(_text(tool, argument), argument)
        ), None
    if kind.kind == "integer" and limits is not None and tool.name not in CATALOGUE:
        names = labelled_numbers(_text(tool, argument), limits)
        return names, tuple(range(limits[0], limits[1] + 1)) if names else None
    return None, None


def _text(tool: Tool, argument: str) -> str:
    """Return what the device says of a tool and one of its arguments."""
    schema = tool.schema.get("properties", {}).get(argument)
    said = schema.get("description") if isinstance(schema, dict) else None
    return f"{tool.description}\n{argument}: {said}" if isinstance(said, str) else tool.description
