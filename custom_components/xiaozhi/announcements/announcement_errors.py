"""The errors of an announcement that is refused or fails."""

import logging
from typing import Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..const import STOCK_FIRMWARE_PAGE
from ..device.device import Device
from ..errors import InputError, UserError
from ..protocol.audio.speech_decoder import SpeechError, SpeechFault
from ..protocol.transport.link import LinkKind
from ..protocol.untrusted_text import one_line
from ..settings import GatewaySettings, OfferedLink, gateway_entry
from .delivery import Delivery, delivery_to

_LOGGER = logging.getLogger(__name__)

# Four to five minutes of speech.
_MAX_TEXT: Final = 4000


class AnnouncementError(UserError):
    """An announcement that was not heard, or not to its end."""


class AnnouncementRefusedError(AnnouncementError):
    """Nothing can make the device speak now, or it has not asked for the sound."""


class AnnouncementInterruptedError(AnnouncementError):
    """The user or a fault has ended it."""


class AnnouncementReplacedError(AnnouncementError):
    """It has given way to something else."""


class AnnouncementStoppedError(AnnouncementError):
    """Somebody has stopped it, or the gateway is being stopped, or the device was removed."""


class SoundError(AnnouncementError):
    """The sound could not be made."""


class SourceError(UserError):
    """The source of a sound failed. `sound_error` adds the name of the device to the text."""


@callback
def check_length(device: Device, text: str | None) -> None:
    """Check a text to be spoken before any work on it. Raises `InputError`."""
    if text is not None and len(text) > _MAX_TEXT:
        raise InputError(
            "announcement_too_long", name=device.name, length=str(len(text)), limit=str(_MAX_TEXT)
        )


@callback
def refusal(device: Device, *, has_text: bool, expects_answer: bool = False) -> AnnouncementRefusedError:
    """Return the error that says why an announcement cannot be made now, and what would help."""
    delivery = delivery_to(device)
    if expects_answer and delivery is not Delivery.NONE:
        key = "announcement_cannot_listen"
    elif delivery is Delivery.TEXT:
        key = "announcement_too_old" if has_text else "announcement_too_old_for_sound"
    elif device.state.link is LinkKind.WEBSOCKET:
        # Without MQTT for any device, the form of one device has no choice.
        entry = gateway_entry(device.hass)
        only = entry is not None and GatewaySettings.from_entry(entry).link is OfferedLink.WEBSOCKET
        key = "announcement_websocket_only" if only else "announcement_on_websocket"
    else:
        key = "not_connected"
    return AnnouncementRefusedError(
        key, name=device.name, board=device.state.board or "?", releases=STOCK_FIRMWARE_PAGE
    )


@callback
def sound_error(err: BaseException, device: Device) -> AnnouncementError:
    """Return the error for what the source of a sound raised, which may be anything."""
    match err:
        case AnnouncementError():
            return err
        case UserError():
            return SoundError(err.key, **{"name": device.name, **err.placeholders})
        case SpeechError():
            is_empty = err.fault is SpeechFault.EMPTY
            key = "announcement_empty" if is_empty else "announcement_undecodable"
            return SoundError(key, name=device.name)
        case HomeAssistantError():
            _LOGGER.warning("A sound for %s could not be made: %s", device.name, one_line(str(err)))
        case _:
            _LOGGER.error("A sound for %s could not be made", device.name, exc_info=err)
    return SoundError("announcement_speech_failed", name=device.name)
