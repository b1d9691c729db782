"""Sound before speech waits to be heard together, and that changes no event."""

import asyncio
from itertools import batched
from typing import override

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.audio.silero import load_model
from custom_components.xiaozhi.protocol.audio.speech_detector import (
    DetectorSettings,
    SpeechBegan,
    SpeechDetector,
    SpeechEvent,
    load_detector,
)
from custom_components.xiaozhi.protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE, silence
from custom_components.xiaozhi.voice.end_of_turn import SHORTEST_WORD
from custom_components.xiaozhi.voice.speech_detectors import TurnDetector
from simulator.audio.espeak import synthesize

_PACKET = len(silence(60))


class _CountingDetector(SpeechDetector):
    """Counts how often it is given sound."""

    def __init__(self, settings: DetectorSettings) -> None:
        super().__init__(settings, load_model())
        self.calls = 0

    @override
    def hear(self, pcm: bytes) -> list[SpeechEvent]:
        self.calls += 1
        return super().hear(pcm)


@pytest.mark.parametrize("begin", [SHORTEST_WORD, 0.2, 0.35])
@pytest.mark.parametrize("milliseconds", range(700, 760, 10))
async def test_no_event_comes_later_because_sound_has_waited(
    hass: HomeAssistant, begin: float, milliseconds: int
) -> None:
    words, _ = synthesize("No. Turn it on.", sample_rate=UPLINK_SAMPLE_RATE)
    sound = silence(milliseconds) + words + silence(1200)
    packets = [bytes(packet) for packet in batched(sound, _PACKET, strict=False)]
    settings = DetectorSettings(begin=begin, pause=0.2)
    packet_by_packet, counting = load_detector(settings), _CountingDetector(settings)
    detector = TurnDetector(hass, counting, asyncio.Semaphore())
    before = 0
    for number, packet in enumerate(packets):
        events = packet_by_packet.hear(packet)
        assert await detector.hear(packet) == events, f"packet {number}"
        if any(isinstance(event, SpeechBegan) for event in events):
            before = before or number + 1
    assert before
    assert counting.calls <= len(packets) - before // 2
