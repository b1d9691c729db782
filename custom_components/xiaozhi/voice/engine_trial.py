"""Which speech-to-text engines gain from an early transcript: a table of known ones, else a trial."""

from collections import deque
from enum import StrEnum
from statistics import median
from typing import Any, Final

from homeassistant.components import stt

from .end_of_turn import FIXED_PAUSE, NOTICED_PAUSE


class EngineKind(StrEnum):
    """What is known of an engine."""

    GAINS = "gains"
    """It begins to work when all audio is there, so an early call saves its time."""
    WHILE_LISTENING = "transcribes while it listens"
    """It is done soon after the last word. A call of its own would have to begin at the first."""
    BILLED = "billed"
    """Each call costs money, also one that is dropped."""
    UNKNOWN = "unknown"


# Integration, a part of the engine's name, and what is known of it; the first line that fits counts.
_KNOWN: Final = (
    ("wyoming", "vosk", EngineKind.WHILE_LISTENING),
    ("wyoming", "speech-to-phrase", EngineKind.WHILE_LISTENING),
    ("wyoming", "rhasspy-speech", EngineKind.WHILE_LISTENING),
    ("wyoming", "whisper", EngineKind.GAINS),
    ("wyoming", "onnx-asr", EngineKind.GAINS),
    ("wyoming", "parakeet", EngineKind.GAINS),
    ("cloud", "", EngineKind.WHILE_LISTENING),
    ("google_cloud", "", EngineKind.WHILE_LISTENING),
    ("elevenlabs", "", EngineKind.BILLED),
    ("google_generative_ai_conversation", "", EngineKind.BILLED),
    ("openai_conversation", "", EngineKind.BILLED),
)
# Turns of a trial: with and without early transcripts.
_HALF_TRIAL: Final = 5
# Seconds that must be gained for more calls to be worth it.
_LEAST_GAIN: Final = 0.1
# Early calls in a row that failed, after which no more are made.
_FAILURES: Final = 3
# So many of the last turns had to wait for their early transcript: it may be slower than a plain one.
_LATE: Final = 5
_REMEMBERED: Final = 10


def kind_of(engine: stt.SpeechToTextEntity | stt.Provider) -> EngineKind:
    """Return what is known of an engine."""
    if not engine.audio_processing.requires_external_vad:
        return EngineKind.WHILE_LISTENING
    integration = engine.name if isinstance(engine, stt.Provider) else engine.platform.platform_name
    name = str(engine.name or "").casefold().replace(" ", "-")
    for platform, part, kind in _KNOWN:
        if platform == integration and part in name:
            return kind
    return EngineKind.UNKNOWN


class Trial:
    """What one device has measured of one engine, and whether it transcribes early."""

    def __init__(self, kind: EngineKind) -> None:
        """Begin with what is known of the engine."""
        self.kind = kind
        self._plain = deque[float](maxlen=_REMEMBERED)
        self._early = deque[float](maxlen=_REMEMBERED)
        self._late = deque[bool](maxlen=_REMEMBERED)
        self._failures = 0
        self._compares = kind is EngineKind.UNKNOWN
        self._gains: bool | None = None

    def transcribes_early(self, *, chosen_by_owner: bool) -> bool:
        """Whether the next turn does; from an engine that is billed only if the owner `chosen_by_owner`."""
        if self._failures >= _FAILURES or self.kind is EngineKind.WHILE_LISTENING:
            return False
        if self.kind is EngineKind.BILLED:
            return chosen_by_owner
        if self._gains is not None:
            return self._gains
        return not self._compares or len(self._plain) >= _HALF_TRIAL

    def plain(self, seconds: float) -> None:
        """Note the time from the end of the audio to the transcript of a turn without early transcripts."""
        self._plain.append(seconds)
        self._decide()

    def early(self, seconds: float) -> None:
        """Note how long an early call took."""
        self._failures = 0
        self._early.append(seconds)
        self._decide()

    def failed(self) -> None:
        """Note that an early call failed, or took too long."""
        self._failures += 1

    def ended(self, *, late: bool) -> None:
        """Note whether the end of a turn had to wait for the early transcript."""
        self._late.append(late)
        if self._gains is None and sum(self._late) >= _LATE:
            self._compares = True

    def typical_early(self) -> float | None:
        """Return the usual seconds of an early call; None if there was none."""
        return median(self._early) if self._early else None

    def describe(self) -> dict[str, Any]:
        """Return what was found out, for diagnostics."""
        return {
            "engine": self.kind.value,
            "gains": self._gains,
            "failed_in_a_row": self._failures,
            "late": sum(self._late),
            "early_seconds": [round(seconds, 3) for seconds in self._early],
            "plain_seconds": [round(seconds, 3) for seconds in self._plain],
        }

    def _decide(self) -> None:
        if self._compares and min(len(self._plain), len(self._early)) >= _HALF_TRIAL:
            early = NOTICED_PAUSE + median(self._early) + _LEAST_GAIN
            self._gains = early <= FIXED_PAUSE + median(self._plain)
            self._compares = False
