"""What people ask a device itself to do: to move, to look, to be louder, to say that again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.components.light import DOMAIN as LIGHT_DOMAIN
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import Context
from homeassistant.helpers import entity_registry as er

from ...const import DOMAIN
from ...device.call_log import logged_call
from ...device.device import Device
from ...errors import InputError, UserError
from ...tools.answer_values import as_number, member, parse_answer
from ...tools.stock_tools import PHOTO_TOOL
from ...tools.tool_entities import Call, LightTool, NumberTool, SensorTool
from ..pictures.vision import async_take_photo
from ..spoken.box_sentences import Ability, abilities
from .speaker import Answer, Speaker

# Per cent. Nobody who asks for less wants to hear nothing, or to see nothing.
_STEPS: Final = {"brighter": 20, "darker": -20, "louder": 10, "quieter": -10}
_LEAST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something that a device is asked to do."""

    speaker: Speaker
    device: Device
    context: Context
    ability: Ability
    does: Any
    """Its entity or call, by the ability."""
    value: int | None
    words: str
    """The whole sentence."""


async def async_ask(speaker: Speaker, context: Context, slots: Mapping[str, Any], words: str) -> Answer:
    """Let the device to which it was said do something. Raises `UserError`."""
    if (device := speaker.device) is None:
        raise InputError("box_elsewhere")
    ability, can = Ability(slots["action"], slots.get("tool", "")), abilities(device)
    if ability not in can:
        raise InputError("box_cannot", name=device.name)
    return await ACTIONS[ability.action](
        Request(
            speaker=speaker,
            device=device,
            context=context,
            ability=ability,
            does=can[ability],
            value=slots.get("value"),
            words=words,
        )
    )


async def _call(asked: Request) -> Answer:
    call: Call = asked.does
    with logged_call(asked.device, call.tool, asked.context):
        await asked.device.commands.change(call.tool, call.arguments)
    return "box_done", {}


async def _switch(asked: Request) -> Answer:
    light: LightTool = asked.does
    hass, unique_id = asked.device.hass, f"{asked.device.mac}_{light.key}"
    entity_id = er.async_get(hass).async_get_entity_id(LIGHT_DOMAIN, DOMAIN, unique_id)
    if entity_id is None or hass.states.get(entity_id) is None:
        raise InputError("box_cannot", name=asked.device.name)
    # It knows its last colour.
    await hass.services.async_call(
        LIGHT_DOMAIN,
        f"turn_{asked.ability.action}",
        {ATTR_ENTITY_ID: entity_id},
        blocking=True,
        context=asked.context,
    )
    return "box_done", {}


async def _set(asked: Request) -> Answer:
    number: NumberTool = asked.does
    low, high = number.setter.minimum, number.setter.maximum
    if asked.value is None or not low <= asked.value <= high:
        raise InputError("box_range", low=str(low), high=str(high))
    return await _set_to(asked, asked.value)


async def _step(asked: Request) -> Answer:
    """Change a level that the status shows; it may have been changed at the device just now."""
    number: NumberTool = asked.does
    level = getattr(await asked.device.commands.read_status(), number.key)
    if level is None:
        raise UserError("box_unknown", name=await _name(asked))
    return await _set_to(asked, min(max(level + _STEPS[asked.ability.action], min(level, _LEAST)), 100))


async def _set_to(asked: Request, value: int) -> Answer:
    setter = asked.does.setter
    with logged_call(asked.device, setter.tool, asked.context):
        await asked.device.commands.change(setter.tool, {setter.argument: value})
    return "box_value", {"name": await _name(asked), "value": _with_unit(value, asked.does.unit)}


async def _read(asked: Request) -> Answer:
    sensor: SensorTool = asked.does
    answer = parse_answer(await asked.device.commands.call_tool(sensor.state.tool))
    value = as_number(member(answer, sensor.state.member))
    if value is None:
        raise UserError("box_unknown", name=await _name(asked))
    return "box_value", {"name": await _name(asked), "value": _with_unit(value, sensor.unit)}


async def _battery(asked: Request) -> Answer:
    status = await asked.device.commands.read_status()
    if status.battery_level is None:
        raise InputError("box_cannot", name=asked.device.name)
    return "box_charging" if status.charging else "box_battery", {"level": str(status.battery_level)}


async def _photo(asked: Request) -> Answer:
    with logged_call(asked.device, PHOTO_TOOL, asked.context):
        await async_take_photo(asked.device.hass, asked.device)
    return "box_photo", {}


async def _look(asked: Request) -> Answer:
    with logged_call(asked.device, PHOTO_TOOL, asked.context):
        text, _ = await async_take_photo(asked.device.hass, asked.device, asked.words)
    return "box_says", {"text": text}


async def _repeat(asked: Request) -> Answer:
    if not (said := asked.device.conversations.last_answer):
        raise UserError("box_nothing_said")
    return "box_says", {"text": said}


async def _name(asked: Request) -> str:
    """Return the name of an entity in the language of the sentence."""
    entity = asked.does
    key = f"{entity.platform}.{entity.translation_key}"
    called = asked.speaker.language.entity_name
    return entity.name or str(await asked.device.hass.async_add_executor_job(called, key))


def _with_unit(value: float, unit: str | None) -> str:
    return f"{value:g} {unit}" if unit else f"{value:g}"


ACTIONS: Final[Mapping[str, Callable[[Request], Awaitable[Answer]]]] = {
    "battery": _battery,
    "brighter": _step,
    "darker": _step,
    "do": _call,
    "look": _look,
    "louder": _step,
    "move": _call,
    "off": _switch,
    "on": _switch,
    "photo": _photo,
    "quieter": _step,
    "read": _read,
    "repeat": _repeat,
    "set": _set,
}
"""By the keys of the data, and `move`, whose sentences are the words of a movement."""
