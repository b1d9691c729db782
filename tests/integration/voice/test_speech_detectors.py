"""Speech detectors: whether they fit the computer, which is tried elsewhere, and how they are given sound."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import batched
from pathlib import Path
from typing import override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
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
from custom_components.xiaozhi.voice.speech_detectors import SpeechDetectors, TurnDetector
from simulator.audio.espeak import synthesize
from tests.integration.http_device import MakeEntry
from tests.silero_wheels import HANGS, ILLEGAL_INSTRUCTION, WORKS, installed

type Start = Callable[[], Awaitable[bool]]


@pytest.fixture
async def start(hass: HomeAssistant, core: None, make_entry: MakeEntry) -> Start:
    """Return what starts the gateway, or starts it again, and says whether it has a detector then."""
    entry: MockConfigEntry | None = None

    async def start() -> bool:
        nonlocal entry
        if entry is None:
            entry = make_entry()
            assert await hass.config_entries.async_setup(entry.entry_id)
        else:
            assert await hass.config_entries.async_reload(entry.entry_id)
        await hass.async_block_till_done(wait_background_tasks=True)
        detector = await entry.runtime_data.voice.detectors.async_load(DetectorSettings())
        told = (DOMAIN, "no_speech_detector") in ir.async_get(hass).issues
        assert told == (detector is None)
        assert entry.runtime_data.voice.detectors.available == (detector is not None)
        return detector is not None

    return start


@pytest.mark.parametrize(
    ("library", "logged"),
    [(ILLEGAL_INSTRUCTION, "an illegal instruction: it is made for newer processors"), (HANGS, "")],
)
async def test_a_detector_that_would_end_or_block_home_assistant_is_never_loaded(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture, library: str, logged: str
) -> None:
    with installed(tmp_path, library) as wheel:
        for number in range(2 if logged else 1):
            assert not await start()
            assert wheel.loaded_by() == ["another"] * (number + 1)
            assert caplog.text.count("The end of speech is found by Home Assistant") == number + 1
    assert logged in caplog.text
    assert await start(), "another start with one that works"


async def test_a_turn_does_not_wait_for_a_detector_that_is_still_tried(hass: HomeAssistant) -> None:
    detectors = SpeechDetectors(hass, {})
    assert await detectors.async_load(DetectorSettings()) is None
    assert detectors.available


async def test_a_detector_is_tried_once_in_the_life_of_a_process(start: Start, tmp_path: Path) -> None:
    with installed(tmp_path, WORKS) as wheel:
        assert await start()
        assert await start()
        assert wheel.loaded_by() == ["another", "this"]


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
