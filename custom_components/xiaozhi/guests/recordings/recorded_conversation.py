"""Records a conversation for a fault report, and notifies the owner of it."""

from typing import Any, Final

from homeassistant.const import __version__
from homeassistant.core import callback
from homeassistant.loader import async_get_integration

from ...announcements.other_loudspeaker import chosen_player
from ...const import DOMAIN
from ...device.device import Device
from ...errors import UserError
from ...protocol.transport.link import LinkClosedError
from ...texts.notifications import async_notify
from ...util.text import one_line, plain_markdown
from ...voice.pipelines import END_OF_SPEECH_SELECT, assist_select
from .conversation_recorder import ConversationRecorder

# Seconds that the owner has to go to the device and speak.
_PATIENCE: Final = 300


@callback
def check_not_recording(device: Device) -> None:
    """Check that no conversation of a device is awaited or recorded. Raises `UserError`."""
    if device.part(ConversationRecorder).busy:
        raise UserError("recording_busy", name=device.name)


async def async_record_conversation(device: Device, *, with_sound: bool) -> dict[str, Any]:
    """Record the next conversation of a device, and notify the owner when it is over, or if none began.

    Returns its seconds and the number of its lines; *Download diagnostics* of the device has them until the
    gateway stops. Raises `UserError` if nobody talks to the device, a conversation is being recorded, or the
    gateway stops.
    """
    check_not_recording(device)
    head, recorder = await _head(device), device.part(ConversationRecorder)
    try:
        trace = await recorder.next_conversation(head, with_sound=with_sound, patience=_PATIENCE)
    except TimeoutError as err:
        await _notify(device, "recording_none")
        raise UserError("recording_none", name=device.name) from err
    except LinkClosedError as err:
        raise UserError("unknown_device", device_id=device.registry_id or "") from err
    seconds = trace.milliseconds / 1000
    await _notify(device, "recorded", seconds=f"{seconds:.0f}")
    return {"seconds": round(seconds, 1), "lines": len(trace.lines), "sound": with_sound}


async def _notify(device: Device, key: str, **placeholders: str) -> None:
    placeholders["name"] = plain_markdown(device.name)
    await async_notify(device.hass, key, f"recorded_{device.subentry_id}", **placeholders)


async def _head(device: Device) -> dict[str, Any]:
    """Return the facts that a replay needs, without anything that identifies the house."""
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
            "loudspeaker": chosen_player(device) is not None,
        },
    }
