"""The end of speech: found by our own detector or by the pipeline, or reported by the button.

Home Assistant's own detector does not hear most words as short as "no", takes half a second longer, and
gives up after 15 s. It serves where ours cannot be loaded.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
import logging
from typing import Final, Protocol

from homeassistant.components.assist_pipeline import VadSensitivity
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from ..const import DOMAIN
from ..protocol.audio.detector import (
    DetectorSettings,
    ModelUnavailable,
    SpeechBegan,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
    load_detector,
)
from ..protocol.audio.timeline import UPLINK_SAMPLE_RATE, silence
from ..protocol.conversation.patience import DEFAULT_PAUSES, NOTICED_PAUSE, EndOfTurn
from ..protocol.conversation.turn import Turn

__all__ = ["PATIENT", "ListeningNews", "PauseListener", "SpeechDetectors", "SpokenAudio", "TurnDetector"]

_LOGGER = logging.getLogger(__name__)

_ISSUE: Final = "no_speech_detector"
_BYTES_PER_SECOND: Final = 2 * UPLINK_SAMPLE_RATE
# Seconds after which a detector tells of speech that has begun, with a piece of sound to spare.
_NOTICING: Final = 0.25
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
# Home Assistant's detector gives no valid answer for the first 760 ms of a stream and takes that for silence,
# so that the end of a short command would never be heard. Leading silence costs no time.
_LEAD_MS: Final = 760


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


class PauseListener(Protocol):
    """Follows the pauses of a turn. No method may raise."""

    def paused(self, pause: SpeechPaused, pcm: bytes) -> None:
        """Take what was said up to and with a pause, as PCM."""

    def resumed(self) -> None:
        """Speech goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningNews:
    """Callbacks of `SpokenAudio`. None of them may raise."""

    began: Callable[[], None]
    """Somebody speaks."""
    silent: Callable[[], None]
    """Nobody has spoken in time. The audio does not end, since there is nothing to understand."""
    ended: Callable[[float | None], None]
    """All of the audio is there. Speech ended so many seconds before; None if no detector has found that."""


class SpokenAudio:
    """The audio of a turn on its way from the device to the pipeline.

    With a detector, all of it is held back until somebody speaks, so that speech recognition that costs
    money gets no silence, and the audio ends with the speech. Without a detector it ends with the turn.
    """

    def __init__(
        self,
        turn: Turn,
        detector: TurnDetector | None,
        news: ListeningNews,
        *,
        patience: float,
        pauses: PauseListener | None = None,
    ) -> None:
        """Take the audio of a turn in which speech has to begin within `patience` seconds."""
        self._turn = turn
        self._detector = detector
        self._news = news
        self._pauses = pauses
        self._said = bytearray()
        self._patience_bytes = round((patience + _NOTICING) * _BYTES_PER_SECOND)
        self._held: list[bytes] = []
        self._heard_bytes = 0
        self._speech = detector is None
        self._silent_for: float | None = None
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def listen(self) -> None:
        """Take the audio as it comes, however fast the pipeline takes it."""
        async with aclosing(self._turn.audio()) as audio:
            async for pcm in audio:
                self._hold(pcm)
                if self._detector is not None and self._is_over(await self._detector.hear(pcm)):
                    break
                if not self._speech and self._heard_bytes >= self._patience_bytes:
                    self._news.silent()
                    return
        self._hand_on()
        self._pieces.put_nowait(None)
        self._news.ended(self._silent_for)

    async def for_pipeline(self, *, with_lead: bool) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM, if wished after the silence that Home Assistant's detector needs."""
        if with_lead:
            yield silence(_LEAD_MS)
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def _hold(self, pcm: bytes) -> None:
        self._held.append(pcm)
        self._heard_bytes += len(pcm)
        if self._speech:
            self._hand_on()

    def _hand_on(self) -> None:
        for piece in self._held:
            self._pieces.put_nowait(piece)
            if self._pauses is not None:
                self._said += piece
        self._held.clear()

    def _is_over(self, events: list[SpeechEvent]) -> bool:
        for event in events:
            match event:
                case SpeechBegan():
                    self._speech = True
                    self._hand_on()
                    self._news.began()
                case SpeechPaused() if self._pauses is not None:
                    self._pauses.paused(event, bytes(self._said))
                case SpeechResumed() if self._pauses is not None:
                    self._pauses.resumed()
                case SpeechEnded(at):
                    self._silent_for = max(0.0, self._heard_bytes / _BYTES_PER_SECOND - at)
                    return True
        return False
