"""What a turn takes with real engines, beside a satellite of Home Assistant's own with the same engines."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
import tempfile
from typing import Final, NamedTuple

from homeassistant.components.assist_pipeline.vad import VadSensitivity

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .fleet import fleet
from .house import House
from .real_speech import know_orders, real_speech
from .recordings import CUT_SECONDS, Sound, read_recordings, write_sounds
from .report import Finding, Row, median, percentile
from .turn import choose_end
from .wyoming_satellite import wyoming_satellite

_CLAIM: Final = (
    "ms from the last word of recordings, with Whisper and Piper, until the assistant, which answers at once,"
    " has the transcript, and until the first sound of the answer is at the device; 'of its time' is the"
    " transcript's median beside that of Home Assistant's satellite"
)


class _Way(NamedTuple):
    """Who takes a turn, and what the home understands."""

    satellite: str
    end: str | None
    """Choice of *End of speech*; None for Home Assistant's satellite."""
    known: bool = False


_WAYS: Final = (
    _Way("this integration, by what was said: a command", "quick_and_patient", known=True),
    _Way("this integration, by what was said: anything", "quick_and_patient"),
    _Way("this integration, fixed pause", VadSensitivity.DEFAULT.value),
    _Way("Home Assistant's `wyoming`", None),
)


class _Times(NamedTuple):
    """One turn, in ms from the last word."""

    transcript: float
    sound: float


async def measure(
    house: House, *, quick: bool = False, recordings: Path | None = None, every: int = 1
) -> Finding:
    """Say each so-many-th recording once in each way, one after the other, so that all have the same load."""
    if recordings is None:
        raise ValueError("waterfall needs --recordings")
    found: dict[_Way, list[_Times]] = {way: [] for way in _WAYS}
    with tempfile.TemporaryDirectory(prefix="xiaozhi-speech-") as name:
        folder = Path(name)
        people = (await asyncio.to_thread(read_recordings, recordings))[::every]
        sounds = await asyncio.to_thread(write_sounds, people, folder)
        async with (
            real_speech(house, folder, small=quick),
            fleet() as devices,
            house.site(1, LinkKind.MQTT) as site,
            wyoming_satellite(house.hass) as satellite,
        ):
            await devices.boot(house.check_in_url, site.devices)

            async def ours(sound: Sound) -> tuple[float | None, float | None]:
                account = await devices.say_recording(sound.file, sound.end)
                return account.stopped_at, next(iter(account.arrivals), None)

            async def theirs(sound: Sound) -> tuple[float | None, float | None]:
                return await satellite.converse(await asyncio.to_thread(sound.file.read_bytes), sound.end)

            for sound in sounds:
                for way in _WAYS:
                    await know_orders(house.hass, way.known)
                    if way.end is not None:
                        await choose_end(site, way.end)
                    times = await _turn(house, theirs if way.end is None else ours, sound)
                    if times is not None:
                        found[way].append(times)
            await devices.power_off()
    theirs_median = median([turn.transcript for turn in found[_WAYS[-1]]])
    return Finding(
        benchmark="waterfall",
        claim=_CLAIM,
        rows=[_row(way, turns, len(sounds), theirs_median) for way, turns in found.items()],
    )


async def _turn(
    house: House, say: Callable[[Sound], Awaitable[tuple[float | None, float | None]]], sound: Sound
) -> _Times | None:
    """Take a turn; None if it was cut off or failed."""
    asked = house.agent.asked_at
    before = len(asked)
    stopped, heard = await say(sound)
    if stopped is None or heard is None or len(asked) == before or asked[before] < stopped - CUT_SECONDS:
        return None
    return _Times(1000 * (asked[before] - stopped), 1000 * (heard - stopped))


def _row(way: _Way, turns: list[_Times], count: int, theirs: float | None) -> Row:
    row: Row = {"voice satellite": way.satellite, "turns": count, "not cut off": len(turns)}
    for step in _Times._fields:
        times = [getattr(turn, step) for turn in turns]
        for suffix, value in (("median", median(times)), ("p90", percentile(times, 90))):
            row[f"{step} {suffix}"] = None if value is None else round(value)
    ours = median([turn.transcript for turn in turns])
    row["of its time"] = round(ours / theirs, 2) if ours and theirs else None
    return row
