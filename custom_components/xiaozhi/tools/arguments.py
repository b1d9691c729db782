"""Reads a tool's arguments for an entity: limits, choices, a colour, on and off.

All of it is in the schema, except for choices that a description lists in quotes.
"""

import re
from typing import Final

from ..protocol.mcp.tool import Scalar, Tool, ToolProperty
from .stock_tools import StockTool
from .tool_entities import Colour, OptionSetter
from .tool_names import Verb, parse_name, word_set, words

_MAX_OPTIONS: Final = 32
# Arguments, and the last words of tools that set them.
_VALUES: Final = word_set("level value percent")
_SET: Final = word_set("angle brightness power position speed volume")
# An argument of 0 or 1 is a switch if the name of its tool has one of these words.
_ENABLES: Final = word_set("active enable enabled mute on power")
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


def limits_of(argument: ToolProperty) -> tuple[int, int] | None:
    """Return the limits of a whole number, if it has both and takes all numbers between them."""
    if argument.kind != "integer" or argument.minimum is None or argument.maximum is None or argument.choices:
        return None
    low, high = argument.limits
    return (low, high) if low < high else None


def choice_of(tool: Tool, argument: str, stock: StockTool) -> OptionSetter | None:
    """Return the choice of an argument that is one of several texts, or of numbers that stand for them."""
    kind = tool.properties[argument]
    limits = limits_of(kind)
    if stock.options is not None and stock.values is not None and limits is not None:
        known = [pair for pair in zip(stock.options, stock.values, strict=True) if pair[1] <= limits[1]]
        options, values = tuple(name for name, _ in known), tuple(value for _, value in known)
        return OptionSetter(tool=tool.name, argument=argument, options=options, values=values)
    if kind.choices and kind.kind in {"integer", "string"}:
        return _choice_of_values(tool, argument, tuple(dict.fromkeys(kind.choices)))
    if kind.kind != "string":
        return None
    texts = stock.options or enumerated_texts(tool.description)
    return None if texts is None else OptionSetter(tool=tool.name, argument=argument, options=texts)


def _choice_of_values(tool: Tool, argument: str, choices: tuple[Scalar, ...]) -> OptionSetter | None:
    if not 1 < len(choices) <= _MAX_OPTIONS:
        return None
    numbers = tuple(choice for choice in choices if isinstance(choice, int))
    texts = tuple(str(choice) for choice in choices)
    return OptionSetter(tool=tool.name, argument=argument, options=texts, values=numbers or None)


def enumerated_texts(description: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates in quotes, if it has just one enumeration."""
    found = list(_CHOICES.finditer(description))
    if len(found) != 1 or _is_only_examples(description, found[0].span()):
        return None
    choices = tuple(dict.fromkeys(re.findall(_CHOICE, found[0].group())))
    return choices if 1 < len(choices) <= _MAX_OPTIONS else None


def _is_only_examples(description: str, span: tuple[int, int]) -> bool:
    before, after = description[max(0, span[0] - 40) : span[0]], description[span[1] : span[1] + 40]
    return bool(_BEFORE_EXAMPLES.search(before) or _AFTER_EXAMPLES.match(after))


def colour_of(tool: Tool) -> Colour | None:
    """Return the colour that a tool sets."""
    for names in (("red", "green", "blue"), ("r", "g", "b")):
        if tool.properties.keys() == set(names):
            limits = {limits_of(tool.properties[name]) for name in names}
            found = limits.pop() if len(limits) == 1 else None
            if found is not None and found[0] == 0:
                return Colour(tool=tool.name, arguments=names, maximum=found[1])
    return None


def is_setter(tool: Tool, argument: str) -> bool:
    """Whether a tool sets an argument."""
    if parse_name(tool.name).verb is Verb.SET:
        return True
    last, argument_words = words(tool.name.rpartition(".")[2]), words(argument)
    if last == argument_words:
        return True
    return (
        bool(last) and last[-1] in _SET and (last[-1:] == argument_words[-1:] or argument.lower() in _VALUES)
    )


def on_off_of(tool: Tool, argument: str) -> tuple[object, object] | None:
    """Return the values for on and off of the only argument of a switch."""
    kind, sets = tool.properties[argument], is_setter(tool, argument)
    if kind.kind == "boolean" and (tool.required or sets):
        # One that takes only one value is no switch.
        return (True, False) if not kind.choices or len({*kind.choices}) == 2 else None
    is_flag = kind.kind == "integer" and (limits_of(kind) == (0, 1) or {*kind.choices} == {0, 1})
    if is_flag and (sets or not _ENABLES.isdisjoint(words(tool.name.rpartition(".")[2]))):
        return 1, 0
    return None


def about(tool: Tool, argument: str) -> str:
    """Return the descriptions of a tool and one of its arguments."""
    return f"{tool.description}\n{tool.properties[argument].description}".rstrip()
