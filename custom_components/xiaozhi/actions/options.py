"""The action that gives several devices the same options."""

from typing import Any, Final

from homeassistant.components.assist_pipeline import VadSensitivity
from homeassistant.components.select import DOMAIN as SELECT_DOMAIN
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import ServiceCall, ServiceResponse
import voluptuous as vol

from ..const import CONF_ANNOUNCEMENT_VOLUME, CONF_CONVERSATION_STYLE, CONF_FOLLOW_UP_WAIT
from ..device.device import Device
from ..errors import InputError, UserError
from ..settings import ConversationStyle
from ..texts.translated import async_explain
from ..tools.stock_tools import VOLUME_TOOL
from ..voice.pipelines import BY_WHAT_WAS_SAID, END_OF_SPEECH_SELECT, assist_select
from .targets import require_tool, target_devices

_END_OF_SPEECH: Final = "end_of_speech"

OPTION_FIELDS: Final[dict[Any, Any]] = {
    vol.Optional(CONF_CONVERSATION_STYLE): vol.In([*ConversationStyle]),
    vol.Optional(CONF_FOLLOW_UP_WAIT): vol.All(vol.Coerce(int), vol.Range(min=3, max=30)),
    vol.Optional(_END_OF_SPEECH): vol.In([BY_WHAT_WAS_SAID, *VadSensitivity]),
    vol.Optional(CONF_ANNOUNCEMENT_VOLUME): vol.All(vol.Coerce(int), vol.Range(min=0, max=100)),
}


async def async_set_options(call: ServiceCall) -> ServiceResponse:
    """Set the given options of each device; return their names. Raises `InputError`, which names each."""
    devices, refusal = target_devices(call)
    options = {str(key): call.data[str(key)] for key in OPTION_FIELDS if str(key) in call.data}
    if not options or not devices:
        raise refusal or InputError("no_option")
    done, failed = list[str](), [] if refusal is None else [str(refusal)]
    for device in devices:
        try:
            await _set(call, device, dict(options))
        except UserError as err:
            failed.append(f"{device.name}: {await async_explain(call.hass, err)}")
        else:
            done.append(device.name)
    if failed:
        raise InputError("options_not_set", failed=" ".join(failed), done=", ".join(done) or "–")
    return {"devices": [*sorted(done)]}


async def _set(call: ServiceCall, device: Device, options: dict[str, Any]) -> None:
    """Set all options of a device, or none. Raises `InputError`."""
    if CONF_ANNOUNCEMENT_VOLUME in options:
        require_tool(device, VOLUME_TOOL)
    if option := options.pop(_END_OF_SPEECH, None):
        entity_id = assist_select(call.hass, device, END_OF_SPEECH_SELECT)
        if entity_id is None or call.hass.states.get(entity_id) is None:
            raise InputError("end_of_speech_disabled")
        chosen = {ATTR_ENTITY_ID: entity_id, "option": option}
        await call.hass.services.async_call(
            SELECT_DOMAIN, "select_option", chosen, blocking=True, context=call.context
        )
    for key, value in options.items():
        device.set_option(key, value)
