"""The tools of a device as data for people and automations."""

from typing import Any

from ..protocol.mcp.tool import Tool, ToolProperty
from ..protocol.untrusted_text import clean_data, one_line


def tool_data(tool: Tool) -> dict[str, Any]:
    """Return a tool with its arguments. All texts are cut to one line."""
    return {
        "tool": tool.name,
        "title": tool.title,
        "description": one_line(tool.description, 1000),
        "for_users_only": tool.user_only,
        "arguments": [
            _described_argument(name, argument, required=name in tool.required)
            for name, argument in tool.properties.items()
        ],
    }


def _described_argument(name: str, argument: ToolProperty, *, required: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": one_line(name), "type": argument.kind, "required": required}
    if not required:
        answer["default"] = clean_data(argument.default)
    limits = {"minimum": argument.minimum, "maximum": argument.maximum}
    answer |= {key: limit for key, limit in limits.items() if limit is not None}
    if argument.choices:
        answer["choices"] = clean_data(list(argument.choices))
    return answer
