"""Tools as data for people and automations: whatever a device says is cut and cleaned."""

import json

from hypothesis import given, strategies as st

from custom_components.xiaozhi.actions.tool_list import described
from custom_components.xiaozhi.protocol.mcp.tool import Tool
from tests.rules.tools.sample_tools import listed


def test_arguments_have_type_limits_choices_and_default() -> None:
    schema = {
        "properties": {
            "speed": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
            "mode": {"type": "string", "enum": ["slow", "fast"]},
            "angle": {"type": "number", "maximum": 90.5},
            "path": {"type": "array"},
            "on": {"type": "boolean", "default": False},
        },
        "required": ["mode", "angle"],
    }
    answer = described(listed("self.fan.set", title="Fan", description="Sets\nthe fan.", inputSchema=schema))
    assert answer == {
        "tool": "self.fan.set",
        "title": "Fan",
        "description": "Sets the fan.",
        "for_users_only": False,
        "arguments": [
            {"name": "speed", "type": "integer", "required": False, "default": 3, "minimum": 1, "maximum": 5},
            {"name": "mode", "type": "string", "required": True, "choices": ["slow", "fast"]},
            {"name": "angle", "type": "number", "required": True, "maximum": 90.5},
            {"name": "path", "type": "unknown", "required": False, "default": None},
            {"name": "on", "type": "boolean", "required": False, "default": False},
        ],
    }


@given(
    name=st.text(max_size=300),
    description=st.text(max_size=3000),
    choices=st.lists(st.text(max_size=300), max_size=100),
)
def test_what_a_device_says_is_bounded_and_one_line(name: str, description: str, choices: list[str]) -> None:
    properties = {name: {"type": "string", "enum": choices}} | {
        f"{name}{number}": {"type": "integer"} for number in range(60)
    }
    made = Tool.from_dict(
        {"name": "self.x", "description": description, "inputSchema": {"properties": properties}}
    )
    if made is None:
        return
    answer = described(made)
    text = json.dumps(answer, ensure_ascii=False)
    assert "\n" not in text
    assert "\u202e" not in text
    assert len(answer["description"]) <= 1000
