"""Writes docs/tools.md, the entity of every tool of the stock firmware, and the snapshots of the tests."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
import json
from pathlib import Path
from typing import Any, Final

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.answer_values import members
from custom_components.xiaozhi.tools.assistant_choice import choosable_tools, default_choice
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.stock_tools import STATUS_TOOL
from custom_components.xiaozhi.tools.tool_entities import (
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
from custom_components.xiaozhi.tools.tool_risks import risks_of

_ROOT: Final = Path(__file__).parent.parent
PAGE: Final = _ROOT / "docs" / "tools.md"
_STOCK: Final = _ROOT / "simulator/board/tools.json"
_TESTS: Final = _ROOT / "tests/rules/tools"
UNKNOWN: Final = _TESTS / "unknown_tools.json"
"""Devices that nobody knows: tools as their makers write them, in English and Chinese."""
SNAPSHOTS: Final = {_STOCK: _TESTS / "stock_entities.json", UNKNOWN: _TESTS / "unknown_entities.json"}

_INTRODUCTION: Final = """# Tools

A device lists its tools by the Model Context Protocol. Each tool becomes part of an entity, or
can be called by name only. This table has all tools of the stock firmware; `python -m scripts.tool_table`
writes it from the code. Tools of other firmware become entities by their arguments:

- A tool that takes red, green and blue makes a light with a colour, together with `set_brightness` and on and
  off of the same group. While it is lit, it is sent only what is to change.
- Two tools without arguments for on and off (`turn_on` and `turn_off`, `enable` and `disable`, 打开 and 关闭)
  are a switch, or a light if their name says lamp, light, LED or 灯.
- One argument that takes one of the values that the schema lists (`enum`), or of the texts that the
  description has in quotes (`'cool', 'heat' or 'dry'`), makes a choice.
- One argument that is true or false, or 0 or 1, makes a switch, and a whole number with limits makes a
  number: if the tool is named `set_…`, 设置… or like its argument.
- A tool without arguments named `get_…`, `read_…`, `list_…`, `….list`, `….keys`, `….show` or 获取… is a
  sensor. If its answer is an object, each member is a sensor. One named `is_…`, `has_…` or 是否… is a
  sensor of yes and no.
- Any other tool that needs no argument is a button: also one whose arguments all have defaults.

All others can be called by name only. A device can have 128 entities made from its tools; the tools of more
can be called by name, too. There may be as many that are gone.

- A tool that reads what another one sets is the state of that entity.
- The unit of a sensor or a number is the one that the description states, if it states just one.
- What a device's words mean in the world is not guessed: `self.curtain.open` and `self.curtain.close` are two
  buttons. [You can make a cover of them](#a-cover-of-two-buttons).
- At first 16 readings at most are on; those are off whose names do not say that they change, such as
  `get_news`.
- The title of a tool, which stock firmware does not have, is the name of the entity made from that tool
  alone.
- Tools that the device reserves for users are configuration.
- An answer that reports a failure, such as `false`, `{"success": false, "message": …}`, `{"error": …}`,
  `{"status": "error"}` or a code with a message, makes the action fail with that message, and the state
  stays. The assistant gets the answer itself.
- When a tool makes another entity than before, because the firmware has changed, the old entity is removed.
  When a tool is gone, its entity is unavailable, and you can delete it; after 30 days it is deleted. What is
  not in an answer any more is *unknown*, and its entity stays, unless others that are in it need the room: an
  answer has 24 at most.

*Assumed* means that the device does not report the state: it is the value last set from Home Assistant. A
reported state is read when the device connects, half a second after a change, and every five minutes.

## Tools that can do harm

A tool of other firmware that has a word of a [list](assistant.md#which-abilities) in its name, in English,
pinyin or Chinese, or that the device marks as destructive, is off for the assistant, and its entity is
*configuration* and disabled at first. A name such as `lock.get_state` says that a tool only reads, which does
no harm; nothing else that a device says about a tool makes it harmless, and descriptions are not read. All
other tools are on, and you decide about each: in [*Tools for the assistant*](settings.md#a-device) and in the
settings of the entity.

## A cover of two buttons

You know that two buttons open and close a curtain; tell Home Assistant in `configuration.yaml`, with your own
entity ids. A valve, a lock or a fan is made in the same way. The state is the one last set from here; with a
sensor that says whether it is open, add it as `state` and leave out `optimistic`.

```yaml
template:
  - cover:
      - name: Curtain
        device_class: curtain
        optimistic: true
        open_cover:
          - action: button.press
            target:
              entity_id: button.kitchen_box_curtain_open
        close_cover:
          - action: button.press
            target:
              entity_id: button.kitchen_box_curtain_close
```

## Tools of the stock firmware

"""


def stock_tools(path: Path = _STOCK) -> dict[str, list[Tool]]:
    """Return the tools of every board of the stock firmware by folder, including those of all boards."""
    entries: list[dict[str, Any]] = json.loads(path.read_text())
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


def snapshot(path: Path) -> str:
    """Return each entity that these tools make, and what the assistant gets of them, one a line."""
    entries = json.loads(path.read_text())
    shapes = {entry["name"]: members(entry["answer"]) for entry in entries if "answer" in entry}
    boards = stock_tools(path)
    homes: dict[str, list[str]] = {}
    for board, tools in boards.items():
        for entity in map_tools(tools, shapes):
            facts = {"platform": entity.platform, **asdict(entity, dict_factory=_without_empty)}
            homes.setdefault(json.dumps(facts), []).append(board)
    found = {tool.name: tool for tools in boards.values() for tool in tools}
    choosable, default = choosable_tools(found), default_choice(found)
    rows = [{"boards": _boards(folders, len(boards)), **json.loads(row)} for row, folders in homes.items()]
    rows += [
        {"tool": name, "choosable": name in choosable, "default": name in default, "risks": risks_of(tool)}
        for name, tool in found.items()
    ]
    return f"[\n  {',\n  '.join(json.dumps(row, ensure_ascii=False) for row in rows)}\n]\n"


def _without_empty(facts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in facts if value not in (None, "", (), {})}


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
        return "what all devices report | read when it connects, after a change, and every minute"
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
    for tools_file, written in SNAPSHOTS.items():
        written.write_text(snapshot(tools_file))
