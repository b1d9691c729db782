"""Where speech begins and ends: the state machine by itself, and with the real model on real Opus."""

from pathlib import Path
from statistics import mean
import subprocess
import sys

import pytest

from custom_components.xiaozhi.protocol.audio import silero
from custom_components.xiaozhi.protocol.audio.opus_codec import OpusDecoder
from custom_components.xiaozhi.protocol.audio.speech_detector import (
    CHUNK_SECONDS,
    STEP_SECONDS,
    DetectorSettings,
    SpeechBegan,
    SpeechBounds,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
    load_detector,
)
from custom_components.xiaozhi.protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE, silence
from simulator.audio.espeak import synthesize
from simulator.audio.opus import encode_sound

from .sounds import hiss, tone

SPEECH, SILENCE = 0.9, 0.02
VOICE, HUSH = 8000, 20
# How the last word of a sentence fades away.
FADING = (0.16, SPEECH, VOICE // 3)
STEPS = round(CHUNK_SECONDS / STEP_SECONDS)


def judged(
    settings: DetectorSettings | SpeechBounds, *stretches: tuple[float, float] | tuple[float, float, int]
) -> list[SpeechEvent]:
    """Return the events of stretches of (seconds, likelihood of speech, loudest sample).

    Unless it is given, the loudness is that of a voice or of a quiet room, as the likelihood is.
    """
    bounds = settings if isinstance(settings, SpeechBounds) else SpeechBounds(settings)
    events: list[SpeechEvent | None] = []
    for seconds, likelihood, *loudness in stretches:
        peak = loudness[0] if loudness else VOICE if likelihood >= 0.5 else HUSH
        for _ in range(round(seconds / CHUNK_SECONDS)):
            events += [bounds.step(peak) for _ in range(STEPS - 1)]
            events.append(bounds.step(peak, likelihood))
    return [event for event in events if event is not None]


def silence_that_ends(*end: tuple[float, float, int]) -> float:
    """Return how many seconds of the last stretch end speech, on average over where in a packet it begins."""

    def seconds(spoken: float) -> float:
        *before, (_, likelihood, peak) = (spoken, SPEECH, VOICE), *end
        return next(
            chunks * CHUNK_SECONDS
            for chunks in range(1, 100)
            if len(judged(DetectorSettings(), *before, (chunks * CHUNK_SECONDS, likelihood, peak))) == 2
        )

    return mean(seconds(1 + CHUNK_SECONDS * chunks) for chunks in range(15))


def through_opus(pcm: bytes) -> bytes:
    """Return PCM as it arrives from a device."""
    decoder = OpusDecoder(60)
    return b"".join(map(decoder.decode, encode_sound(pcm)))


def spoken(text: str, voice: str = "en-us") -> bytes:
    return synthesize(text, voice=voice, sample_rate=UPLINK_SAMPLE_RATE)[0]


def heard(pcm: bytes, settings: DetectorSettings | None = None, piece: int = 3200) -> list[SpeechEvent]:
    detector = load_detector(settings or DetectorSettings())
    return [
        event for start in range(0, len(pcm), piece) for event in detector.hear(pcm[start : start + piece])
    ]


@pytest.mark.parametrize("seconds", [0.4, 0.6, 1.0])
def test_speech_ends_when_the_silence_has_been_long_enough(seconds: float) -> None:
    settings = DetectorSettings(silence=seconds)
    words = (0.64, SILENCE), (1.44, SPEECH), FADING
    began, ended = judged(settings, *words, (seconds + 0.15, SILENCE))
    assert isinstance(began, SpeechBegan)
    assert isinstance(ended, SpeechEnded)
    assert began.at == pytest.approx(0.64, abs=0.05)
    assert ended.at == pytest.approx(2.24, abs=0.05)
    assert len(judged(settings, *words, (seconds - 0.1, SILENCE))) == 1


@pytest.mark.parametrize(
    ("spoken", "pause", "ends"), [(1.0, 0.73, False), (4.0, 0.79, True), (1.0, 0.86, True)]
)
def test_who_has_said_little_has_more_time_to_think(spoken: float, pause: float, ends: bool) -> None:
    found = judged(DetectorSettings(), (spoken, SPEECH), (pause, SILENCE))
    assert any(isinstance(event, SpeechEnded) for event in found) is ends


def test_a_voice_that_breaks_off_has_more_time_than_one_that_fades_away() -> None:
    """At the end of a sentence the voice fades; in the middle of one it stops at once."""
    broken_off = silence_that_ends((2, SILENCE, HUSH))
    faded = silence_that_ends(FADING, (2, SILENCE, HUSH))
    long_faded = silence_that_ends((0.5, SPEECH, VOICE // 3), (2, SILENCE, HUSH))
    assert faded == pytest.approx(broken_off - 0.84 * 0.16, abs=0.02)
    assert long_faded == pytest.approx(broken_off - 0.84 * 0.23, abs=0.02)


@pytest.mark.parametrize("seconds", [0.064, 0.16, 0.19])
def test_a_click_or_half_a_word_is_no_speech(seconds: float) -> None:
    assert judged(DetectorSettings(), *[(seconds, SPEECH), (0.3, SILENCE)] * 10) == []


def test_half_a_word_is_speech_where_a_single_word_is_expected() -> None:
    began, _ = judged(DetectorSettings(begin=0.15), (0.16, SPEECH), (1, SILENCE))
    assert isinstance(began, SpeechBegan)


def test_noises_do_not_keep_speech_from_ending() -> None:
    clatter = [(0.2, SILENCE), (0.032, SPEECH)] * 10
    began, ended = judged(DetectorSettings(), (1.0, SPEECH), *clatter)
    assert isinstance(began, SpeechBegan)
    assert ended == SpeechEnded(pytest.approx(1.0, abs=0.05))


def test_speech_does_not_end_while_the_next_word_may_have_begun() -> None:
    began, ended = judged(DetectorSettings(), (1.0, SPEECH), (1.0, 0.4), (0.096, SILENCE))
    assert isinstance(began, SpeechBegan)
    assert ended == SpeechEnded(pytest.approx(1.0, abs=0.05))
    assert len(judged(DetectorSettings(), (1.0, SPEECH), (0.6, SILENCE), (0.1, 0.4), (0.5, SPEECH))) == 1


def test_silence_counts_from_the_end_of_the_sound_not_of_the_likelihood() -> None:
    quiet = silence_that_ends((2, SILENCE, HUSH))
    assert silence_that_ends((0.096, SPEECH, HUSH), (2, SILENCE, HUSH)) == pytest.approx(
        quiet - 0.096, abs=0.02
    )


def test_in_noise_the_model_alone_tells_when_the_sound_ended() -> None:
    """And it tells so a little late."""
    quiet = silence_that_ends((2, SILENCE, HUSH))
    assert silence_that_ends((2, SILENCE, VOICE // 4)) == pytest.approx(quiet - 0.048, abs=0.02)


def test_speech_does_not_end_while_something_uncertain_begins() -> None:

    def events(chunks: int, peak: int) -> int:
        pause = (chunks * CHUNK_SECONDS, SILENCE)
        return len(judged(DetectorSettings(), (1.6, SPEECH), pause, (CHUNK_SECONDS, 0.15, peak)))

    enough = next(chunks for chunks in range(50) if events(chunks, HUSH) == 2)
    assert events(enough, VOICE) == 1


def test_one_bang_does_not_make_the_voice_after_it_too_quiet() -> None:
    found = judged(DetectorSettings(), (0.32, SPEECH, 500), (0.064, SPEECH, 32000), (3, SPEECH, 500))
    assert [type(event) for event in found] == [SpeechBegan]


@pytest.mark.parametrize(
    ("word", "voice"), [("yes", "en-us"), ("no", "en-us+f2"), ("stop", "en-gb-scotland"), ("on", "en-us+m7")]
)
def test_a_short_word_is_heard_and_ends(word: str, voice: str) -> None:
    pcm = through_opus(silence(400) + spoken(word, voice) + silence(1500))
    assert [type(event) for event in heard(pcm)] == [SpeechBegan, SpeechEnded]


def test_the_size_of_the_pieces_changes_nothing() -> None:
    pcm = through_opus(silence(400) + spoken("turn on the kitchen light") + silence(1500))
    whole = heard(pcm, piece=len(pcm))
    assert len(whole) == 2
    assert heard(pcm, piece=1) == heard(pcm, piece=1921) == whole


def test_what_is_no_speech_is_not_taken_for_it() -> None:
    for pcm in (silence(3000), tone(3, UPLINK_SAMPLE_RATE), hiss(3, UPLINK_SAMPLE_RATE)):
        assert heard(through_opus(pcm)) == []


def test_the_model_sleeps_through_silence_only() -> None:
    judged_by_model: list[bytes] = []

    def model(chunk: bytes) -> float:
        judged_by_model.append(chunk)
        return SPEECH if any(chunk) else SILENCE

    detector = SpeechDetector(DetectorSettings(), model)
    assert detector.hear(silence(3200)) == []
    assert judged_by_model == []
    events = detector.hear(tone(1.6, UPLINK_SAMPLE_RATE)) + detector.hear(silence(1600))
    assert [type(event) for event in events] == [SpeechBegan, SpeechEnded]
    assert sum(any(chunk) for chunk in judged_by_model) == 50
    assert 0 < sum(not any(chunk) for chunk in judged_by_model) < 10


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell its threads")
def test_the_model_starts_no_threads_of_its_own() -> None:
    """Four threads that share a fraction of a millisecond of work mostly wait for each other.

    In a process of its own, whose library has run no model before. Only that module is loaded, since the
    whole package needs Home Assistant, which takes seconds to load.
    """
    program = """
import os, runpy, sys
silero = runpy.run_path(sys.argv[1])
judge = silero["load_model"]()
before = len(os.listdir("/proc/self/task"))
judge(os.urandom(2 * silero["MODEL_SAMPLES"]))
print(len(os.listdir("/proc/self/task")) - before)
"""
    command = [sys.executable, "-c", program, silero.__file__]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"0\n"


class TestPauses:
    """A pause that is told of, and how long it may last by order."""

    PATIENT = DetectorSettings(silence=0.8, pause=0.2)

    def paused(self, bounds: SpeechBounds) -> SpeechPaused:
        *_, pause = judged(bounds, (1.6, SPEECH), (0.32, SILENCE))
        assert isinstance(pause, SpeechPaused)
        return pause

    def test_a_pause_is_told_of_once_and_ends_speech_as_set(self) -> None:
        began, pause, ended = judged(self.PATIENT, (1.6, SPEECH), (1.2, SILENCE))
        assert isinstance(began, SpeechBegan)
        assert pause == SpeechPaused(pytest.approx(1.6, abs=0.05))
        assert ended == SpeechEnded(pytest.approx(1.6, abs=0.05))

    def test_a_pause_that_is_over_is_told_of(self) -> None:
        stretches = [(1.0, SPEECH), (0.4, SILENCE)] * 3
        kinds = [type(event) for event in judged(self.PATIENT, *stretches)]
        assert kinds == [SpeechBegan, *[SpeechPaused, SpeechResumed] * 2, SpeechPaused]

    @pytest.mark.parametrize("order", [0.0, 0.2, 0.6, 1.2])
    def test_speech_ends_when_the_pause_has_lasted_as_long_as_ordered(self, order: float) -> None:
        bounds = SpeechBounds(self.PATIENT)
        bounds.end_after(self.paused(bounds), order)
        assert judged(bounds, (max(0, order - 0.48), SILENCE)) == []
        (ended,) = judged(bounds, (0.48, SILENCE))
        assert ended == SpeechEnded(pytest.approx(1.6, abs=0.05))

    def test_an_order_for_a_pause_that_is_over_does_nothing(self) -> None:
        bounds = SpeechBounds(self.PATIENT)
        old = self.paused(bounds)
        resumed, pause = judged(bounds, (0.5, SPEECH), (0.32, SILENCE))
        assert resumed == SpeechResumed(pytest.approx(1.92, abs=0.05))
        assert isinstance(pause, SpeechPaused)
        bounds.end_after(old, 0.2)
        assert judged(bounds, (0.3, SILENCE)) == []
        (ended,) = judged(bounds, (0.5, SILENCE))
        assert isinstance(ended, SpeechEnded)

    def test_an_order_ends_nothing_while_the_next_word_begins(self) -> None:
        bounds = SpeechBounds(self.PATIENT)
        bounds.end_after(self.paused(bounds), 0.2)
        assert [type(event) for event in judged(bounds, (0.5, SPEECH))] == [SpeechResumed]

    def test_the_next_speech_is_not_ended_by_the_order_for_the_last(self) -> None:
        bounds = SpeechBounds(self.PATIENT)
        bounds.end_after(self.paused(bounds), 0.2)
        judged(bounds, (0.5, SILENCE))
        kinds = [type(event) for event in judged(bounds, (1, SPEECH), (0.4, SILENCE))]
        assert kinds == [SpeechBegan, SpeechPaused]

    def test_the_real_detector_follows_orders(self) -> None:
        detector = load_detector(self.PATIENT)
        detector.hear(through_opus(spoken("turn on the kitchen light")))
        pause: SpeechEvent | None = None
        for _ in range(10):
            for event in detector.hear(silence(60)):
                pause = event
            if pause is not None:
                break
        assert isinstance(pause, SpeechPaused)
        detector.end_after(pause, 0.2)
        assert detector.hear(silence(60)) == [SpeechEnded(pause.at)]
