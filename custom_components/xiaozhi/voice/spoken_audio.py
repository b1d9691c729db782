"""The audio of a turn on its way from the device to the pipeline."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from ..protocol.audio.speech_detector import (
    SpeechBegan,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
)
from ..protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE, silence
from ..protocol.conversation.turn_audio import TurnAudio
from .speech_detectors import BLIND_MS
from .speech_input import SpeechInput

_BYTES_PER_SECOND: Final = 2 * UPLINK_SAMPLE_RATE
# Seconds after which a detector reports speech that has begun, with a piece of sound to spare.
_NOTICING: Final = 0.3
# Longest silence before speech for speech recognition: a program listens for minutes.
_MAX_HELD_BYTES: Final = 9 * _BYTES_PER_SECOND


class SpokenAudio:
    """The audio of a turn on its way from the device to the pipeline.

    With a detector, it is held back until somebody speaks, so that speech recognition gets neither costly
    silence nor noise that it takes for words. The audio ends with the speech, or with the turn.
    """

    def __init__(
        self,
        audio: TurnAudio,
        speech_input: SpeechInput,
        patience: float,
        hurries: Callable[[], bool],
        *,
        is_patient: bool,
    ) -> None:
        """Take the audio of a turn in which speech has to begin within `patience` seconds, or at once.

        If nobody speaks, the audio does not end: speech recognition would make words of a noise.
        """
        self.audio = audio
        self.input = speech_input
        self.patience = patience
        self.is_patient = is_patient
        self._hurries = hurries
        self._detector = speech_input.detector
        self._early = speech_input.early
        self._said = bytearray()
        self._patience_bytes = (patience + _NOTICING) * _BYTES_PER_SECOND
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._heard_bytes = 0
        self.begun = asyncio.Event()
        """Set when somebody speaks, or if that is not detected."""
        if self._detector is None:
            self.begun.set()
        self.silent_for: float | None = None
        """Seconds of silence after the last word, if that is known."""
        self._paused_at = 0.0
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def listen(self) -> bool:
        """Take the audio as it comes, however fast the pipeline takes it; return whether anybody spoke."""
        async with aclosing(self.audio.audio()) as audio:
            async for pcm in audio:
                self._hold(pcm)
                if self._detector is not None and self._is_over(await self._detector.hear(pcm)):
                    break
                if not self.begun.is_set() and self._is_given_up():
                    break
        if self.begun.is_set():
            self._pieces.put_nowait(None)
        return self.begun.is_set()

    async def for_pipeline(self) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM, perhaps after the silence that Home Assistant's detector needs."""
        if self.input.pipeline_silence is not None:
            yield silence(BLIND_MS)
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def _is_given_up(self) -> bool:
        return self._hurries() or self._heard_bytes >= self._patience_bytes

    def _hold(self, pcm: bytes) -> None:
        self._held.append(pcm)
        self._held_bytes += len(pcm)
        self._heard_bytes += len(pcm)
        if self.begun.is_set():
            self._hand_on()
        while self.is_patient and self._held_bytes > _MAX_HELD_BYTES:
            self._held_bytes -= len(self._held.popleft())

    def _hand_on(self) -> None:
        for piece in self._held:
            self._pieces.put_nowait(piece)
            if self._early is not None:
                self._said += piece
        self._held.clear()
        self._held_bytes = 0

    def _is_over(self, events: list[SpeechEvent]) -> bool:
        for event in events:
            if self.audio.trace is not None:
                at = getattr(event, "at", None)
                known = {} if at is None else {"at": round(1000 * at)}
                self.audio.trace.note("speech", event=type(event).__name__, **known)
            match event:
                case SpeechBegan():
                    self.begun.set()
                    self._hand_on()
                    self.input.began()
                case SpeechPaused(at) if self._early is not None:
                    self._paused_at = at
                    self._early.paused(event, bytes(self._said))
                case SpeechResumed(at) if self._early is not None:
                    self.input.longest_pause = max(self.input.longest_pause, at - self._paused_at)
                    self._early.resumed()
                case SpeechEnded(at):
                    self.silent_for = max(0.0, self._heard_bytes / _BYTES_PER_SECOND - at)
                    return True
        return False
