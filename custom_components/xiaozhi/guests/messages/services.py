"""The action that sends a voice message."""

from typing import Final

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import ServiceCall
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.action import Action
from ...actions.rights import check_device
from ...actions.targets import target_devices
from ...announcements.announcer import Announcer
from ...assist_satellite import satellite_of
from ...errors import InputError
from ...gateway import find_device
from .kept_messages import KeptMessages
from .sending import async_send_voice_message

_SENDER: Final = "sender"


async def _send_voice_message(call: ServiceCall) -> None:
    devices, refusal = target_devices(call)
    sender = find_device(call.hass, call.data[_SENDER])
    if refusal is not None or sender is None:
        raise refusal or InputError("unknown_device", device_id=call.data[_SENDER])
    await check_device(call.hass, call.context, sender, POLICY_CONTROL)
    sender.part(Announcer).check_may_disturb(call.context)
    to = [device.part(KeptMessages) for device in devices]
    await async_send_voice_message(satellite_of(call.hass, sender), to)


ACTIONS: Final = {
    "send_voice_message": Action(run=_send_voice_message, fields={vol.Required(_SENDER): cv.string})
}
