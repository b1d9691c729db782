"""The assistant's tools of a device: selection, names and descriptions.

Every text from a device is cut to one line before it reaches a prompt.
"""

from collections.abc import Iterable, Mapping
import json
import re
from typing import Any, Final

from homeassistant.helpers.llm import ToolAnnotations
import voluptuous as vol

from ..const import DOMAIN
from ..protocol.mcp.result import ToolResult
from ..protocol.mcp.tool import Tool, ToolProperty
from ..util.text import clean_data, distinct_names, one_line
from ..util.untrusted_json import is_bounded
from .tool_names import words
from .tool_risks import only_reads, risks_of

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9]+")
_ARGUMENT_NAME: Final = re.compile(r"(?!argument_[0-9])[a-zA-Z_][a-zA-Z0-9_]{0,63}")
# The board with the most tools has some thirty.
_MAX_TOOLS: Final = 64
_MAX_RESULT: Final = 4096


def choosable_tools(tools: Mapping[str, Tool]) -> list[str]:
    """Return the names of the tools that the owner may give to the assistant, without user-only ones."""
    return [name for name, tool in tools.items() if not tool.user_only and len(tool.properties) <= 24]


def default_choice(tools: Mapping[str, Tool]) -> list[str]:
    """Return the names of the tools in the automatic choice."""
    return [name for name in choosable_tools(tools) if not risks_of(tools[name])]


def tools_for_assistant(tools: Mapping[str, Tool], chosen: Iterable[str] | None) -> dict[str, Tool]:
    """Return the assistant's tools by the names it calls them by.

    `chosen` are the names that the owner has chosen, None for the automatic choice. A tool's name does not
    depend on the choice.
    """
    wanted = set(default_choice(tools) if chosen is None else chosen)
    names = assistant_names(choosable_tools(tools))
    offered = {names[name]: tools[name] for name in names if name in wanted}
    return dict(list(offered.items())[:_MAX_TOOLS])


def assistant_names(names: Iterable[str]) -> dict[str, str]:
    """Give each tool a name of at most 64 letters, digits and underscores, with a hash where names clash."""
    plain = {name: _NOT_IN_NAMES.sub("_", name.removeprefix("self.")).strip("_") for name in names}
    return distinct_names(plain, f"{DOMAIN}__")


def description_of(tool: Tool) -> str:
    """Return the device's description of a tool, on one line."""
    return one_line(tool.description, 1024) or tool.title or tool.name


def parameters_of(tool: Tool) -> vol.Schema:
    """Return the arguments of a tool as a schema, with names that language models accept."""
    return vol.Schema(_described_arguments(tool, argument_names(tool)))


def argument_names(tool: Tool) -> dict[str, str]:
    """Give each argument a name that language models accept. Most keep theirs; only ours is `argument_1`."""
    return {
        name: name if _ARGUMENT_NAME.fullmatch(name) else f"argument_{number}"
        for number, name in enumerate(tool.properties, 1)
    }


def annotations_of(tool: Tool) -> ToolAnnotations:
    """Return hints about the risks of a tool. No tool acts outside of the house."""
    risks = risks_of(tool)
    sets = not {"set", "turn", "switch", "enable", "disable"}.isdisjoint(words(tool.name))
    reads = not risks and (only_reads(tool) or (tool.hints.get("readOnlyHint", False) and not sets))
    return ToolAnnotations(
        read_only=reads,
        destructive=bool(risks),
        idempotent=not risks and tool.hints.get("idempotentHint", reads or sets),
        open_world=tool.hints.get("openWorldHint", False),
    )


def result_data(result: ToolResult) -> dict[str, Any]:
    """Return the answer of a tool as data, cut if too long. Binary content is only described."""
    answer: dict[str, Any] = {}
    if result.text is not None or result.structured is not None:
        answer["result"] = _cut([*result.texts] or result.value, result.text)
    if result.items:
        answer["content"] = _cut([_described(item) for item in result.items])
    return answer or {"result": "done"}


def _cut(value: object, text: str | None = None) -> Any:
    """Return a value, or the beginning of its JSON if it is too long."""
    if is_bounded(value, _MAX_RESULT):
        return clean_data(value)
    return one_line(json.dumps(value, ensure_ascii=False) if text is None else text, _MAX_RESULT)


def _described(item: object) -> Any:
    """Replace content that a language model cannot read by a description: pictures, sound, binary data."""
    if isinstance(item, dict):
        return {name: _described(member) for name, member in item.items() if name not in {"blob", "data"}}
    return item


def _described_arguments(of: Tool | ToolProperty, names: Mapping[str, str]) -> dict[Any, Any]:
    return {
        (vol.Required if name in of.required else vol.Optional)(
            shown, description=_about(name, shown, of.properties[name])
        ): _validator(of.properties[name])
        for name, shown in names.items()
    }


def _about(name: str, shown: str, argument: ToolProperty) -> str | None:
    """Return the description of an argument, with its original name if changed, and its default."""
    parts = ["" if shown == name else f"Name on the device: {one_line(name, 48)}"]
    parts.append(argument.description.removesuffix("."))
    if argument.default is not None:
        parts.append(one_line(f"Default: {argument.default}", 120))
    return ". ".join(filter(None, parts)) or None


def _validator(argument: ToolProperty) -> Any:
    if argument.choices:
        return vol.In(list(argument.choices))
    match argument.kind:
        case "integer":
            low, high = argument.limits
            return vol.All(int, vol.Range(min=low, max=high))
        case "number":
            return vol.All(vol.Coerce(float), vol.Range(min=argument.minimum, max=argument.maximum))
        case "array":
            return [_validator(argument.items) if argument.items is not None else object]
        case "object":
            named = {name: name for name in argument.properties if _ARGUMENT_NAME.fullmatch(name)}
            return vol.Schema(_described_arguments(argument, named), extra=vol.ALLOW_EXTRA)
    return {"boolean": bool, "string": str}.get(argument.kind, object)
