"""The end of speech: found by our own detector or by the pipeline, or reported by the button.

Home Assistant's own detector does not hear most words as short as "no", takes half a second longer, and
gives up after 15 s. It serves where ours cannot be loaded.
"""

import asyncio
from collections.abc import Callable
import logging
from typing import Final

from homeassistant.components.assist_pipeline import VadSensitivity
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from ..const import DOMAIN
from ..protocol.audio.detector import (
    DetectorSettings,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    load_detector,
)
from ..protocol.audio.silero import ModelUnavailable
from ..protocol.audio.timeline import UPLINK_SAMPLE_RATE
from ..protocol.conversation.patience import DEFAULT_PAUSES, NOTICED_PAUSE, EndOfTurn

_LOGGER = logging.getLogger(__name__)

_ISSUE: Final = "no_speech_detector"
_BYTES_PER_SECOND: Final = 2 * UPLINK_SAMPLE_RATE
# What the positions of *finished speaking detection* mean.
_SETTINGS: Final = {
    VadSensitivity.AGGRESSIVE: DetectorSettings(silence=0.38),
    VadSensitivity.DEFAULT: DetectorSettings(),
    VadSensitivity.RELAXED: DetectorSettings(silence=1.0),
}
PATIENT: Final = DetectorSettings(silence=DEFAULT_PAUSES[EndOfTurn.PAUSE], pause=NOTICED_PAUSE)
"""For a detector that tells of each pause, so that what was said can decide how long it may last."""
# An answer to a question is no command, and nothing tells whether it is complete.
_ANSWER: Final = DetectorSettings(pause=NOTICED_PAUSE)
# The device hears itself, too, through what its echo cancellation leaves of it.
_INTERRUPTION: Final = DetectorSettings(begin=0.35, maybe_speech=0.6, speech=0.6)
# Detectors that work at the same time. Each takes a thread of Home Assistant's, of which there are few; if
# there were only one, each device would wait for the event loop to come back from all of the others.
_AT_ONCE: Final = 8
# What has waited on a busy computer is taken a second at a time: a thread cannot be cancelled, and other
# devices wait for it.
_MAX_PIECE: Final = _BYTES_PER_SECOND


class SpeechDetectors:
    """The speech detectors of all devices that listen, one for each, outside the event loop."""

    def __init__(self, hass: HomeAssistant, on_unavailable: Callable[[], None]) -> None:
        """Prepare. The library is loaded with the first detector."""
        self.available = True
        """Whether detectors can be used, as far as is known."""
        self._hass = hass
        self._on_unavailable = on_unavailable
        self._working = asyncio.Semaphore(_AT_ONCE)

    async def async_load(self, sensitivity: VadSensitivity = VadSensitivity.DEFAULT) -> TurnDetector | None:
        """Return a detector for one turn; None, with a repair issue, if the library cannot be loaded."""
        return await self._load(_SETTINGS[sensitivity])

    async def async_load_patient(self, *, answers_question: bool) -> TurnDetector | None:
        """Return a detector that tells of each pause; None as `async_load`."""
        return await self._load(_ANSWER if answers_question else PATIENT)

    async def async_load_for_interruption(self) -> TurnDetector | None:
        """Return a detector of speech during an answer; None if the library cannot be loaded."""
        return await self._load(_INTERRUPTION)

    async def _load(self, settings: DetectorSettings) -> TurnDetector | None:
        if not self.available:
            return None
        try:
            detector = await self._hass.async_add_executor_job(load_detector, settings)
        except ModelUnavailable as err:
            self.available = False
            self._on_unavailable()
            _LOGGER.warning("The end of speech is found by Home Assistant, which takes longer: %s", err)
            ir.async_create_issue(
                self._hass,
                DOMAIN,
                _ISSUE,
                is_fixable=False,
                severity=ir.IssueSeverity.WARNING,
                translation_key=_ISSUE,
            )
            return None
        return TurnDetector(self._hass, detector, self._working)

    @callback
    def async_stop(self) -> None:
        """Delete the repair issue."""
        ir.async_delete_issue(self._hass, DOMAIN, _ISSUE)


class TurnDetector:
    """The speech detector of one turn."""

    def __init__(self, hass: HomeAssistant, detector: SpeechDetector, working: asyncio.Semaphore) -> None:
        """Created by `SpeechDetectors.async_load`."""
        self._hass = hass
        self._detector = detector
        self._working = working

    async def hear(self, pcm: bytes) -> list[SpeechEvent]:
        """Take the next audio, and return what was found in it up to the end of speech."""
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
