"""Requests to a device itself: to move, to look, to be louder, to say that again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, Platform
from homeassistant.core import Context
from homeassistant.helpers import entity_registry as er

from ...const import DOMAIN
from ...device.call_log import logged_call
from ...device.device import Device
from ...errors import InputError, UserError
from ...tools.answer_values import as_number, member, parse_answer
from ...tools.stock_tools import PHOTO_TOOL
from ...tools.tool_entities import Call
from ..pictures.vision import async_take_photo
from ..spoken.box_sentences import Ability, abilities
from .speaker import Answer, Speaker

# Per cent. Nobody who asks for less wants to hear nothing, or to see nothing.
_STEPS: Final = {"brighter": 20, "darker": -20, "louder": 10, "quieter": -10}
_LEAST: Final = 10


@dataclass(frozen=True, slots=True)
class _Request:
    speaker: Speaker
    device: Device
    context: Context
    action: str
    does: Any
    """The entity or the call of the ability."""
    value: int | None
    words: str
    """The whole sentence."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        with logged_call(self.device, tool, self.context):
            await self.device.commands.change(tool, arguments)

    async def named(self, value: float | None) -> Answer:
        """Return the answer with a value of the entity, in the language of the sentence."""
        entity, hass = self.does, self.device.hass
        key = f"{entity.platform}.{entity.translation_key}"
        name = entity.name or await hass.async_add_executor_job(self.speaker.language.entity_name, key)
        if value is None:
            raise UserError("box_unknown", name=name)
        return "box_value", {"name": name, "value": f"{value:g} {entity.unit or ''}".strip()}


async def async_ask(speaker: Speaker, context: Context, slots: Mapping[str, Any], words: str) -> Answer:
    """Let the device to which it was said do something. Raises `UserError`."""
    if (device := speaker.device) is None:
        raise InputError("box_elsewhere")
    action, can = slots["action"], abilities(device)
    if (ability := Ability(action, slots.get("tool", ""))) not in can:
        raise InputError("box_cannot", name=device.name)
    return await ACTIONS[action](
        _Request(speaker, device, context, action, can[ability], slots.get("value"), words)
    )


async def _call(asked: _Request) -> Answer:
    call: Call = asked.does
    await asked.call(call.tool, call.arguments)
    return "box_done", {}


async def _switch(asked: _Request) -> Answer:
    """Switch a light by its entity, which knows the last colour."""
    hass, unique_id = asked.device.hass, f"{asked.device.mac}_{asked.does.key}"
    entity_id = er.async_get(hass).async_get_entity_id(Platform.LIGHT, DOMAIN, unique_id)
    if entity_id is None or hass.states.get(entity_id) is None:
        raise InputError("box_cannot", name=asked.device.name)
    target = {ATTR_ENTITY_ID: entity_id}
    await hass.services.async_call(Platform.LIGHT, f"turn_{asked.action}", target, True, asked.context)
    return "box_done", {}


async def _set(asked: _Request) -> Answer:
    setter, level = asked.does.setter, asked.value
    if step := _STEPS.get(asked.action):
        # It may have been changed at the device just now.
        known = getattr(await asked.device.commands.read_status(), asked.does.key)
        level = None if known is None else min(max(known + step, min(known, _LEAST)), setter.maximum)
    elif level is None or not setter.minimum <= level <= setter.maximum:
        raise InputError("box_range", low=str(setter.minimum), high=str(setter.maximum))
    if level is not None:
        await asked.call(setter.tool, {setter.argument: level})
    return await asked.named(level)


async def _read(asked: _Request) -> Answer:
    reading = asked.does.state
    answer = parse_answer(await asked.device.commands.call_tool(reading.tool))
    return await asked.named(as_number(member(answer, reading.member)))


async def _battery(asked: _Request) -> Answer:
    status = await asked.device.commands.read_status()
    if status.battery_level is None:
        raise InputError("box_cannot", name=asked.device.name)
    return "box_charging" if status.charging else "box_battery", {"level": str(status.battery_level)}


async def _look(asked: _Request) -> Answer:
    is_asked = asked.action == "look"
    with logged_call(asked.device, PHOTO_TOOL, asked.context):
        text, _ = await async_take_photo(asked.device, asked.words if is_asked else "")
    return ("box_says", {"text": text}) if is_asked else ("box_photo", {})


async def _repeat(asked: _Request) -> Answer:
    if not (said := asked.device.conversations.last_answer):
        raise UserError("box_nothing_said")
    return "box_says", {"text": said}


ACTIONS: Final[Mapping[str, Callable[[_Request], Awaitable[Answer]]]] = {
    "battery": _battery,
    **dict.fromkeys(("do", "move"), _call),
    **dict.fromkeys(("on", "off"), _switch),
    **dict.fromkeys(("photo", "look"), _look),
    **dict.fromkeys(("set", *_STEPS), _set),
    "read": _read,
    "repeat": _repeat,
}
"""By the keys of the data, and `move`, whose sentences are the words of a movement."""
