"""The tools of a device as data for people and automations."""

from typing import Any, Final

from ..protocol.mcp.tool import Tool, ToolProperty
from ..protocol.untrusted_json import is_bounded
from ..protocol.untrusted_text import clean_data, one_line

_MAX_DESCRIPTION: Final = 1000
_MAX_NAME: Final = 100
_MAX_ARGUMENTS: Final = 50
_MAX_CHOICES: Final = 100
_MAX_DEFAULT: Final = 200


def described(tool: Tool) -> dict[str, Any]:
    """Return a tool with its arguments. All texts are cut to one line, long lists are cut."""
    names = list(tool.properties)[:_MAX_ARGUMENTS]
    return {
        "tool": tool.name,
        "title": one_line(tool.title or "", _MAX_NAME) or None,
        "description": one_line(tool.description, _MAX_DESCRIPTION),
        "for_users_only": tool.user_only,
        "arguments": [
            _described_argument(name, tool.properties[name], required=name in tool.required) for name in names
        ],
    }


def _described_argument(name: str, argument: ToolProperty, *, required: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": one_line(name, _MAX_NAME), "type": argument.kind, "required": required}
    if not required and is_bounded(argument.default, _MAX_DEFAULT):
        answer["default"] = clean_data(argument.default)
    limits = {"minimum": argument.minimum, "maximum": argument.maximum}
    answer |= {key: limit for key, limit in limits.items() if limit is not None}
    if argument.choices:
        answer["choices"] = clean_data(list(argument.choices[:_MAX_CHOICES]))
    return answer
