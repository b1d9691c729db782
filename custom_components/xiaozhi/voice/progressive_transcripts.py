"""Transcripts in progress, of engines that report them: shown, and checked for being complete.

Such an engine is called once, so nothing is transcribed in vain. If Home Assistant understands what was said
up to a pause, the turn ends at once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from dataclasses import dataclass

from homeassistant.core import callback

from ..protocol.audio.speech_detector import SpeechPaused
from .early_transcripts import CreateTask, IsUnderstood
from .end_of_turn import UNDERSTOOD_PAUSE, EndOfTurn
from .speech_detectors import TurnDetector
from .speech_to_text import Recognizer


@dataclass(eq=False, slots=True)
class ProgressiveTranscripts:
    """The progress of one turn's transcript, and what follows from it."""

    _recognizer: Recognizer
    _detector: TurnDetector
    _is_understood: IsUnderstood | None
    """Without it, only pauses end the turn."""
    _create_task: CreateTask
    show: Callable[[str], Awaitable[None]] | None = None
    """Shows what is understood so far. It may not raise."""
    ending: EndOfTurn = EndOfTurn.PAUSE
    """The reason for which the turn has ended, or will end as far as is known."""
    ended: bool = False
    """Whether the turn has ended."""
    _pause: SpeechPaused | None = None
    _text: str = ""
    _task: asyncio.Task[None] | None = None

    @callback
    def paused(self, pause: SpeechPaused, _: bytes) -> None:
        """Find out whether what was said up to a pause is all."""
        self._pause = pause
        self._consider()

    @callback
    def resumed(self) -> None:
        """Note that speech goes on."""
        self._pause, self.ending = None, EndOfTurn.PAUSE

    async def transcribe(self, stream: AsyncIterable[bytes]) -> str:
        """Return the transcript of the turn."""
        return await self._recognizer.transcribe(self._until_end(stream), self._progressed)

    async def _until_end(self, stream: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        async for piece in stream:
            yield piece
        self.ended = True

    @callback
    def _progressed(self, text: str) -> None:
        self._text = text
        self._consider()

    @callback
    def _consider(self) -> None:
        # One at a time; what comes meanwhile is considered after that.
        if self._text and not self.ended and (self._task is None or self._task.done()):
            self._task = self._create_task(self._follow(), "transcript in progress")

    async def _follow(self) -> None:
        considered = None
        while (now := (self._text, self._pause)) != considered and not self.ended:
            considered = now
            text = await self._recognizer.converted(now[0])
            if self.show is not None:
                await self.show(text)
            await self._end_if_understood(text, now[1])

    async def _end_if_understood(self, text: str, pause: SpeechPaused | None) -> None:
        if pause is None or self._is_understood is None or not await self._is_understood(text):
            return
        if pause == self._pause and not self.ended:
            self.ending = EndOfTurn.UNDERSTOOD
            self._detector.end_after(pause, UNDERSTOOD_PAUSE)
