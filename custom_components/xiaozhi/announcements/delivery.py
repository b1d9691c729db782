"""Delivery of an announcement to a device: spoken, by a media player, as a file or as a text."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum

from homeassistant.core import callback

from ..device.device import Device
from ..protocol.transport.link import LinkKind


class Delivery(StrEnum):
    """How an announcement would reach a device now."""

    CONVERSATION = "conversation"
    """Its audio channel is open: spoken between two turns."""
    MUSIC = "music"
    """Its audio channel is open, but only for music: nobody talks."""
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
def is_mute_while_idle(device: Device) -> bool:
    """Whether nothing can be said by a device that is idle, as far as its link and firmware are known."""
    firmware = device.state.firmware_version
    return device.state.link is LinkKind.WEBSOCKET or (firmware is not None and not firmware.plays_files)


@contextmanager
def woken(device: Device) -> Generator[asyncio.Event]:
    """Yield an event that is set once the device is in a conversation."""
    event = asyncio.Event()

    @callback
    def check() -> None:
        if device.conversation is not None:
            event.set()

    stop = device.record.listen(["conversation"], check)
    try:
        check()
        yield event
    finally:
        stop()
