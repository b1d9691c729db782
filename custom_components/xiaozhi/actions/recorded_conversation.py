"""Records a conversation for a fault report, and says where it is."""

from typing import Any, Final

from homeassistant.components import persistent_notification
from homeassistant.const import __version__
from homeassistant.loader import async_get_integration

from ..const import DOMAIN
from ..device.device import Device
from ..errors import UserError
from ..protocol.untrusted_text import one_line
from ..texts.translated import async_text
from ..voice.pipelines import END_OF_SPEECH_SELECT, assist_select

# Seconds that the owner has to go to the device and speak.
_PATIENCE: Final = 300


async def async_record_conversation(device: Device, *, with_sound: bool) -> dict[str, Any]:
    """Record the next conversation of a device, and notify the owner when it is over.

    Returns its seconds and the number of its lines; *Download diagnostics* of the device has them until the
    gateway stops. Raises `UserError` if nobody talks to the device, or a conversation is being recorded.
    """
    recorder = device.conversations.recorder
    if recorder.busy:
        raise UserError("recording_busy", name=device.name)
    head = await _head(device)
    try:
        trace = await recorder.next_conversation(head, with_sound=with_sound, patience=_PATIENCE)
    except TimeoutError as err:
        raise UserError("recording_none", name=device.name) from err
    seconds = trace.milliseconds / 1000
    persistent_notification.async_create(
        device.hass,
        await async_text(device.hass, "recorded", name=device.name, seconds=f"{seconds:.0f}"),
        title=await async_text(device.hass, "recorded_title"),
        notification_id=f"{DOMAIN}_recorded_{device.subentry_id}",
    )
    return {"seconds": round(seconds, 1), "lines": len(trace.lines), "sound": with_sound}


async def _head(device: Device) -> dict[str, Any]:
    """Return what a replay has to know, and nothing that names the house."""
    integration = await async_get_integration(device.hass, DOMAIN)
    state, settings = device.state, device.settings
    select = device.hass.states.get(assist_select(device.hass, device, END_OF_SPEECH_SELECT) or "")
    return {
        "firmware": one_line(state.firmware or ""),
        "board": one_line(state.board or ""),
        "link": state.link,
        "integration": str(integration.version),
        "home_assistant": __version__,
        "settings": {
            "conversation_style": settings.conversation_style,
            "follow_up_wait": settings.follow_up_wait,
            "interrupt_by_speaking": settings.interrupt_by_speaking,
            "end_of_speech": select and select.state,
            "loudspeaker": settings.loudspeaker is not None,
        },
    }
