"""Made-up tools, and devices that nobody knows."""

from typing import Any, Final

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_entities import ToolEntity
from scripts.tool_table import UNKNOWN, stock_tools


def listed(name: str = "x", **parts: Any) -> Tool:
    """Return a tool with these parts of its entry in the device's list."""
    made = Tool.from_dict({"name": name, **parts})
    assert made is not None
    return made


def tool(name: str, description: str = "", *, user_only: bool = False, **properties: Any) -> Tool:
    """Return a tool with these arguments."""
    required = [key for key, rule in properties.items() if "default" not in rule]
    schema = {"type": "object", "properties": properties, "required": required}
    annotations = {"audience": ["user"]} if user_only else {}
    return listed(name, description=description, inputSchema=schema, annotations=annotations)


def number(minimum: int = 0, maximum: int = 100, **rule: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **rule}


def only(*tools: Tool) -> ToolEntity:
    (entity,) = map_tools(tools)
    return entity


DEVICES: Final = stock_tools(UNKNOWN)
"""Devices that nobody knows, by name."""
