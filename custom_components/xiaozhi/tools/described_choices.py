"""The values allowed for an argument, from its schema or from an enumeration in a description."""

from functools import lru_cache
import re
from typing import Final

from ..protocol.mcp.client import MAX_TOOLS
from ..protocol.mcp.tool import Tool, ToolProperty
from .catalogue import CATALOGUE, StockTool
from .tool_names import word_set

_MAX_OPTIONS: Final = 32
# Longer texts could keep the event loop busy.
_MAX_TEXT: Final = 1024
# An enumeration in words: `a`, 'b' or "c".
_CHOICE: Final = r"[`'\"“‘]([\w-]{1,40})[`'\"”’]"
_CHOICES: Final = re.compile(rf"{_CHOICE}(?:\s*(?:,|/|\||、|，|or|and|或|和)\s*(?:or\s+)?{_CHOICE})+")
# After these, an enumeration is only examples.
_BEFORE_EXAMPLES: Final = re.compile(
    r"(?:\b(?:e\.\s?g\.?|eg\.?|for (?:example|instance)|examples?|such as|like|including|say|defaults? to)"
    r"|例如|比如|譬如|诸如|示例|例|如|默认)[\s:：,，(（]*$",
    re.IGNORECASE,
)
_AFTER_EXAMPLES: Final = re.compile(
    r"[\s,，、;)）]*(?:(?:and|or)\s+)?(?:etc\b|so on|others?\b|similar|more\b|the like|\.\.\.|…|等|之类)",
    re.IGNORECASE,
)

# An enumeration without quotes, after what introduces it ("Modes: cool, heat or dry") or in brackets.
_PLAIN: Final = r"[^\W_][\w-]{0,23}"
_GLOSS: Final = (
    r"(?:\s?[(（][^)）]{1,24}[)）]|\s[\u4e00-\u9fff]{1,8}"
    r"|\s?[=＝]\s?[^\s,，、/|;；.。)）]{1,16})?"
)
_SEPARATOR: Final = r"\s*(?:[/|、,，]\s*(?:or\s+|and\s+|或|和)?|\s(?:or|and)\s|或|和)\s*"
_INTRODUCED: Final = re.compile(
    r"(?:\b(?:modes?|values?|options?|one of|types?|choices|scenes?|presets?|available|supported|pages?)"
    r"|支持|可选|取值|可以是|包括|包含|类型|模式|场景|选项)"
    rf"[^:：=(（\n,，。.]{{0,20}}(?:[:：=(（]|\bis\b|为)\s*({_PLAIN}{_GLOSS}(?:{_SEPARATOR}{_PLAIN}{_GLOSS})+)",
    re.IGNORECASE,
)
_IN_BRACKETS: Final = re.compile(rf"[(（]\s*({_PLAIN}{_GLOSS}(?:\s*[/|]\s*{_PLAIN}{_GLOSS})+)\s*[)）]")
# A list goes on to the end of its sentence: in "optional, defaults to low", there is none.
_END: Final = re.compile(r"[ \t]*(?:$|[.。)）;；\n,，!！])")
_WORD: Final = re.compile(rf"({_PLAIN}){_GLOSS}(?:{_SEPARATOR}|$)")
# Remarks on an argument and its type, and words that begin examples.
_REMARKS: Final = word_set(
    "string str text number int integer float double bool boolean object array list enum json null none any",
    "optional required mandatory default defaults name etc more others so such the a an",
    "字符串 字符串类型 文本 文本类型 整数 整数类型 整型 数字 数字类型 浮点数 布尔 布尔值 布尔类型",
    "类型 数组 对象 必填 必选 必须 选填 可选 可为空 默认 默认值 名称",
)
# A number with its meaning: "0: off", "1=low", 2-制热; or the meaning first: off=0.
_NUMBERED: Final = re.compile(
    r"(?<![\d.])(\d{1,2})\s*[:：=＝.\-–—]?\s*([^\W\d_][^\d,，;；、/|()（）.。:：=\n]{0,24})"
)
_NAMED: Final = re.compile(r"([^\W\d_][\w-]{0,24}?)\s*[:：=＝]\s*(\d{1,2})(?!\d)")


def limits_of(argument: ToolProperty) -> tuple[int, int] | None:
    """Return the limits of a whole number, if it has both."""
    if argument.kind != "integer" or argument.minimum is None or argument.maximum is None:
        return None
    low, high = argument.limits
    return (low, high) if low < high else None


def choices_of(
    tool: Tool, argument: str, stock: StockTool
) -> tuple[tuple[str, ...], tuple[int, ...] | None] | None:
    """Return the words for what an argument may be, and the numbers that they stand for, if any."""
    kind = tool.properties[argument]
    limits = limits_of(kind)
    if stock.options is not None and stock.values is not None and limits is not None:
        known = [pair for pair in zip(stock.options, stock.values, strict=True) if pair[1] <= limits[1]]
        return tuple(name for name, _ in known), tuple(value for _, value in known)
    texts: tuple[str, ...] | None = None
    if kind.kind == "string":
        texts = stock.options or _listed_texts(kind) or enumerated_texts(tool.description)
        if texts is None and tool.name not in CATALOGUE:
            texts = described_texts(about(tool, argument))
    elif limits is not None and tool.name not in CATALOGUE:
        texts = labelled_numbers(about(tool, argument), limits)
        if texts is not None:
            return texts, tuple(range(limits[0], limits[1] + 1))
    return None if texts is None else (texts, None)


def _listed_texts(kind: ToolProperty) -> tuple[str, ...] | None:
    """Return the texts that a schema allows."""
    texts = tuple(choice for choice in kind.choices if isinstance(choice, str))
    return texts if texts == kind.choices and 1 < len(texts) <= _MAX_OPTIONS else None


def enumerated_texts(description: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates in quotes, if it has just one enumeration."""
    found = list(_CHOICES.finditer(description))
    if len(found) != 1 or _is_only_examples(description, found[0].span()):
        return None
    choices = tuple(dict.fromkeys(re.findall(_CHOICE, found[0].group())))
    return choices if 1 < len(choices) <= _MAX_OPTIONS else None


@lru_cache(maxsize=4 * MAX_TOOLS)
def described_texts(description: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates without quotes, if it has just one enumeration."""
    description = description[:_MAX_TEXT]
    found: set[tuple[str, ...]] = set()
    for pattern in (_INTRODUCED, _IN_BRACKETS):
        for match in pattern.finditer(description):
            if _is_only_examples(description, match.span(1)):
                return None
            if _END.match(description, match.end(1)):
                found.add(tuple(dict.fromkeys(_WORD.findall(match[1]))))
    if len(found) != 1:
        return None
    (choices,) = found
    usable = 1 < len(choices) <= _MAX_OPTIONS and not any(
        choice.isdecimal() or choice.lower() in _REMARKS or (len(choice) == 1 and choice.isascii())
        for choice in choices
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


def _is_only_examples(description: str, span: tuple[int, int]) -> bool:
    before, after = description[max(0, span[0] - 40) : span[0]], description[span[1] : span[1] + 40]
    return bool(_BEFORE_EXAMPLES.search(before) or _AFTER_EXAMPLES.match(after))


def about(tool: Tool, argument: str) -> str:
    """Return what the device says of a tool and one of its arguments."""
    schema = tool.schema.get("properties", {}).get(argument)
    said = schema.get("description") if isinstance(schema, dict) else None
    return f"{tool.description}\n{said}" if isinstance(said, str) else tool.description
