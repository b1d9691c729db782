"""What is said on its way to the pipeline, with a detector that follows a script."""

import asyncio
from dataclasses import dataclass, field
from typing import override

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.audio.detector import (
    SpeechBegan,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
)
from custom_components.xiaozhi.protocol.conversation.state_table import TurnStart
from custom_components.xiaozhi.protocol.conversation.turn_audio import Turn
from custom_components.xiaozhi.protocol.messages import ListenMode
from custom_components.xiaozhi.voice.speech_detectors import TurnDetector
from custom_components.xiaozhi.voice.spoken_audio import SpeechCallbacks, SpokenAudio

SECOND = 32000
FRAME = bytes((1, 2)) * 960


@dataclass
class ScriptedDetector(SpeechDetector):
    """Notices speech 0.15 s after it has begun, and its end after 0.6 s."""

    speech: list[tuple[float, float]]
    heard: int = 0
    pending: list[tuple[float, SpeechEvent]] = field(init=False)

    def __post_init__(self) -> None:
        """Make a list of events, with the time when each is known."""
        self.pending = [
            event
            for began, ended in self.speech
            for event in ((began + 0.15, SpeechBegan(began)), (ended + 0.6, SpeechEnded(ended)))
        ]

    @override
    def hear(self, pcm: bytes) -> list[SpeechEvent]:
        self.heard += len(pcm)
        events: list[SpeechEvent] = []
        while self.pending and self.pending[0][0] <= self.heard / SECOND:
            events.append(self.pending.pop(0)[1])
        return events


@dataclass
class Listener:
    """A turn, and what was called for it."""

    hass: HomeAssistant
    speech: list[tuple[float, float]]
    called: list[str] = field(default_factory=list)
    silent_for: float | None = None
    received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        """Begin the turn."""
        self.turn = Turn(TurnStart(mode=ListenMode.AUTO), 60, longest=30)
        callbacks = SpeechCallbacks(
            began=lambda: self.called.append("began"),
            silent=lambda: self.called.append("silent"),
            ended=self.ended,
        )
        self.detector = ScriptedDetector(self.speech)
        detector = TurnDetector(self.hass, self.detector, asyncio.Semaphore(1))
        self.spoken = SpokenAudio(self.turn, detector, callbacks, patience=8)

    def ended(self, silent_for: float | None) -> None:
        self.called.append("ended")
        self.silent_for = silent_for

    async def receive(self) -> None:
        """Take what the pipeline gets."""
        async for pcm in self.spoken.for_pipeline(with_lead=False):
            self.received += pcm

    async def hear(self, seconds: float, *, at_once: bool = False) -> None:
        """Let the device send so much audio as fast as it is spoken, or all of it at once."""
        receiving = asyncio.create_task(self.receive())
        listening = asyncio.create_task(self.spoken.listen())
        for _ in range(round(seconds / 0.06)):
            self.turn.put(FRAME, 0)
            if not at_once:
                await asyncio.sleep(0.06)
        await asyncio.wait((listening,), timeout=20)
        assert listening.done()
        await asyncio.sleep(0)
        receiving.cancel()
        await asyncio.wait((receiving,))


async def test_the_pipeline_gets_all_from_the_first_frame_to_the_end_of_speech(hass: HomeAssistant) -> None:
    listener = Listener(hass, [(3.0, 4.0)])
    await listener.hear(10)
    assert listener.called == ["began", "ended"]
    assert len(listener.received) / SECOND == pytest.approx(4.6, abs=0.1)
    assert listener.silent_for == pytest.approx(0.6, abs=0.1)


async def test_nothing_is_handed_on_as_long_as_nobody_speaks(hass: HomeAssistant) -> None:
    listener = Listener(hass, [])
    await listener.hear(12)
    assert listener.called == ["silent"]
    assert not listener.received


async def test_somebody_who_begins_to_speak_at_the_last_moment_is_heard(hass: HomeAssistant) -> None:
    """Speech is noticed a little after it has begun."""
    listener = Listener(hass, [(7.97, 8.5)])
    await listener.hear(12)
    assert listener.called == ["began", "ended"]


async def test_what_we_are_late_to_hear_is_transcribed_and_does_not_count_as_late(
    hass: HomeAssistant,
) -> None:
    """All of ten seconds is there at once, and somebody has spoken in them."""
    listener = Listener(hass, [(9.0, 9.2)])
    await listener.hear(10, at_once=True)
    assert listener.called == ["began", "ended"]
    assert len(listener.received) / SECOND == pytest.approx(10, abs=0.1)


async def test_what_has_waited_is_heard_a_second_at_a_time_and_not_beyond_the_end_of_speech(
    hass: HomeAssistant,
) -> None:
    """Other devices wait for the thread, which cannot be cancelled."""
    listener = Listener(hass, [(1.0, 2.0)])
    await listener.hear(20, at_once=True)
    assert listener.called == ["began", "ended"]
    assert listener.detector.heard == 3 * SECOND


async def test_a_turn_that_the_device_ends_is_silent_if_nothing_was_heard(hass: HomeAssistant) -> None:
    listener = Listener(hass, [])
    asyncio.get_running_loop().call_later(2, listener.turn.end_speech)
    await listener.hear(2)
    assert listener.called == ["silent"]
    assert not listener.received
