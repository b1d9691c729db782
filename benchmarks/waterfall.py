"""What a turn takes with real engines, beside a satellite of Home Assistant's own with the same engines.

In ms from the last word of recordings, with Whisper and Piper, until the assistant, which answers at once,
has the transcript, and until the first sound of the answer is at the device; "of its time" is the
transcript's median beside that of Home Assistant's satellite.
"""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from homeassistant.components.assist_pipeline.vad import VadSensitivity

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import DeviceGroup
from .fleet import linked
from .house import House
from .real_speech import know_orders, real_speech
from .recordings import CUT_SECONDS, read_recordings
from .report import Row, spread
from .turn import choose_end
from .wyoming_satellite import wyoming_satellite

_THEIRS: Final = "Home Assistant's `wyoming`"
# Who takes a turn, by which choice of *End of speech*, and whether the home understands what was said.
_WAYS: Final = {
    "this integration, by what was said: a command": ("quick_and_patient", True),
    "this integration, by what was said: anything": ("quick_and_patient", False),
    "this integration, fixed pause": (VadSensitivity.DEFAULT.value, False),
    _THEIRS: (None, False),
}


class _Times(NamedTuple):
    """One turn, in ms from the last word."""

    transcript: float
    sound: float


async def measure(house: House, *, quick: bool, recordings: Path, every: int = 1) -> list[Row]:
    """Say each so-many-th recording once in each way, one after the other, so that all have the same load."""
    found: dict[str, list[_Times]] = {way: [] for way in _WAYS}
    people = (await asyncio.to_thread(read_recordings, recordings))[::every]
    async with (
        real_speech(house, small=quick),
        linked(house, 1, LinkKind.MQTT) as (site, devices),
        wyoming_satellite(house.hass) as satellite,
    ):

        async def ours(pcm: bytes, end: float) -> tuple[float | None, float | None]:
            account = await devices.do(DeviceGroup.say_recording, pcm, end)
            return account.stopped_at, next(iter(account.arrivals), None)

        for person in people:
            for way, (choice, known) in _WAYS.items():
                await know_orders(house.hass, known)
                if choice is not None:
                    await choose_end(site, choice)
                say = satellite.converse if way == _THEIRS else ours
                if (times := await _turn(house, say(*person.played()))) is not None:
                    found[way].append(times)
    theirs_median = median([turn.transcript for turn in found[_THEIRS]] or [0])
    return [_row(way, turns, len(people), theirs_median) for way, turns in found.items()]


async def _turn(house: House, said: Awaitable[tuple[float | None, float | None]]) -> _Times | None:
    """Take a turn; None if it was cut off or failed."""
    asked = house.engines.asked_at
    before = len(asked)
    stopped, heard = await said
    if stopped is None or heard is None or len(asked) == before or asked[before] < stopped - CUT_SECONDS:
        return None
    return _Times(1000 * (asked[before] - stopped), 1000 * (heard - stopped))


def _row(way: str, turns: list[_Times], count: int, theirs: float) -> Row:
    row: Row = {"voice satellite": way, "turns": count, "not cut off": len(turns)}
    row |= spread(_Times._fields, turns, 90)
    row["of its time"] = (
        round(median(turn.transcript for turn in turns) / theirs, 2) if turns and theirs else None
    )
    return row
