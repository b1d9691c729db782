"""Sounds for a device to play, and what can go wrong with them."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count
import re
from typing import cast

from homeassistant.components.tts import ResultStream
from homeassistant.util import dt as dt_util

from custom_components.xiaozhi.announcements.announcement_speech import spoken_text
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End, Heard
from custom_components.xiaozhi.announcements.utterance import OpenSpeech, Rank, Utterance
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.messages.kept_messages import KeptMessages
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.messages import DOWNLINK
from simulator import SimulatedDevice
from tests.integration import speech
from tests.protocol.audio.sounds import tone


class Sound:
    """A tone of 440 Hz."""

    def __init__(self, seconds: float | None, *, error: Exception | None = None) -> None:
        """Sound for so many seconds, or without end; then raise the error."""
        self.closed = True
        self._seconds = seconds
        self._error = error

    async def open(self, _how: Delivery = Delivery.NONE) -> AsyncGenerator[bytes]:
        """Yield PCM, a second at a time."""
        self.closed = False
        second = tone(1, DOWNLINK.sample_rate)
        try:
            for passed in count():
                if self._seconds is not None and passed >= self._seconds:
                    break
                yield second
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


class Stalling:
    """A speech engine's stream that does not go on after so many seconds of a tone."""

    extension = "wav"

    def __init__(self, seconds: float) -> None:
        self.closed = True
        self._seconds = seconds

    async def async_stream_result(self) -> AsyncGenerator[bytes]:
        self.closed = False
        try:
            if self._seconds:
                # With the head of a stream whose length is not known.
                yield speech.tone(0)[:44] + speech.tone(self._seconds)[44:]
            await asyncio.Event().wait()
        finally:
            self.closed = True

    def open(self, how: Delivery) -> AsyncGenerator[bytes]:
        return spoken_text(lambda: cast("ResultStream", self))(how)


def beep(seconds: float) -> OpenSpeech:
    return Sound(seconds).open


def ring(seconds: float, rank: Rank) -> Utterance:
    """Return what rings as an alarm or a timer does."""
    is_alarm = rank is Rank.ALARM
    return Utterance(
        text="Up!", speech=beep(seconds), rank=rank, alert_seconds=9, at_announcement_volume=is_alarm
    )


async def keep_message(known: Device, seconds: float) -> None:
    """Keep a voice message for a device, a tone, which it plays if it can."""
    message = VoiceMessage(sender="Bedroom", sent=dt_util.utcnow())
    sound = OggOpusEncoder().encode_whole(tone(seconds, DOWNLINK.sample_rate))
    await known.part(KeptMessages).async_keep(message, sound)


def endless() -> OpenSpeech:
    return Sound(None).open


def assert_heard(heard: Heard, end: End, words: str = "") -> None:
    assert (heard.end, heard.error is None) == (end, end is End.DONE), heard
    assert re.search(words, str(heard.error)), heard.error


async def is_heard(device: SimulatedDevice) -> None:
    """Wait until the device plays its first announcement."""
    await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
