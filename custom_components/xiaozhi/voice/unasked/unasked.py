"""Decides how something is said to a device, one thing at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from homeassistant.core import HomeAssistant, callback

from ...const import MAX_MESSAGE
from ...device.device import Device
from ...protocol import messages
from ...protocol.clock import loop_time
from ...protocol.faces import Face, face_of
from ...protocol.text import one_line
from ...protocol.transport.link import LinkKind
from .channel import ChannelSpeech
from .errors import (
    InterruptedSpeechError,
    NotTakenError,
    OutOfReachError,
    ReplacedError,
    StoppedError,
    unasked_error,
)
from .notification import Notification
from .utterance import Utterance
from .volume import AnnouncementVolume

__all__ = ["Unasked", "Way"]

_STATUS: Final = "Home Assistant"


class Way(StrEnum):
    """How something would be said to a device now."""

    CHANNEL = "channel"
    """Its audio channel is open: spoken between two turns."""
    NOTIFY = "notify"
    """It is idle, and fetches a file and plays it."""
    TEXT = "text"
    """It is idle and cannot speak, but it can show a text and make a sound."""
    NONE = "none"
    """It is out of reach."""


@dataclass(slots=True)
class _Said:
    """What is being said."""

    utterance: Utterance
    task: asyncio.Task[None]
    replaced: bool = False


class Unasked:
    """Says things to a device that its user has not asked for. See the package for how to use it."""

    def __init__(self, hass: HomeAssistant, device: Device) -> None:
        self._volume = AnnouncementVolume(device)
        self.channel = ChannelSpeech(device, self._volume)
        """For who holds the device's conversations."""
        self._hass = hass
        self._device = device
        self._timeouts = device.timeouts.unasked
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._said: _Said | None = None
        self._urgent = 0
        """How many wait that something else gives way to."""
        self._free_at = 0.0
        """Until when the device may still be busy with what is over."""
        self._closed = False

    @property
    def can_announce(self) -> bool:
        """Whether something can be said, or at least shown, whenever the device is connected."""
        state, settings = self._device.state, self._device.settings
        firmware = state.firmware_version
        able = settings.shows_announcements or (firmware is not None and firmware.plays_files)
        return able and state.link is LinkKind.MQTT

    @property
    def way(self) -> Way:
        """How something would be said now."""
        device = self._device
        if device.in_conversation:
            return Way.CHANNEL
        if not device.linked or device.state.link is not LinkKind.MQTT:
            return Way.NONE
        firmware = device.state.firmware_version
        return Way.NOTIFY if firmware is not None and firmware.plays_files else Way.TEXT

    @callback
    def check_sound(self) -> None:
        """Check that the device can play a sound now. Raises `OutOfReachError`."""
        if self.way not in {Way.CHANNEL, Way.NOTIFY}:
            raise self._impossible(has_text=False)

    async def say(self, utterance: Utterance) -> None:
        """Say something when all that was to be said before has been; return when it has been heard.

        Raises `UnaskedError`, and `HomeAssistantError` when the device goes away. Cancelling stops it.
        """
        if self._closed:
            raise self._stopped()
        task = self._device.create_task(self._say_in_turn(utterance), "speak unasked")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            _ = task.cancelled() or task.exception()
            raise
        if task.cancelled():
            raise self._stopped()
        task.result()

    async def async_close(self) -> None:
        """End everything, for good."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def _say_in_turn(self, utterance: Utterance) -> None:
        async with self._turn_for(utterance):
            speaking = asyncio.create_task(self._say(utterance))
            said = self._said = _Said(utterance, speaking)
            try:
                await asyncio.wait((speaking,))
            finally:
                self._said = None
                speaking.cancel()
                await asyncio.wait((speaking,))
            if said.replaced and speaking.cancelled():
                raise unasked_error(ReplacedError, "unasked_replaced", self._device)
            speaking.result()

    @asynccontextmanager
    async def _turn_for(self, utterance: Utterance) -> AsyncGenerator[None]:
        if utterance.gives_way:
            await self._turn.acquire()
            while self._urgent:
                self._turn.release()
                await self._turn.acquire()
        else:
            if self._said is not None and self._said.utterance.gives_way:
                self._said.replaced = True
                self._said.task.cancel()
            self._urgent += 1
            try:
                await self._turn.acquire()
            finally:
                self._urgent -= 1
        try:
            yield
        finally:
            self._turn.release()

    async def _say(self, utterance: Utterance) -> None:
        while True:
            match self.way:
                case Way.CHANNEL:
                    if await self.channel.say(utterance):
                        return
                    self._free_at = loop_time() + self._timeouts.idle
                case Way.NOTIFY if not utterance.expects_answer:
                    if await self._notify(utterance):
                        return
                case Way.TEXT if self._device.settings.shows_announcements and utterance.is_message:
                    await self._show(utterance)
                    return
                case _:
                    raise self._impossible(
                        has_text=utterance.is_message, expects_answer=utterance.expects_answer
                    )

    async def _notify(self, utterance: Utterance) -> bool:
        """Have it played; False if the device has begun a conversation instead."""
        notification = Notification(
            self._hass, self._device, utterance, self._timeouts, free_at=self._free_at
        )
        pause = self._timeouts.idle
        try:
            async with self._volume.changed(wanted=utterance.at_announcement_volume):
                if await notification.play():
                    pause = 0
                    return True
        except InterruptedSpeechError:
            pause = self._timeouts.cancelled
            raise
        finally:
            self._free_at = loop_time() + pause
        if self._can_notify():
            raise unasked_error(NotTakenError, "unasked_not_taken", self._device)
        return False

    def _can_notify(self) -> bool:
        return self.way is Way.NOTIFY

    async def _show(self, utterance: Utterance) -> None:
        text = one_line(utterance.text, MAX_MESSAGE)
        emotion = face_of(utterance.text) or Face.NEUTRAL
        await self._device.commands.send(messages.alert(status=_STATUS, message=text, emotion=emotion))
        utterance.on_start()

    @callback
    def _impossible(self, *, has_text: bool, expects_answer: bool = False) -> OutOfReachError:
        if expects_answer and self.way is not Way.NONE:
            key = "unasked_cannot_listen"
        elif self.way is Way.TEXT:
            key = "unasked_too_old" if has_text else "unasked_too_old_for_sound"
        elif self._device.state.link is LinkKind.WEBSOCKET:
            key = "unasked_on_websocket"
        else:
            key = "not_connected"
        return unasked_error(OutOfReachError, key, self._device)

    def _stopped(self) -> StoppedError:
        return unasked_error(StoppedError, "unasked_stopped", self._device)
