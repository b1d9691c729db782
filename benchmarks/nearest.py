"""Which of several devices answers, in simulated houses, by the product's decision.

The beginning of a recording is the wake word. Devices differ in distance, sensitivity and noise,
there may be a wall, and they begin to listen when they do. Counts the houses in which the nearest device
answers, and no other; in which another one does, or several (of two people who press a button each, both are
to be answered, and else one of them is let go).
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np

from custom_components.xiaozhi.protocol.audio.loudness import Loudness, levels
from custom_components.xiaozhi.protocol.audio.opus_codec import OpusDecoder
from custom_components.xiaozhi.voice.wake_word_arbitration import WakeWordArbitration
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE, OpusEncoder

from .house import House
from .recordings import Recording, Samples, read_recordings, read_sound
from .report import Row

# Seconds of noise, of the wake word with a pause, and of what follows. What is sent begins before the word.
_BEFORE: Final = 1.5
_WAKE_WORD: Final = 0.8
_PAUSE: Final = (0.2, 0.8)
_AFTER: Final = 4.0
_SPOKEN: Final = _BEFORE + _WAKE_WORD
_SENT: Final = 1.98
# Until the microphone gives sound.
_WARM_UP: Final = 0.12
_FRAME: Final = FRAME_SAMPLES / UPLINK_RATE
_COMPARISONS: Final = 0.25
# From the end of what somebody says until it is understood.
_UNDERSTOOD: Final = (0.6, 1.2)

type _Chance = np.random.Generator
# A sound, and when what is said in it ends.
type _Spoken = tuple[Samples, float]


async def measure(_house: House, *, quick: bool, recordings: Path, every: int = 1) -> list[Row]:
    """Try every so-many-th of 100 houses. Raises `ValueError` if there are no recordings."""
    people = await asyncio.to_thread(read_recordings, recordings)
    kitchen = recordings / "kitchen-noise.flac"
    noises = {"steady noise": np.random.default_rng(0).normal(size=10 * UPLINK_RATE)}
    if kitchen.exists():
        noises["a kitchen"] = read_sound(kitchen)
    houses = range(0, 100, 50 if quick else every)
    rows: list[Row] = []
    for (name, hear, word, right), (where, noise) in product(
        (
            ("the wake word is reported", _one_person, "hi", [0]),
            ("the wake word is not reported", _one_person, None, [0]),
            ("two people, two buttons", _two_people, None, [0, 1]),
        ),
        noises.items(),
    ):
        answering = []
        for number in houses:
            chance = np.random.default_rng(number)
            said = [people[(2 * number + other) % len(people)] for other in (0, 1)]
            answering.append(await _answering([*hear(said, noise, chance)], chance, word))
        found, several = answering.count(right), sum(len(who) > len(right) for who in answering)
        another = len(houses) - found - several
        counts = {"houses": len(houses), "right": found, "another": another, "several": several}
        rows.append({"": name, "noise": where, **counts})
    return rows


async def _answering(spoken: list[_Spoken], chance: _Chance, word: str | None) -> list[int]:
    """Return which devices answer, by their number, of those that hear this."""
    heard = [sound for sound, _ in spoken]
    arbitration = WakeWordArbitration()
    arriving: list[tuple[float, int, bytes | None]] = []
    lost = [asyncio.get_running_loop().create_future() for _ in heard]
    loudness = [Loudness(deque(), 60) for _ in heard]
    begins = _SPOKEN + chance.uniform(0, 0.5, len(heard))
    for device in np.argsort(begins):
        for sent in _packets(heard[device], _SPOKEN - _SENT, _SPOKEN) if word else ():
            loudness[device].wake_word += levels(sent)
        silent = word is None
        arbitration.claim(str(device), word, begins[device], loudness[device], lost[device], silent=silent)
        first = begins[device] + _WARM_UP
        packets = _packets(heard[device], first, _SPOKEN + _AFTER)
        arriving += [(first + place * _FRAME, device, packet) for place, packet in enumerate(packets, 1)]
    # In place of a packet, None: what was said is understood.
    understood = [end for _, end in spoken] + chance.uniform(*_UNDERSTOOD, len(heard))
    arriving += [(now, device, None) for device, now in enumerate(understood)]
    compared = max(begins) + _COMPARISONS
    for now, device, packet in sorted(arriving, key=itemgetter(0)):
        while compared <= now:
            arbitration.compare(compared)
            compared += _COMPARISONS
        if packet is not None:
            loudness[device].heard(packet, now)
        elif not lost[device].done():
            arbitration.answer(str(device), now)
    return [device for device, future in enumerate(lost) if not future.done()]


def _one_person(said: list[Recording], noise: Samples, chance: _Chance) -> Iterator[_Spoken]:
    """Yield what two to four devices hear, the nearest first: the others are half as far again, at least."""
    speech, end = _speech(said[0], chance)
    nearest = chance.uniform(0.5, 2)
    noise = _part(noise, chance)
    quiet = chance.uniform(-30, -8)
    echoes = chance.uniform(0.25, 0.7), chance.uniform(0.6, 1.2)
    for number in range(chance.integers(2, 5)):
        distance = nearest * (chance.uniform(1.5, 5) if number else 1)
        wall = chance.uniform(-15, -6) if number and chance.random() < 0.5 else 0
        sound = _in_room(speech, distance, echoes, chance, direct=not wall) * _gain(wall)
        yield _recorded(sound + noise * _gain(quiet + chance.uniform(-2, 2)), chance), end


def _two_people(said: list[Recording], noise: Samples, chance: _Chance) -> Iterator[_Spoken]:
    """Yield what two devices hear: each its own user, and the other one 12 to 30 dB quieter."""
    noise = _part(noise, chance) * _gain(chance.uniform(-30, -8))
    echoes = chance.uniform(0.25, 0.7), chance.uniform(0.6, 1.2)
    voices: list[_Spoken] = []
    for recording in said:
        speech, end = _speech(recording, chance)
        voices.append((_in_room(speech, 0.8, echoes, chance), end))
    for (one, end), (other, _) in (voices, voices[::-1]):
        yield _recorded(one + other * _gain(chance.uniform(-30, -12)) + noise, chance), end


def _speech(said: Recording, chance: _Chance) -> _Spoken:
    """Return a recording with silence around it and after its wake word, always as long and as loud."""
    speech = _cut(said.samples, said.bounds.start, said.bounds.end)
    word, rest = np.split(speech / np.sqrt(np.mean(speech**2)), [round(_WAKE_WORD * UPLINK_RATE)])
    pause = chance.uniform(*_PAUSE)
    before, between, after = (np.zeros(round(time * UPLINK_RATE)) for time in (_BEFORE, pause, _AFTER))
    sound = np.concatenate([before, word, between, rest, after])
    return _cut(sound, 0, _SPOKEN + _AFTER), _SPOKEN + pause + len(rest) / UPLINK_RATE


def _part(noise: Samples, chance: _Chance) -> Samples:
    start = chance.uniform(0, len(noise) / UPLINK_RATE - _SPOKEN - _AFTER - 1)
    return _cut(noise, start, start + _SPOKEN + _AFTER) / np.sqrt(np.mean(noise**2))


def _cut(sound: Samples, first: float, last: float) -> Samples:
    start = round(first * UPLINK_RATE)
    return sound[start : start + round((last - first) * UPLINK_RATE)]


def _in_room(
    sound: Samples, distance: float, echoes: tuple[float, float], chance: _Chance, *, direct: bool = True
) -> Samples:
    """Return a sound at a distance in metres: when that doubles, it loses 6 dB, its echoes 3 (Schultz 1985).

    Echoes take so many seconds to fade by 60 dB, and are as loud as the sound at so many metres.
    """
    seconds, as_loud_at = echoes
    times = np.arange(round(seconds * UPLINK_RATE)) / UPLINK_RATE
    response = chance.standard_normal(len(times)) * 10 ** (-3 * times / seconds)
    response /= np.sqrt(np.sum(response**2) * distance * as_loud_at)
    response[0] = direct / distance
    size = 2 * len(sound)
    heard: Samples = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(response, size), size)[: len(sound)]
    return heard


def _recorded(sound: Samples, chance: _Chance) -> Samples:
    """Return what a microphone makes of a sound: its own noise, and a sensitivity that differs by 18 dB."""
    own: Samples = chance.standard_normal(len(sound)) * _gain(-45)
    return (sound + own) * 1200 * _gain(chance.uniform(-9, 9))


def _gain(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _packets(heard: Samples, first: float, last: float) -> list[bytes]:
    """Return the PCM of each packet between two moments, as it arrives."""
    encoder, decoder = OpusEncoder(), OpusDecoder(60)
    sound = np.clip(_cut(heard, first, last), -32768, 32767).astype("<i2")
    whole = sound[: len(sound) // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)
    return [decoder.decode(encoder.encode(frame.tobytes())) for frame in whole]
