"""How an announcement can reach a device now, and why it cannot."""

from enum import StrEnum

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import callback

from ..const import STOCK_FIRMWARE_PAGE
from ..device.device import Device
from ..protocol.transport.link import LinkKind
from ..settings import GatewaySettings, OfferedLink, gateway_entry
from .announcement_errors import AnnouncementRefusedError


class Delivery(StrEnum):
    """How an announcement would reach a device now."""

    CONVERSATION = "conversation"
    """Its audio channel is open: spoken between two turns."""
    ROOM_PLAYER = "room player"
    """It is idle, and a media player speaks in its place."""
    NOTIFY = "notify"
    """It is idle, and fetches a file and plays it."""
    TEXT = "text"
    """It is idle and cannot speak, but it can show a text and make a sound."""
    NONE = "none"
    """It is out of reach."""


@callback
def delivery_to(device: Device) -> Delivery:
    """Return how something would reach a device itself now."""
    if device.conversation is not None:
        return Delivery.CONVERSATION
    if not device.state.linked or device.state.link is not LinkKind.MQTT:
        return Delivery.NONE
    firmware = device.state.firmware_version
    return Delivery.NOTIFY if firmware is not None and firmware.plays_files else Delivery.TEXT


@callback
def delivery_in_room(device: Device) -> Delivery:
    """Return how something that need not come from the device itself would be heard now."""
    player = device.settings.loudspeaker
    state = None if player is None else device.hass.states.get(player)
    if device.conversation is not None or state is None or state.state == STATE_UNAVAILABLE:
        return delivery_to(device)
    return Delivery.ROOM_PLAYER


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
