"""Many simulated devices, which `fleet.py` runs in a process of their own.

All times are those of the system's monotonic clock, which both processes share.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise
import os
import sys
from typing import ClassVar, Final

import numpy as np

from simulator import (
    ConversationError,
    Pace,
    SimulatedDevice,
    State,
    UdpImpairment,
    converse,
    get_profile,
)
from simulator.audio.espeak import synthesize
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE, encode_sound

from .recordings import to_pcm

# The voice of the demo.
_VOICE: Final = "en-us+f2"
_WORDS_PER_MINUTE: Final = 150
# The devices cause no delay, so that only the server's is measured.
_PACE: Final = Pace(main_loop_delay=0)
_PATIENCE: Final = 60
_STATUS_TOOL: Final = "self.get_device_status"
# Of 32767: 1 % of the loudest.
_AUDIBLE: Final = 300
# The standard deviation of its samples.
_QUIET_ROOM: Final = 5
# A frame that is later than this means that the loudspeaker ran dry; an event loop is late by milliseconds.
_PAUSE_SECONDS: Final = 0.03
_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
# Packets last 60 ms.
_LATE: Final = 0.065
# After all was played; more than an overloaded server may be late.
_GIVE_UP: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDevice:
    """Identity of a paired device."""

    mac: str
    client_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A device's measurements of a conversation with one answer."""

    heard: str
    """The transcript that it was sent; empty for none."""
    stopped_at: float | None
    """End of the last word that was said to it."""
    ready_at: float | None
    """When it ran the tool whose answer proves that it speaks, after it was told to."""
    arrivals: list[float]
    """Arrival times of the answer's packets."""
    pauses: int
    """How often the loudspeaker ran dry before the end."""
    lost: int
    """Packets that came too early or found the queue full."""

    @property
    def intervals(self) -> list[float]:
        """Seconds between the packets of the answer."""
        return [later - earlier for earlier, later in pairwise(self.arrivals)]

    @property
    def late(self) -> list[tuple[float, float]]:
        """Packets that were late: when the one before arrived, and when they did."""
        return [(earlier, later) for earlier, later in pairwise(self.arrivals) if later - earlier > _LATE]


class DeviceGroup:
    """Simulated devices."""

    profile: ClassVar = get_profile()
    """Their board and firmware."""

    def __init__(self) -> None:
        """Start without devices."""
        self._devices: list[SimulatedDevice] = []
        self._sounds: dict[str, bytes] = {}
        # Home Assistant takes the same wake word within two seconds for one user whom two satellites heard,
        # even if one of them belongs to another process.
        self._wake_words = map(f"hi box {os.getpid()} {{}}".format, count())

    async def boot(self, url: str, devices: list[PairedDevice], loss: float = 0) -> None:
        """Switch on devices, which lose so many per cent of their packets, all at the same time."""
        fresh = [
            SimulatedDevice(
                self.profile,
                url,
                mac=who.mac,
                client_id=who.client_id,
                pace=_PACE,
                impairment=UdpImpairment(loss=loss, seed=number),
            )
            for number, who in enumerate(devices)
        ]
        self._devices += fresh
        await asyncio.gather(*(device.boot(_PATIENCE) for device in fresh))
        for device in fresh:
            if device.state is not State.IDLE:
                raise RuntimeError(f"a device does not come up: {device.state} {device.check_in_error}")

    async def converse(self, texts: list[str], later: float = 0) -> list[Account]:
        """Wake a device for each text and say it, all at once.

        The voices begin so many seconds later than the microphones: words end anywhere in a packet.
        """
        before = bytes(2 * round(later * UPLINK_RATE))
        sounds = [before + await self._sound(text) for text in texts]
        talks = zip(self._devices, sounds, strict=False)
        return await asyncio.gather(*(self._converse(device, sound) for device, sound in talks))

    async def say_recording(self, sound: bytes, end: float) -> Account:
        """Play 16 kHz mono PCM of 16 bits, whose speech ends after so many seconds, to the first device."""
        return await self._converse(self._devices[0], sound, end)

    async def listen(self, number: int, text: str, speaking: int) -> None:
        """Wake the first devices, of which some are said a text and the others are in a quiet room.

        Returns when all microphones are on. All hear the same packets, which are encoded once.
        """
        speech = await self._sound(text)
        quiet = np.random.default_rng(5).normal(0, _QUIET_ROOM, len(speech) // 2)
        said, unsaid = await asyncio.gather(
            asyncio.to_thread(_packets, speech), asyncio.to_thread(_packets, to_pcm(quiet))
        )
        awake = self._devices[:number]
        for turn, device in enumerate(awake):
            device.play_packets([said if turn < speaking else unsaid])
        await asyncio.gather(*(device.wake(self.wake_word()) for device in awake))
        await asyncio.gather(*(_listening(device) for device in awake))

    async def play(self, sounds: list[bytes]) -> list[str]:
        """Play each sound, PCM as above, to a device, until its transcript comes; all devices listen at once.

        Returns the transcripts that the devices are sent; empty for none.
        """
        waiting = deque(enumerate(sounds))
        heard: dict[int, str] = {}

        async def listen(device: SimulatedDevice) -> None:
            while waiting:
                number, sound = waiting.popleft()
                heard[number] = await self._play(device, sound)

        await asyncio.gather(*(listen(device) for device in self._devices))
        return [heard[number] for number in range(len(sounds))]

    async def hang_up(self) -> int:
        """End the conversations of all listening devices; return how many these are."""
        listening = [device for device in self._devices if device.state is State.LISTENING]
        for device in listening:
            await device.click()
        await asyncio.gather(*(device.wait_state(State.IDLE, _PATIENCE) for device in self._devices))
        return len(listening)

    def wake_word(self) -> str:
        """Return a wake word that was not used before."""
        return next(self._wake_words)

    async def power_off(self) -> None:
        """Switch all devices off and remove them."""
        devices, self._devices = self._devices, []
        await asyncio.gather(*(device.power_off() for device in devices))

    async def _sound(self, text: str) -> bytes:
        if text not in self._sounds:
            self._sounds[text], _ = await asyncio.to_thread(
                synthesize, text, voice=_VOICE, speed=_WORDS_PER_MINUTE, sample_rate=UPLINK_RATE
            )
        return self._sounds[text]

    async def _play(self, device: SimulatedDevice, sound: bytes) -> str:
        first = len(device.transcript)

        def transcripts() -> list[str]:
            messages = [event.data.get("message", {}) for event in device.transcript[first:]]
            return [message["text"] for message in messages if message.get("type") == "stt"]

        def ended() -> bool:
            states = [event.data.get("state") for event in device.transcript[first:] if event.kind == "state"]
            return State.LISTENING in states and states[-1] == State.IDLE

        await device.wake(self.wake_word())
        device.say(sound)
        try:
            patience = len(sound) / 2 / UPLINK_RATE + _GIVE_UP
            await device.wait_for(lambda: bool(transcripts()) or ended(), patience)
        except TimeoutError:
            sys.stderr.write(f"{device.mac}: nothing was understood\n")
        if device.state is not State.IDLE:
            await device.click()
        await device.wait_state(State.IDLE, _PATIENCE)
        return next(iter(transcripts()), "")

    async def _converse(self, device: SimulatedDevice, sound: bytes, end: float | None = None) -> Account:
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
        events = device.transcript[first_event:]

        def first(kind: str, since: float | None = 0, **data: str) -> float | None:
            """Return the monotonic time of the first such event."""
            times = (
                event.time - device.seconds_at(0)
                for event in events
                if event.kind == kind and data.items() <= event.data.get("message", event.data).items()
            )
            return next((time for time in times if since is not None and time >= since), None)

        begun, ordered = first("speaking begins"), first("received", state="start")
        if end is None:
            end = _speech_seconds(sound)
        frames = speaker.played[first_frame:]
        pauses = sum(
            later.time - earlier.time > len(earlier.pcm) / 2 / speaker.rate + _PAUSE_SECONDS
            for earlier, later in pairwise(frames)
        )
        return Account(
            heard=" ".join(heard),
            stopped_at=None if begun is None else begun - _FRAME_SECONDS + end,
            ready_at=first("tool", ordered, name=_STATUS_TOOL),
            arrivals=[time for answer in speaker.answers[first_answer:] for time in answer],
            pauses=pauses,
            lost=_lost(device) - lost,
        )


class NewDevices(DeviceGroup):
    """Devices whose firmware can speak while they are idle."""

    profile = get_profile(version="2.5.0")


@cache
def _packets(pcm: bytes) -> list[tuple[float, bytes]]:
    """Return the packets of 16 kHz mono PCM of 16 bits, with their seconds."""
    return [(number * _FRAME_SECONDS, packet) for number, packet in enumerate(encode_sound(pcm), 1)]


async def _listening(device: SimulatedDevice) -> None:
    await device.wait_for(lambda: device.listening, _PATIENCE)


def _speech_seconds(sound: bytes) -> float:
    """Return when the last word of 16-bit PCM ends."""
    samples = memoryview(sound).cast("h")
    return max(index for index, sample in enumerate(samples) if abs(sample) >= _AUDIBLE) / UPLINK_RATE


def _lost(device: SimulatedDevice) -> int:
    speaker = device.speaker
    return speaker.dropped + speaker.ignored + speaker.flushed
