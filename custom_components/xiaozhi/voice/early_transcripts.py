"""Early transcripts: what was said before a pause is transcribed while nobody knows yet whether it is all.

If speech goes on, the transcript is dropped. Else it decides how long the pause may last, and is the
transcript of the turn. A server does not stop working on what is dropped: each call is followed to its end,
and while one runs, or somebody else speaks whose own call would have to wait, no other is made.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine
from dataclasses import replace
import logging
from typing import Any, Final

from homeassistant.components import stt
from homeassistant.core import callback

from ..protocol.audio.detector import SpeechPaused
from ..protocol.audio.timeline import UPLINK_SAMPLE_RATE
from ..protocol.clock import loop_time
from ..protocol.conversation.patience import (
    EndAfter,
    EndOfTurn,
    Judge,
    Patience,
    PatienceAction,
    Transcribe,
    TranscribeAll,
    UseTranscript,
)
from ..timeouts import VoiceTimeouts
from .engine_override import Engine
from .engine_trial import Trial
from .sentences import Completeness
from .speech_detectors import TurnDetector

_LOGGER = logging.getLogger(__name__)

type CreateTask = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
type JudgeText = Callable[[str], Awaitable[Completeness]]

ENDS: Final = {
    Completeness.COMPLETE: EndOfTurn.COMPLETE,
    Completeness.DETAIL_MAY_FOLLOW: EndOfTurn.DETAIL,
    Completeness.MAY_GO_ON: EndOfTurn.PAUSE,
    Completeness.UNKNOWN: EndOfTurn.PAUSE,
    Completeness.BEGINNING: EndOfTurn.BEGINNING,
}
"""What ends a turn, by how complete its transcript is."""
# Audio is given to engines in pieces of a quarter of a second, as they come from a device, only sooner.
_PIECE: Final = UPLINK_SAMPLE_RATE // 2
# An early call may take so many times as long as it usually does.
_SLOW: Final = 3


class EngineCalls:
    """The use of one speech-to-text engine by all devices."""

    def __init__(self, create_task: CreateTask) -> None:
        """Know of no call. Tasks outlive the turns that make them, and end with the gateway."""
        self.create_task = create_task
        self.dropped = 0
        """Early transcripts that were dropped, because speech went on."""
        self._speaking = set[object]()
        self._calls = 0

    @callback
    def speaking(self, turn: object) -> None:
        """Note that somebody speaks, whose words the engine is to transcribe."""
        self._speaking.add(turn)

    @callback
    def understood(self, turn: object) -> None:
        """Note that the engine has nothing more to do for a turn."""
        self._speaking.discard(turn)

    def free_for(self, turn: object) -> bool:
        """Whether a call that may be dropped would make nobody wait."""
        return not self._calls and not self._speaking - {turn}

    async def transcribe(self, engine: Engine, metadata: stt.SpeechMetadata, pcm: bytes) -> stt.SpeechResult:
        """Call an engine, which may raise anything."""
        self._calls += 1
        try:
            return await engine.async_process_audio_stream(replace(metadata), _pieces(pcm))
        finally:
            self._calls -= 1


class EarlyTurn:
    """Early transcripts of one turn, and what follows from them."""

    def __init__(
        self,
        turn: object,
        engine: Engine,
        calls: EngineCalls,
        trial: Trial,
        detector: TurnDetector,
        judge: JudgeText | None,
        timeouts: VoiceTimeouts,
    ) -> None:
        """Listen with a detector that tells of pauses. Without `judge`, all pauses are alike.

        `turn` is what the turn is called in `EngineCalls`.
        """
        self._turn = turn
        self._engine = engine
        self._calls = calls
        self._trial = trial
        self._detector = detector
        self._judge = judge
        self._timeouts = timeouts
        self._patience = Patience()
        self._metadata: stt.SpeechMetadata | None = None
        self._pause: SpeechPaused | None = None
        self._pcm = b""
        self._call: asyncio.Task[None] | None = None
        self._called_in: SpeechPaused | None = None
        self._judging: asyncio.Task[None] | None = None
        self._outcome: asyncio.Future[PatienceAction] = asyncio.get_running_loop().create_future()

    @property
    def ending(self) -> EndOfTurn:
        """What has decided that the turn has ended."""
        return self._patience.ending

    @callback
    def paused(self, pause: SpeechPaused, pcm: bytes) -> None:
        """Transcribe what was said up to a pause, if the engine can do that now."""
        self._pause, self._pcm = pause, pcm
        self._do(self._patience.paused(engine_free=self._engine_free))

    @callback
    def resumed(self) -> None:
        """Drop what is known."""
        self._calls.dropped += self._called_in is not None and self._called_in == self._pause
        self._patience.resumed()

    async def transcribe(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> stt.SpeechResult:
        """Transcribe the turn in the place of the engine, by an early transcript if there is one."""
        self._metadata = metadata
        whole = bytearray()
        async for piece in stream:
            whole += piece
        self._do(self._patience.ended())
        text = await self._early_text()
        if text is not None:
            return stt.SpeechResult(text, stt.SpeechResultState.SUCCESS)
        return await self._calls.transcribe(self._engine, metadata, bytes(whole))

    @callback
    def close(self) -> None:
        """End the turn. The engine may still work on what is dropped."""
        self._patience.ended()
        if self._judging is not None:
            self._judging.cancel()

    @property
    def _engine_free(self) -> bool:
        return self._metadata is not None and self._calls.free_for(self._turn)

    async def _early_text(self) -> str | None:
        """Return the early transcript of the whole turn; None if there is none in time."""
        late = not self._outcome.done()
        self._trial.ended(late=late)
        limit = self._timeouts.early
        if (typical := self._trial.typical_early()) is not None:
            limit = max(limit, _SLOW * typical)
        await asyncio.wait((self._outcome,), timeout=limit)
        self._do(self._patience.late())
        outcome = await self._outcome
        if isinstance(outcome, UseTranscript):
            return outcome.text
        # One call at a time. A server that works on the last one would let this one wait, too.
        if self._call is not None and not self._call.done():
            if late:
                self._trial.failed()
            else:
                await asyncio.wait((self._call,), timeout=limit)
            self._call.cancel()
        return None

    @callback
    def _do(self, action: PatienceAction | None) -> None:
        match action:
            case Transcribe(number) if self._metadata is not None:
                self._called_in = self._pause
                self._call = self._calls.create_task(
                    self._transcribe(number, self._metadata, self._pcm), "early transcript"
                )
            case Judge(number, text):
                self._judging = self._calls.create_task(self._judge_text(number, text), "judge a sentence")
            case EndAfter(seconds) if self._pause is not None:
                self._detector.end_after(self._pause, seconds)
            case UseTranscript() | TranscribeAll():
                self._outcome.set_result(action)

    async def _transcribe(self, number: int, metadata: stt.SpeechMetadata, pcm: bytes) -> None:
        begun = loop_time()
        text: str | None = None
        try:
            async with asyncio.timeout(self._timeouts.recognition):
                result = await self._calls.transcribe(self._engine, metadata, pcm)
        except Exception:
            # Engines may raise anything. The turn goes on as if nobody had asked.
            _LOGGER.debug("An early transcript failed", exc_info=True)
            self._trial.failed()
        else:
            if result.result is stt.SpeechResultState.SUCCESS:
                text = result.text
                self._trial.early(loop_time() - begun)
            else:
                self._trial.failed()
        finally:
            self._do(self._patience.transcribed(number, text, engine_free=self._engine_free))

    async def _judge_text(self, number: int, text: str) -> None:
        if self._judge is not None:
            self._do(self._patience.judged(number, ENDS[await self._judge(text)]))


async def _pieces(pcm: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(pcm), _PIECE):
        yield pcm[start : start + _PIECE]
