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
from ..settings import GatewaySettings, OfferedLink, gateway_entry
from ..util.text import one_line
from .delivery import Delivery, delivery_to

_LOGGER = logging.getLogger(__name__)

# Four to five minutes of speech.
_MAX_TEXT: Final = 4000


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
def refusal(
    device: Device, *, has_text: bool, expects_answer: bool = False, player: str | None = None
) -> UserError:
    """Return the error that says why an announcement cannot be made now, and what would help.

    `player` is the media player that did not make it.
    """
    delivery, state = delivery_to(device), device.hass.states.get(player or "")
    if player is not None:
        key = "announcement_by_nobody"
    elif expects_answer and delivery is not Delivery.NONE:
        key = "announcement_cannot_listen"
    elif delivery is Delivery.TEXT:
        key = "announcement_too_old" if has_text else "announcement_too_old_for_sound"
    elif device.state.link is LinkKind.WEBSOCKET:
        # Where the gateway offers no MQTT, the form of a device has no choice of link.
        entry = gateway_entry(device.hass)
        only = entry is not None and GatewaySettings.from_entry(entry).link is OfferedLink.WEBSOCKET
        key = "announcement_websocket_only" if only else "announcement_on_websocket"
    else:
        key = "not_connected"
    return UserError(
        key,
        name=device.name,
        board=device.state.board or "?",
        releases=STOCK_FIRMWARE_PAGE,
        player=state.name if state else player or "",
    )


@callback
def sound_error(err: BaseException, device: Device) -> UserError:
    """Return the error for what the source of a sound raised, which may be anything."""
    match err:
        case UserError():
            return UserError(err.key, **{"name": device.name, **err.placeholders})
        case SpeechError():
            is_empty = err.fault is SpeechFault.EMPTY
            key = "announcement_empty" if is_empty else "announcement_undecodable"
            return UserError(key, name=device.name)
        case HomeAssistantError():
            _LOGGER.warning("A sound for %s could not be made: %s", device.name, one_line(str(err)))
        case _:
            _LOGGER.error("A sound for %s could not be made", device.name, exc_info=err)
    return UserError("announcement_speech_failed", name=device.name)
