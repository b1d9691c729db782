"""The speech detectors of all turns, and whether this computer can run them.

Home Assistant's own detector does not hear most words as short as "no", takes half a second longer, and
gives up after 15 s. It serves where ours cannot be loaded.
"""

import asyncio
from collections.abc import Callable, Mapping
import logging
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from ..const import DOMAIN
from ..device.device import Device
from ..device.state import DETECTORS
from ..protocol.audio.silero import ModelUnavailable, is_loaded
from ..protocol.audio.silero_probe import find_model, probe
from ..protocol.audio.speech_detector import (
    DetectorSettings,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    load_detector,
)
from ..protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE, silence
from ..texts.issues import Part, Unpromised, async_raise_issue
from ..timeouts import VoiceTimeouts
from ..util.event_loop import within

_LOGGER = logging.getLogger(__name__)

_ISSUE: Final = "no_speech_detector"
_BYTES_PER_SECOND: Final = 2 * UPLINK_SAMPLE_RATE
BLIND_MS: Final = 760
"""For which Home Assistant's detector gives no valid answer: the end of a short command would never be heard.
Leading silence costs no time."""
# It takes 10 ms at a time.
_HOUSE_PIECE: Final = _BYTES_PER_SECOND // 100
# Detectors that work at the same time. Each takes a thread of Home Assistant's, of which there are few; if
# there were only one, each device would wait for the event loop to come back from all of the others.
_AT_ONCE: Final = 8
# The backlog of a busy computer is taken a second at a time: a thread cannot be cancelled, and other devices
# wait for it.
_MAX_PIECE: Final = _BYTES_PER_SECOND


class SpeechDetectors:
    """The speech detectors of all devices that listen, one for each, outside the event loop."""

    def __init__(self, hass: HomeAssistant, devices: Mapping[str, Device]) -> None:
        """There are no detectors before `async_prepare`."""
        self.available = True
        """Whether detectors are known to work."""
        self._hass = hass
        self._devices = devices
        self._working = asyncio.Semaphore(_AT_ONCE)
        self._tried = asyncio.Event()

    async def async_prepare(self) -> None:
        """Find out whether the library can be loaded, and load it; a repair issue says if it cannot.

        Until it has run once in a process of its own, it could end Home Assistant.
        """
        try:
            if not is_loaded():
                folder = await self._hass.async_add_executor_job(find_model)
                await probe(folder, VoiceTimeouts.detector_probe)
        except ModelUnavailable as err:
            self._is_unavailable(err)
        self._tried.set()
        await self.async_load(DetectorSettings())

    async def async_load(self, settings: DetectorSettings) -> TurnDetector | None:
        """Return a detector for one turn; None, with a repair issue, if the library cannot be loaded."""
        if not (await within(VoiceTimeouts.detector_wait, self._tried.wait()) and self.available):
            return None
        try:
            detector = await self._hass.async_add_executor_job(load_detector, settings)
        except ModelUnavailable as err:
            self._is_unavailable(err)
            return None
        return TurnDetector(self._hass, detector, self._working)

    async def async_load_any(self, settings: DetectorSettings) -> TurnDetector | None:
        """Return a detector for one turn that no pipeline hears: Home Assistant's, where ours cannot run."""
        detector = await self.async_load(settings)
        if detector is None:
            with Unpromised(self._hass, Part.DETECTOR):
                house = SpeechDetector(settings, _house_model())
                return TurnDetector(self._hass, house, self._working)
        return detector

    @callback
    def async_stop(self) -> None:
        """Delete the issue."""
        ir.async_delete_issue(self._hass, DOMAIN, _ISSUE)

    @callback
    def _is_unavailable(self, err: ModelUnavailable) -> None:
        self.available = False
        for device in self._devices.values():
            device.record.notify(DETECTORS)
        _LOGGER.warning("The end of speech is found by Home Assistant, which takes longer: %s", err)
        async_raise_issue(self._hass, _ISSUE)


class TurnDetector:
    """The speech detector of one turn."""

    def __init__(self, hass: HomeAssistant, detector: SpeechDetector, working: asyncio.Semaphore) -> None:
        """Created by `SpeechDetectors.async_load`."""
        self._hass = hass
        self._detector = detector
        self._working = working
        self._waiting = bytearray()

    async def hear(self, pcm: bytes) -> list[SpeechEvent]:
        """Take the next audio, and return its events up to the end of speech."""
        self._waiting += pcm
        # A call in a thread costs more than the model. Before somebody speaks, sound waits for more if it can
        # bring no event yet.
        if len(self._waiting) + len(pcm) < self._detector.bytes_to_event:
            return []
        pcm, self._waiting = bytes(self._waiting), bytearray()
        events: list[SpeechEvent] = []
        for start in range(0, len(pcm), _MAX_PIECE):
            async with self._working:
                piece = pcm[start : start + _MAX_PIECE]
                events += await self._hass.async_add_executor_job(self._detector.hear, piece)
            if events and isinstance(events[-1], SpeechEnded):
                break
        return events

    @callback
    def end_after(self, pause: SpeechPaused, silence: float) -> None:
        """Let speech end when this pause has lasted `silence` seconds, unless it is over."""
        self._detector.end_after(pause, silence)


def _house_model() -> Callable[[bytes], float]:
    """Return Home Assistant's model of speech, in the form of ours."""
    from homeassistant.components.assist_pipeline.audio_enhancer import MicroVadSpeexEnhancer  # noqa: PLC0415

    enhancer = MicroVadSpeexEnhancer(0, 0, is_vad_enabled=True)
    rest = bytearray()
    likelihood = 0.0

    def judge(pcm: bytes) -> float:
        nonlocal likelihood
        rest.extend(pcm)
        while len(rest) >= _HOUSE_PIECE:
            likelihood = enhancer.enhance_chunk(bytes(rest[:_HOUSE_PIECE]), 0).speech_probability or 0.0
            del rest[:_HOUSE_PIECE]
        return likelihood

    judge(silence(BLIND_MS))
    return judge
