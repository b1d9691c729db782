"""What is understood of recordings through a device, beside the same files given to Whisper itself.

Of how many recordings there is a transcript, the same one as without a device, one with all names that the
labels hold, and one that is a command for this home; and of sounds that are no command.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
import json
from pathlib import Path
import re
import sys
from typing import Final

from homeassistant.components.assist_pipeline import async_get_pipelines
import numpy as np

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice.understood_commands import UnderstoodCommands
from simulator.audio.opus import UPLINK_RATE

from .devices import DeviceGroup
from .fleet import linked
from .house import House
from .real_speech import know_orders, real_speech
from .recordings import Recording, Samples, read_recordings, read_sound, to_pcm
from .report import Row

# That listen at the same time: to commands, which speech recognition takes one after the other, and to what
# does not reach it.
_DEVICES: Final = 3
_DEVICES_FOR_CLIPS: Final = 10
_QUICK_CLIPS: Final = 3
_CLIPS: Final = 100
_CLIP_SECONDS: Final = 3
# A transcript says the same with these.
_SAME: Final = {"8": "eight", "12": "twelve", "16": "sixteen", "20": "twenty", "oz": "ounce", "iced": "ice"}
_AMOUNT: Final = re.compile(r"^(a lot of|lots of|a bit of|a little bit of|some) ")


# Links, and the percentage of packets that are lost.
_WAYS: Final = {
    "websocket": (LinkKind.WEBSOCKET, 0),
    "mqtt": (LinkKind.MQTT, 0),
    "mqtt, 5 % lost": (LinkKind.MQTT, 5),
}


async def measure(
    house: House,
    *,
    quick: bool,
    recordings: Path,
    every: int = 1,
    labels: Path | None = None,
) -> list[Row]:
    """Play each so-many-th recording to a device; with `labels`, only those that it describes."""
    people = (await asyncio.to_thread(read_recordings, recordings))[::every]
    names = await asyncio.to_thread(_read_labels, labels) if labels else {}
    if names:
        people = [person for person in people if Path(person.name).stem in names]
    needed = [names.get(Path(person.name).stem) for person in people]
    clips = await asyncio.to_thread(_no_commands, recordings, people, _QUICK_CLIPS if quick else _CLIPS)
    async with real_speech(house, small=quick) as hear:
        direct = [await hear(to_pcm(person.samples)) for person in people]
        rows = [await _row(house, "speech recognition itself", direct, direct, needed)]
        for way in ["mqtt"] if quick else _WAYS:
            heard = await _play(house, way, [person.whole() for person in people], _DEVICES)
            rows.append(await _row(house, way, heard, direct, needed))
            _show_differences(heard, direct)
        await know_orders(house.hass, True)
        heard = await _play(house, "mqtt", clips, _DEVICES_FOR_CLIPS)
        rows.append(await _row(house, "mqtt, no commands", heard, [], []))
    return rows


async def _play(house: House, way: str, sounds: list[bytes], at_once: int) -> list[str]:
    """Return what is understood of each sound; an empty text for nothing."""
    link, loss = _WAYS[way]
    async with linked(house, min(at_once, len(sounds)), link, loss=loss) as (_, devices):
        return await devices.do(DeviceGroup.play, sounds)


async def _row(
    house: House, way: str, heard: Sequence[str], direct: Sequence[str], needed: Sequence[list[str] | None]
) -> Row:
    commands, pipeline = UnderstoodCommands(house.hass), async_get_pipelines(house.hass)[0]
    known = replace(pipeline, prefer_local_intents=True)
    understood = [await commands.async_is_understood(text, known, None) for text in heard]
    right = [
        all(f" {_plain(name)} " in f" {_plain(text)} " for name in names)
        for text, names in zip(heard, needed, strict=False)
        if names is not None
    ]
    same = [_plain(text) == _plain(own) for text, own in zip(heard, direct, strict=False)]
    return {
        "heard by": way,
        "sounds": len(heard),
        "transcripts": sum(map(bool, heard)),
        "same": sum(same) if same else None,
        "all names": sum(right) if right else None,
        "commands": sum(understood),
    }


def _show_differences(heard: Sequence[str], direct: Sequence[str]) -> None:
    for text, own in zip(heard, direct, strict=True):
        if _plain(text) != _plain(own):
            sys.stderr.write(f"{own!r} became {text!r}\n")


def _plain(text: str) -> str:
    words = re.findall(r"[a-z0-9']+", text.casefold())
    return " ".join(_SAME.get(word, word) for word in words)


def _read_labels(file: Path) -> dict[str, list[str]]:
    """Return the names in each recording: what it asks for, but not how much of it."""
    labels: dict[str, dict[str, dict[str, str]]] = json.loads(file.read_text())
    return {
        Path(name).stem: [_AMOUNT.sub("", slot.strip()) for slot in label["slots"].values()]
        for name, label in labels.items()
    }


def _no_commands(folder: Path, people: Sequence[Recording], count: int) -> list[bytes]:
    """Return silence, noises and half words, the same ones each time."""
    noise = next((read_sound(file) for file in sorted(folder.glob("*noise*"))), np.zeros(UPLINK_RATE))
    chance = np.random.default_rng(17)
    size = _CLIP_SECONDS * UPLINK_RATE

    def clip(number: int) -> Samples:
        room = chance.normal(0, chance.choice([1, 10, 100]), size)
        begin, length = UPLINK_RATE, round(chance.uniform(0.05, 0.2) * UPLINK_RATE)
        if number % 5 == 1:
            room[begin : begin + length] += (
                8000 * chance.normal(0, 1, length) * np.geomspace(1, 0.001, length)
            )
        elif number % 5 == 2:
            room += np.resize(np.roll(noise, -chance.integers(len(noise))), size)
        elif number % 5 > 2:
            person = people[number % len(people)]
            first = round(person.bounds.start * UPLINK_RATE)
            word = person.samples[first : first + length]
            room[begin : begin + len(word)] += word
        return room

    return [to_pcm(clip(number)) for number in range(count)]
