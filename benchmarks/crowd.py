"""A crowd of simulated devices in a process of its own, so that their work is not counted as the server's.

Run by `fleet.py`. All times are those of the system's monotonic clock, which both processes share.
"""

import asyncio
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count, pairwise
import os
import sys
from typing import Any, Final

from simulator import (
    ConversationError,
    Event,
    Pace,
    SimulatedDevice,
    State,
    UdpWeather,
    converse,
    get_profile,
)
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE

from .commands import serve

__all__ = ["Account", "Crowd"]

# As the demo's person speaks.
_VOICE: Final = "en-us+f2"
_WORDS_PER_MINUTE: Final = 150
# The device itself takes no time, so that what is measured is the server's.
_PACE: Final = Pace(main_loop_delay=0)
_PATIENCE: Final = 60
# A loudspeaker is that late only when it has run dry; an event loop may be by some milliseconds.
_PAUSE_SECONDS: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a device has to tell of a conversation with one answer."""

    heard: str
    """The transcript that it was sent; empty for none."""
    told_to_speak_at: float | None
    """When the message came that makes it ready for the answer."""
    arrivals: list[float]
    """When the packets of the answer came."""
    pauses: int
    """How often the loudspeaker ran dry before the end."""
    lost: int
    """Packets that came too early or found the queue full."""


class Crowd:
    """The devices, and what they are told to do. Each public method is a command."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._devices: list[SimulatedDevice] = []
        self._sounds: dict[str, bytes] = {}
        self._calls: list[tuple[str, float]] = []
        # The same word twice within two seconds counts as one person whom two satellites have heard; another
        # crowd may have said its own just before.
        self._wake_words = map(f"hi box {os.getpid()} {{}}".format, count())

    async def boot(self, url: str, devices: list[dict[str, Any]], weather: dict[str, Any]) -> None:
        """Switch on devices of these MACs and Client-Ids; they come up at the same time."""
        fresh = [
            SimulatedDevice(
                get_profile(),
                url,
                mac=who["mac"],
                client_id=who["client_id"],
                pace=_PACE,
                weather=replace(UdpWeather(**weather), seed=weather.get("seed", 0) + number),
            )
            for number, who in enumerate(devices)
        ]
        self._devices += fresh
        for device in fresh:
            device.listen(partial(self._note, device))
        await asyncio.gather(*(device.boot(_PATIENCE) for device in fresh))
        for device in fresh:
            if device.state is not State.IDLE:
                raise RuntimeError(f"a device does not come up: {device.state} {device.check_in_error}")

    async def converse(self, texts: list[str]) -> list[dict[str, Any]]:
        """Have one device for each text say it, all at once; return their accounts."""
        sounds = [await self._sound(text) for text in texts]
        talks = zip(self._devices, sounds, strict=False)
        return await asyncio.gather(*(self._converse(device, sound) for device, sound in talks))

    async def listen(self, number: int, text: str) -> None:
        """Wake the first devices and have them say a text; returns when the microphones of all are on."""
        sound = await self._sound(text)
        awake = self._devices[:number]
        await asyncio.gather(*(device.wake(self.wake_word()) for device in awake))
        for device in awake:
            device.say(sound)
        await asyncio.gather(*(_listening(device) for device in awake))

    async def hang_up(self) -> None:
        """End the conversations of all that listen."""
        for device in self._devices:
            if device.state is State.LISTENING:
                await device.click()
        await asyncio.gather(*(device.wait_state(State.IDLE, _PATIENCE) for device in self._devices))

    async def calls(self) -> list[tuple[str, float]]:
        """Return which tools were called and when, since the last time."""
        calls, self._calls = self._calls, []
        return calls

    def wake_word(self) -> str:
        """Return a word that was not said before."""
        return next(self._wake_words)

    async def power_off(self) -> None:
        """Switch all off and forget them."""
        devices, self._devices = self._devices, []
        await asyncio.gather(*(device.power_off() for device in devices))

    async def _sound(self, text: str) -> bytes:
        if text not in self._sounds:
            self._sounds[text], _ = await asyncio.to_thread(
                synthesize, text, voice=_VOICE, speed=_WORDS_PER_MINUTE, sample_rate=UPLINK_RATE
            )
        return self._sounds[text]

    def _note(self, device: SimulatedDevice, event: Event) -> None:
        if event.kind == "tool":
            self._calls.append((event.data["name"], _monotonic(device, event)))

    async def _converse(self, device: SimulatedDevice, sound: bytes) -> dict[str, Any]:
        word = self.wake_word()
        speaker = device.speaker
        first_event, first_frame = len(device.transcript), len(speaker.played)
        first_answer = len(speaker.answers)
        lost = _lost(device)
        heard: list[str] = []
        try:
            heard = (await converse(device, sound, word=word, timeout=_PATIENCE)).heard
        except ConversationError as err:
            sys.stderr.write(f"{device.mac}: {err}\n")
        starts = [
            _monotonic(device, event)
            for event in device.transcript[first_event:]
            if event.kind == "received" and event.data["message"].get("state") == "start"
        ]
        frames = speaker.played[first_frame:]
        pauses = sum(
            later.time - earlier.time > len(earlier.pcm) / 2 / speaker.rate + _PAUSE_SECONDS
            for earlier, later in pairwise(frames)
        )
        return asdict(
            Account(
                heard=" ".join(heard),
                told_to_speak_at=starts[0] if starts else None,
                arrivals=[time for answer in speaker.answers[first_answer:] for time in answer],
                pauses=pauses,
                lost=_lost(device) - lost,
            )
        )


async def _listening(device: SimulatedDevice) -> None:
    await device.wait_for(lambda: device.listening, _PATIENCE)


def _monotonic(device: SimulatedDevice, event: Event) -> float:
    return event.time - device.seconds_at(0)


def _lost(device: SimulatedDevice) -> int:
    speaker = device.speaker
    return speaker.dropped + speaker.ignored + speaker.flushed


if __name__ == "__main__":
    asyncio.run(serve(Crowd()))
