"""No part of Home Assistant's process is at stake when the speech detector does not fit the computer."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.audio.speech_detector import DetectorSettings
from custom_components.xiaozhi.voice.speech_detectors import SpeechDetectors
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
