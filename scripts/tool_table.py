"""Writes docs/tools.md: the entity of every tool of the stock firmware."""

from collections.abc import Iterable, Mapping
import json
from pathlib import Path
from typing import Any, Final

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.catalogue import STATUS_TOOL
from custom_components.xiaozhi.tools.entities import (
    ActionTool,
    ButtonTool,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    SwitchTool,
    ToolEntity,
)
from custom_components.xiaozhi.tools.mapping import map_tools

_ROOT: Final = Path(__file__).parent.parent
PAGE: Final = _ROOT / "docs" / "tools.md"

_INTRODUCTION: Final = """# Tools

A device lists its tools by the Model Context Protocol. Each tool becomes part of an entity, or
can be called by name only. This table has all tools of the stock firmware; `python -m scripts.tool_table`
writes it from the code. Tools of other firmware are treated by the same rules:

- Two tools that do the opposite of each other are one entity, by the name of the thing: a cover (curtain,
  door, window), a valve, a lock, a fan with its speed, a light or a switch. So are 打开窗帘 and 关闭窗帘:
  Chinese names are understood as English ones are. A tool that takes red, green and blue makes a light with a
  colour, together with `set_brightness` of the same group.
- The tools of an air conditioner, a thermostat or a heater (`self.ac.turn_on`, `self.ac.set_mode`,
  `self.ac.set_temperature`, 设置空调温度) are one climate entity, if one of them sets a room's temperature,
  up to 45 °C, and others the power or the mode. Modes that Home Assistant does not know, such as *eco*,
  remain a choice. The tools of a humidifier or dehumidifier are one, too, if they switch it and set a
  humidity. A switch, a choice or a number that such tools were before gives way to it; if you had changed
  that entity, it stays in the list, unavailable, until you delete it.
- A tool that sets one whole number with limits is a number, or a choice if its description names each of
  them ("0: off, 1: low, 2: high"); one that takes true or false is a switch; one that takes one of the texts
  in its description is a choice.
- A tool without arguments whose name begins with `get` or `read` is the state of the entity that sets the
  same value, or else a sensor. What it measures is found by its name (CO₂, PM2.5, pressure, soil moisture …),
  and the unit by its description. One whose name begins with `is` or `has` is a sensor of yes and no.
  One that asks something (`ask_what_is_seen`) is a button: nobody wants that asked every few minutes. An
  object with several readings makes a sensor of each. At first 16 readings at most are on; those that are
  neither measured nor a state are off.
- Any other tool that needs no argument is a button: also one whose arguments all have defaults.
- All others can be called by name only.
- The title of a tool, which stock firmware does not have, is the name of the entity made from that tool
  alone.
- Tools that the device reserves for users, and those that
  [can do harm](assistant.md#which-abilities), are configuration. Those that restart, reset, erase, unlock,
  disconnect or switch off are disabled until you enable them. Locks, doors and valves made of two tools are
  enabled, but voice assistants get them only if you expose them.

*Assumed* means that the device does not report the state: it is the value last set from Home Assistant. A
reported state is read when the device connects, half a second after a change, and every five minutes.

"""


def stock_tools() -> dict[str, list[Tool]]:
    """Return the tools of every board of the stock firmware by folder, including those of all boards."""
    entries: list[dict[str, Any]] = json.loads((_ROOT / "simulator" / "board" / "tools.json").read_text())
    boards = {board for entry in entries for board in entry.get("boards", ())}
    return {
        board: [_tool(entry) for entry in entries if board in entry.get("boards", (board,))]
        for board in sorted(boards)
    }


def _tool(entry: Mapping[str, Any]) -> Tool:
    properties = entry.get("properties", {})
    tool = Tool.from_dict(
        {
            "name": entry["name"],
            "description": entry["description"],
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": [name for name, rule in properties.items() if "default" not in rule],
            },
            "annotations": {"audience": ["user"]} if entry.get("user_only") else {},
        }
    )
    if tool is None:
        raise ValueError(f"{entry['name']} is no tool")
    return tool


def render() -> str:
    """Return the page."""
    texts = json.loads((_ROOT / "custom_components/xiaozhi/translations/en.json").read_text())["entity"]
    boards = stock_tools()
    homes: dict[str, list[str]] = {}
    cells: dict[str, dict[str, None]] = {}
    for board, tools in boards.items():
        for entity in map_tools(tools):
            for name in entity.tools:
                cells.setdefault(name, {})[_row(entity, name, texts)] = None
                homes.setdefault(name, []).append(board)
    lines = ["| Tool | Becomes | Notes | Boards |", "|---|---|---|---|"]
    for name in sorted(cells, key=lambda name: (len(homes[name]) < len(boards), name)):
        lines += (f"| `{name}` | {row} | {_boards(homes[name], len(boards))} |" for row in cells[name])
    return f"{_INTRODUCTION}{'\n'.join(lines)}\n"


def _row(entity: ToolEntity, name: str, texts: Mapping[str, Any]) -> str:
    if name == STATUS_TOOL:
        return "what all devices tell | read when it connects, after a change, and every minute"
    if entity.platform is None:
        return f"called by name only | {'for the user only' if entity.user_only else ''}"
    label = entity.name or (
        texts[entity.platform][entity.translation_key]["name"]
        if entity.translation_key
        else str(entity.device_class).capitalize()
    )
    notes = [
        *_notes(entity),
        *(["configuration"] if entity.category == "config" else []),
        *(["for the user only"] if entity.user_only else []),
        *([] if entity.enabled else ["disabled at first"]),
    ]
    state = getattr(entity, "state", None)
    part = ", its state" if state and state.tool == name != entity.tools[0] else ""
    return f"{entity.platform} **{label}**{part} | {'; '.join(notes)}"


def _notes(entity: ToolEntity) -> Iterable[str]:
    match entity:
        case LightTool():
            what = [f"colour{', assumed' if entity.state else ''}"] if entity.colour else []
            if entity.brightness:
                what.append(f"brightness in {entity.brightness.maximum} steps")
            yield from [" and ".join(what)] if what else []
        case NumberTool(setter=setter):
            yield f"{setter.minimum} to {setter.maximum}{f' {entity.unit}' if entity.unit else ''}"
        case SelectTool(momentary=True):
            yield f"{_listed(entity.choice.options)}; done once, no state"
        case SelectTool():
            yield _listed(entity.choice.options)
        case SensorTool(state=Reading(member=str(member))):
            yield f"`{member}` of the answer; the others are attributes"
        case SensorTool(options=tuple(options)):
            yield _listed(options)
        case ButtonTool() | SensorTool() | SwitchTool() | ActionTool():
            pass
    momentary = isinstance(entity, SelectTool) and entity.momentary
    if entity.follows_calls and not momentary and getattr(entity, "state", None) is None:
        yield "assumed"


def _listed(options: Iterable[str]) -> str:
    return ", ".join(f"`{option}`" for option in options)


def _boards(homes: list[str], total: int) -> str:
    if len(homes) == total:
        return "all that have the part"
    return f"{homes[0]}{f' and {len(homes) - 1} more' if len(homes) > 1 else ''}"


if __name__ == "__main__":
    PAGE.write_text(render())
