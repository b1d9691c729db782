"""Made-up tools of a device."""

from typing import Any

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.entity_descriptions import (
    ToolEntity,
)
from custom_components.xiaozhi.tools.mapping import map_tools


def tool(name: str, description: str = "", *, user_only: bool = False, **properties: Any) -> Tool:
    made = Tool.from_dict(
        {
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": [key for key, rule in properties.items() if "default" not in rule],
            },
            "annotations": {"audience": ["user"]} if user_only else {},
        }
    )
    assert made is not None
    return made


def number(minimum: int = 0, maximum: int = 100, **rule: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **rule}


def only(*tools: Tool) -> ToolEntity:
    (entity,) = map_tools(tools)
    return entity
