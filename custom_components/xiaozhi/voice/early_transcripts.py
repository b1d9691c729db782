"""Early transcripts: speech is transcribed at a pause, before it is known whether it goes on.

If it goes on, the transcript is dropped. Otherwise it is the transcript of the turn, which ends at once if
Home Assistant understands it. A server goes on with dropped calls: each is followed to its end, and no other
is made while one runs, or while somebody else speaks whose call would have to wait. An engine that reports
its progress is called only once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
import logging
from typing import TYPE_CHECKING, Final, override

from homeassistant.core import callback

from ..protocol.audio.speech_detector import SpeechPaused
from ..protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE
from ..timeouts import VoiceTimeouts
from .end_of_turn import UNDERSTOOD_PAUSE, EndOfTurn
from .speech_detectors import TurnDetector
from .speech_to_text import Recognizer

if TYPE_CHECKING:
    from .speech_input import SpeechInput

_LOGGER = logging.getLogger(__name__)

# Early calls of one turn. With the last one, which is needed in any case, these are three.
_MOST_CALLS: Final = 2
# Audio is given to engines in pieces of a quarter of a second, as they come from a device, only sooner.
_PIECE: Final = UPLINK_SAMPLE_RATE // 2


class EngineCalls:
    """The use of one speech-to-text engine by all devices."""

    def __init__(self) -> None:
        self.speaking = set[object]()
        """Turns in which somebody speaks to this engine."""
        self._calls = 0

    def free_for(self, turn: object) -> bool:
        """Whether an early call would make nobody wait."""
        return not self._calls and not self.speaking - {turn}

    async def transcribe(self, recognizer: Recognizer, pcm: bytes) -> str:
        """Call the engine, which may raise anything."""
        self._calls += 1
        try:
            return await recognizer.transcribe(_pieces(pcm))
        finally:
            self._calls -= 1


class _Transcripts:
    """The transcripts of one turn up to now, which may be complete."""

    def __init__(self, speech_input: SpeechInput, recognizer: Recognizer, detector: TurnDetector) -> None:
        """`detector` reports the pauses."""
        self._input = speech_input
        self._recognizer = recognizer
        self._detector = detector
        self.ending = EndOfTurn.PAUSE
        """The reason for the end of the turn, or for the one that is likely."""
        self.ended = False
        """Whether the turn has ended. The engine may still work on dropped calls."""
        self._pause: SpeechPaused | None = None
        self._text = ""

    @callback
    def resumed(self) -> None:
        """Note that speech goes on."""
        self._pause, self.ending = None, EndOfTurn.PAUSE

    async def _end_if_understood(self, text: str, pause: SpeechPaused | None) -> None:
        """End the turn soon if the transcript up to a pause is a whole command."""
        if not text or pause is None or not await self._input.is_whole_command(text):
            return
        if pause == self._pause and not self.ended:
            self.ending = EndOfTurn.UNDERSTOOD
            self._detector.end_after(pause, UNDERSTOOD_PAUSE)


class EarlyTranscripts(_Transcripts):
    """The early transcripts of one turn."""

    def __init__(self, speech_input: SpeechInput, recognizer: Recognizer, detector: TurnDetector) -> None:
        super().__init__(speech_input, recognizer, detector)
        self._calls = speech_input.calls
        self._pcm = b""
        """Sound up to the present pause."""
        self._call: asyncio.Task[None] | None = None
        self._calls_left = _MOST_CALLS

    @callback
    def paused(self, pause: SpeechPaused, pcm: bytes) -> None:
        """Transcribe the sound up to a pause, if the engine is free."""
        self._pause, self._pcm, self._text = pause, pcm, ""
        self._begin_call()

    @callback
    @override
    def resumed(self) -> None:
        """Drop the transcript: speech goes on."""
        super().resumed()
        self._text = ""

    async def transcribe(self, stream: AsyncIterable[bytes]) -> str:
        """Return the transcript of the turn: an early one if there is one."""
        whole = bytearray()
        async for piece in stream:
            whole += piece
        self.ended = True
        if (call := self._call) is not None:
            # One call at a time, also if this one was dropped: the engine would let the next one wait.
            await asyncio.wait((call,), timeout=VoiceTimeouts.early)
            call.cancel()
        return self._text or await self._calls.transcribe(self._recognizer, bytes(whole))

    @callback
    def _begin_call(self) -> None:
        if (
            self.ended
            or self._pause is None
            or (self._call is not None and not self._call.done())
            or not self._calls_left
            or not self._calls.free_for(self._input)
        ):
            return
        self._calls_left -= 1
        work = self._transcribe_early(self._pause, self._pcm)
        self._call = self._input.device.create_task(work, "early transcript")

    async def _transcribe_early(self, pause: SpeechPaused, pcm: bytes) -> None:
        try:
            text = await self._try_call(pcm)
        finally:
            self._call = None
        if pause != self._pause:
            # The engine has only now finished a dropped call.
            self._begin_call()
            return
        self._text = text
        if not self.ended:
            await self._end_if_understood(text, pause)

    async def _try_call(self, pcm: bytes) -> str:
        try:
            async with asyncio.timeout(VoiceTimeouts.recognition):
                return await self._calls.transcribe(self._recognizer, pcm)
        except Exception:
            # Engines may raise anything. The turn goes on as if nobody had asked.
            _LOGGER.debug("An early transcript failed", exc_info=True)
            return ""


class ProgressiveTranscripts(_Transcripts):
    """The transcript of one turn by an engine that reports its progress."""

    show: Callable[[str], Awaitable[None]] | None = None
    """Shows the text so far. It must not raise."""
    _task: asyncio.Task[None] | None = None
    _shown = ""

    @callback
    def paused(self, pause: SpeechPaused, _: bytes) -> None:
        """Find out whether the text up to a pause is complete."""
        self._pause = pause
        self._consider()

    async def transcribe(self, stream: AsyncIterable[bytes]) -> str:
        """Return the transcript of the turn."""
        return await self._recognizer.transcribe(self._until_end(stream), self._progressed)

    async def _until_end(self, stream: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        try:
            async for piece in stream:
                yield piece
        finally:
            # Also if the turn is broken off.
            self.ended = True

    @callback
    def _progressed(self, text: str) -> None:
        self._text = text
        self._consider()

    @callback
    def _consider(self) -> None:
        # One at a time; later reports are considered after that.
        if self._text and not self.ended and (self._task is None or self._task.done()):
            self._task = self._input.device.create_task(self._follow(), "transcript in progress")

    async def _follow(self) -> None:
        considered = None
        while (now := (self._text, self._pause)) != considered and not self.ended:
            considered = now
            text = await self._recognizer.converted(now[0])
            if self.show is not None and text != self._shown and not self.ended:
                self._shown = text
                await self.show(text)
            await self._end_if_understood(text, now[1])


async def _pieces(pcm: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(pcm), _PIECE):
        yield pcm[start : start + _PIECE]
