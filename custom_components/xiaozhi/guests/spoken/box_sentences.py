"""Sentences about what a device itself can do: movements, lights, numbers and readings of its own.

A sentence is made only for what a device in the house can do, and from plain words alone, as for times.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
import re
from typing import Any, Final, NamedTuple

from ...device.device import Device
from ...tools.assistant_choice import default_choice
from ...tools.stock_tools import CATALOGUE, PHOTO_TOOL, STATUS_TOOL, own_name
from ...tools.tool_entities import ButtonTool, Call, LightTool, NumberTool, SelectTool, SensorTool, ToolEntity
from ...tools.tool_names import parse_name, words
from .language import Language

BOX_SENTENCE: Final = "XiaozhiBox"
"""The intent of these sentences, with the slots `action`, `tool` and `value`."""

# Movements that many boards have, each under several names.
_MOVES: Final = {
    name: move
    for move, names in {
        "forward": "go_forward forward walk walk_forward move_forward drive_forward",
        "back": "go_back back backward go_backward walk_backward move_back move_backward",
        "left": "chassis_left left turn_left body_turn_left",
        "right": "chassis_right right turn_right body_turn_right",
        "stop": "stop_moving stop",
        "dance": "dance",
        "jump": "jump jump_forward",
        "sit": "sit sit_down",
        "stand": "stand stand_up home rest_position",
        "lie": "lay_down lie_down",
        "wave": "hand_wave wave wave_hand arm_movement_wave",
        "hands_up": "hands_up arm_movement_raise",
        "hands_down": "hands_down arm_movement_lower",
        "nod": "nod head_movement_nod",
        "shake_hand": "shake_hand",
        "stretch": "stretch",
        "moonwalk": "moonwalk",
        # Called as their buttons.
        **{f"button.{name}": name for name in ("bend", "shake_leg", "turn", "updown")},
        "button.swing": "swing sway",
    }.items()
    for name in names.split()
}
# Entities that people call the same.
_CALLED: Final = {
    "light.lamp": "light",
    "light.led_strip": "light",
    "light.light": "light",
    "number.backlight": "screen",
    "number.brightness": "screen",
    "number.volume": "volume",
}
# Groups of tools that nobody has to name: of unknown ones, only these move the device itself.
_BODIES: Final = frozenset({"body", "car", "chassis", "dog", "move", "robot"})
# Their options need the part of the body.
_OF_A_PART: Final = ("arm_movement", "body_turn", "head_movement")
# Also of Home Assistant's recogniser, to which a name is a template.
_NOT_IN_NAMES: Final = re.compile(r"[\W_]+")
# Levels that the status shows, with the actions that change them.
_STEPS: Final = {"brightness": ("brighter", "darker"), "volume": ("louder", "quieter")}


class Ability(NamedTuple):
    """Something that a device can do."""

    action: str
    name: str = ""
    """Key of its words: of a movement, or of the translations' names; else the name itself."""


def abilities(device: Device) -> dict[Ability, ToolEntity | Call | None]:
    """Return what a device can do by itself, of what is in its automatic choice for the assistant.

    Nothing of it is risky, or reserved for users. The owner's own choice may only make it less.
    """
    chosen, tools = device.settings.assistant_tools, device.tools
    allowed = {name for name in default_choice(tools) if chosen is None or name in chosen}
    found: dict[Ability, ToolEntity | Call | None] = {Ability("repeat"): None}
    if own_name(PHOTO_TOOL, allowed):
        found |= {Ability("photo"): None, Ability("look"): None}
    # That some have no battery shows only when it is read.
    if STATUS_TOOL in allowed:
        found[Ability("battery")] = None
    for entity in device.tools.entities.values():
        if allowed.issuperset(entity.tools):
            found = {**dict(abilities_of(entity)), **found}
    return found


def abilities_of(entity: ToolEntity) -> Iterator[tuple[Ability, ToolEntity | Call]]:
    """Yield what a device can do by the tools of an entity."""
    stock, tool = entity.translation_key, entity.tools[0]
    key = f"{entity.platform}.{stock}"
    name = _CALLED.get(key, key) if stock else _NOT_IN_NAMES.sub(" ", entity.name or "").strip()
    if not name:
        return
    match entity:
        case ButtonTool(category=None) if stock or tool not in CATALOGUE:
            parsed = parse_name(tool)
            moves = stock or _BODIES.issuperset(words(parsed.group.removeprefix("self")))
            move = _MOVES.get(stock or "_".join(words(parsed.rest))) if moves else None
            yield Ability("move" if move or stock else "do", move or name), entity.call
        case SelectTool(momentary=True) if stock:
            for option in entity.choice.options:
                move = _MOVES.get(f"{stock}_{option}" if stock in _OF_A_PART else option)
                if move or stock not in _OF_A_PART:
                    yield Ability("move", move or f"{name}.{option}"), entity.choice.call(option)
        case LightTool():
            yield from ((Ability(action, name), entity) for action in ("on", "off"))
        case NumberTool():
            yield Ability("set", name), entity
            yield from ((Ability(action), entity) for action in _STEPS.get(entity.key, ()) if entity.state)
        case SensorTool() if entity.unit or entity.measured:
            yield Ability("read", name), entity


def box_blocks(language: Language, house: Collection[Ability]) -> Iterator[dict[str, Any]]:
    """Yield the sentences for all abilities in a house, in Home Assistant's form."""
    data: Mapping[str, Any] = language.data["box"]
    for action, name in sorted(house):
        called = f"({_called(language, action, name)})"
        frames: Iterable[str] = data.get(action, ("{tool}",))
        slots = {"action": action, "tool": name}
        yield {
            "sentences": [
                each.replace("{tool}", called).replace("{value}", "{xiaozhi_number:value}") for each in frames
            ],
            "slots": {slot: value for slot, value in slots.items() if value},
        }


def _called(language: Language, action: str, name: str) -> str:
    """Return the template of what an ability is called; of a thing, as one of the device's own."""
    data = language.data["box"]
    if name in data["names"]:
        return str(data["names"][name])
    called = _NOT_IN_NAMES.sub(" ", language.entity_name(name)).strip()
    return called if action in ("do", "move") else str(data["your"]).replace("{}", called)
