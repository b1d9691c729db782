"""Devices that talk, lose power and network, change firmware and misbehave."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
import random
from time import monotonic
from typing import Final

from benchmarks.devices import DeviceGroup, PairedDevice
from simulator import DeviceCrashed, Misbehaviour, Pace, SimulatedDevice, State, get_profile

HOUR: Final = {"talk": 6, "lose power": 1, "lose network": 1, "restart": 1, "change tools": 1, "misbehave": 2}
"""The events of one device in a simulated hour; their order is random."""

# Pauses without activity are shortened.
_PACE: Final = Pace(main_loop_delay=0, waits=0.1)
_BOARDS: Final = ("s3", "rover")
_TEXT: Final = "is the light on"
_PATIENCE: Final = 60
_MISBEHAVIOUR_SECONDS: Final = 6
# Left out: a thousand tools fill the registry, and a missed keep-alive takes minutes.
_LEFT_OUT: Final = {Misbehaviour.THOUSAND_TOOLS, Misbehaviour.NEVER_PING}


class SoakDevices(DeviceGroup):
    """Devices that are used at random."""

    def __init__(self) -> None:
        """Start without devices."""
        super().__init__()
        self._url = ""
        self.counts = Counter[str]()
        self.turns = Counter[str]()
        """Undisturbed turns by their result."""

    async def switch_on(self, url: str, devices: list[PairedDevice]) -> None:
        """Make devices, and switch them on."""
        self._url = url
        self._devices = [
            SimulatedDevice(get_profile(), url, mac=who.mac, client_id=who.client_id, pace=_PACE)
            for who in devices
        ]
        await self.ask_all()

    async def run(self, seconds: float, seed: int) -> tuple[Counter[str], Counter[str]]:
        """Use the devices for this many seconds; return what happened, and the results of all other turns."""
        self.counts.clear()
        self.turns.clear()
        end = monotonic() + seconds
        sound = await self._sound(_TEXT)
        uses = (
            _DeviceUse(self, number, random.Random(f"{seed} {number}"), sound).run(end)
            for number in range(len(self._devices))
        )
        await asyncio.gather(*uses)
        return self.counts, self.turns

    async def ask_all(self) -> dict[str, str]:
        """Switch all on, and ask each something; return the results by MAC."""
        sound = await self._sound(_TEXT)
        devices = self._devices
        results = await asyncio.gather(*(self._recover(device, sound) for device in devices))
        return {device.mac: result for device, result in zip(devices, results, strict=True)}

    async def switch_off(self) -> None:
        """Switch all devices off; they can be switched on again."""
        await asyncio.gather(*(device.power_off() for device in self._devices))

    async def _recover(self, device: SimulatedDevice, sound: bytes) -> str:
        try:
            await up(device)
        except (TimeoutError, DeviceCrashed) as err:
            return f"does not come up: {err!r} {device.check_in_error}"
        return await self.ask(device, sound)

    async def ask(self, device: SimulatedDevice, sound: bytes) -> str:
        """Ask a device something; return the result."""
        account = await self._converse(device, sound)
        self.counts["packets"] += len(account.arrivals)
        self.counts["late packets"] += len(account.late)
        self.counts["pauses heard"] += account.pauses
        if account.arrivals:
            return "answered"
        return "understood, but not answered" if account.heard else "not understood"

    def device(self, number: int) -> SimulatedDevice:
        """Return a device as it is now."""
        return self._devices[number]

    async def rebuild(self, number: int, board: str) -> None:
        """Give a device the firmware of another board, with other tools. Its settings in flash stay."""
        old = self._devices[number]
        await old.power_off()
        self._devices[number] = SimulatedDevice(
            get_profile(board), self._url, mac=old.mac, client_id=old.client_id, nvs=old.nvs, pace=_PACE
        )


class _DeviceUse:
    """The random use of one device."""

    def __init__(self, devices: SoakDevices, number: int, chance: random.Random, sound: bytes) -> None:
        self._devices = devices
        self._number = number
        self._chance = chance
        self._sound = sound
        self._actions: dict[str, Callable[[], Awaitable[None]]] = {
            "talk": self._talk,
            "lose power": lambda: self._interrupted(self._device.lose_power),
            "lose network": lambda: self._interrupted(self._lose_network),
            # Its connections end.
            "restart": lambda: self._interrupted(self._device.power_off),
            "change tools": self._change_tools,
            "misbehave": self._misbehave,
        }

    @property
    def _device(self) -> SimulatedDevice:
        return self._devices.device(self._number)

    async def run(self, end: float) -> None:
        """Run until the monotonic time `end`; the current event is finished."""
        while True:
            hour = [name for name, times in HOUR.items() for _ in range(times)]
            self._chance.shuffle(hour)
            for name in hour:
                if monotonic() > end:
                    return
                try:
                    await self._actions[name]()
                except (TimeoutError, DeviceCrashed) as err:
                    self._devices.counts[f"failed to {name}: {type(err).__name__} {err}".strip()] += 1
                    await self._device.power_off()
                self._devices.counts[name] += 1

    async def _talk(self) -> None:
        await up(self._device)
        self._devices.turns[await self._devices.ask(self._device, self._sound)] += 1

    async def _interrupted(self, cut: Callable[[], Awaitable[None]]) -> None:
        """Cut a conversation off at a random moment."""
        await up(self._device)
        await self._start_talking()
        await asyncio.sleep(self._chance.uniform(0, 3))
        await cut()
        await up(self._device)
        self._devices.counts["drops survived"] += 1

    async def _lose_network(self) -> None:
        """Lose the Wi-Fi for a moment, noticed or not."""
        lose = self._chance.choice((self._device.lose_network, self._device.cut_network))
        lose()
        await asyncio.sleep(self._chance.uniform(0, 2))
        self._device.restore_network()

    async def _change_tools(self) -> None:
        await self._devices.rebuild(self._number, self._chance.choice(_BOARDS))
        await up(self._device)

    async def _misbehave(self) -> None:
        device = self._device
        await device.power_off()
        device.misbehaviours.add(self._chance.choice([one for one in Misbehaviour if one not in _LEFT_OUT]))
        try:
            # A misbehaving device may fail.
            with suppress(TimeoutError, DeviceCrashed):
                async with asyncio.timeout(_MISBEHAVIOUR_SECONDS):
                    await device.boot()
                    await self._start_talking()
                    await device.wait_state(State.SPEAKING)
        finally:
            await device.power_off()
            device.misbehaviours.clear()
        await up(device)

    async def _start_talking(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_MISBEHAVIOUR_SECONDS):
                await self._device.wake(self._devices.wake_word())
        self._device.say(self._sound)


async def up(device: SimulatedDevice) -> None:
    """Switch a device on if it is off, and wait until it is idle, and connected where it stays so.

    Raises `TimeoutError` and `DeviceCrashed`.
    """
    if device.state is State.UNKNOWN:
        await device.boot(_PATIENCE)
    async with asyncio.timeout(_PATIENCE):
        while not (device.state is State.IDLE and (device.link != "mqtt" or device.connected)):
            if device.state is State.LISTENING:
                # The user gives up.
                await device.click()
            await asyncio.sleep(0.1)
