"""What devices and attackers do in a soak, and what it leaves behind."""

import asyncio
from collections import Counter
import logging
import random
from typing import Final

from homeassistant.exceptions import HomeAssistantError
from yarl import URL

from benchmarks.fleet import Fleet, fleet
from benchmarks.house import House, Site
from benchmarks.report import Row, table
from benchmarks.speech import after
from custom_components.xiaozhi.const import CONF_MQTT_PORT, CONF_UDP_PORT, CONF_WEBSOCKET_PORT

from .attackers import Attackers, Ports
from .devices import HOUR, SoakDevices
from .watch import Errors, look, settle

_SECONDS_OF_LISTENING: Final = 0.8
_ATTACKERS: Final = 4
_WARM_UP: Final = 0.25
_OWNER_SECONDS: Final = 0.5
# Caches of Home Assistant and arenas of the interpreter always grow for a while.
_ALLOWED_GROWTH_KIB: Final = 32 * 1024
_ALLOWED_KIB_PER_HOUR: Final = 256
_ANSWERED: Final = "answered"


class SoakError(Exception):
    """The soak failed; the text lists why."""


async def measure(
    house: House, *, quick: bool, minutes: float = 5, seed: int | None = None, devices: int = 6
) -> list[Row]:
    """Run devices and attackers. Raises `SoakError` for any failure."""
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    if quick:
        minutes, devices = 0.25, 2
    print(f"soak: seed {seed}, {devices} devices, {minutes:g} minutes", flush=True)
    house.engines.recognize = after(_SECONDS_OF_LISTENING, "is the light on")
    errors = Errors()
    async with (
        fleet(SoakDevices) as group,
        fleet(Attackers) as attackers,
        house.site(devices, None) as site,
    ):
        start = look()
        logging.getLogger().addHandler(errors)
        try:
            await group.do(SoakDevices.switch_on, house.check_in_url, site.devices)
            soak = _Soak(house, site, group, attackers, seed)
            await soak.run(60 * minutes * _WARM_UP)
            await group.do(SoakDevices.switch_off)
            warm = await settle(start)
            (counts, turns), attacks = await soak.run(60 * minutes * (1 - _WARM_UP))
            back = await group.do(SoakDevices.ask_all)
            await group.do(SoakDevices.switch_off)
            end = await settle(warm)
        finally:
            logging.getLogger().removeHandler(errors)
    hours = sum(counts[name] for name in HOUR) / sum(HOUR.values())
    growth = end.memory_kib - warm.memory_kib
    faults = [
        *(f"left behind: {what}" for what in end.left_since(warm)),
        *(f"{mac} is not back: {outcome}" for mac, outcome in back.items() if outcome != _ANSWERED),
        *(f"logged: {text}" for text in errors.texts),
    ]
    if growth > _ALLOWED_GROWTH_KIB + _ALLOWED_KIB_PER_HOUR * hours:
        faults.append(f"memory has grown by {growth:.0f} KiB in {hours:.0f} hours of device life")
    packets = counts["packets"]
    states = {"at the start": start, "after the warm-up": warm, "at the end": end}
    figures: Row = {
        "hours of device life": round(hours, 1),
        **{f"{name}, times": counts[name] for name in HOUR},
        "drops survived": counts["drops survived"],
        **{what: count for what, count in counts.items() if what.startswith("failed to")},
        **{f"turns {outcome}": count for outcome, count in sorted(turns.items())},
        "packets of answers": packets,
        "late %": round(100 * counts["late packets"] / packets, 2) if packets else None,
        "pauses heard": counts["pauses heard"],
        "actions of the owner done": soak.done,
        "actions of the owner refused": soak.refused,
        "attacks": attacks.total(),
        "ways to attack": len(attacks),
        **{f"memory {when} MiB": round(state.memory_kib / 1024, 1) for when, state in states.items()},
        **{f"tasks {when}": state.tasks.total() for when, state in states.items()},
        **{f"sockets {when}": state.sockets for when, state in states.items()},
        "devices back": sum(outcome == _ANSWERED for outcome in back.values()),
        "errors logged": len(errors.texts),
    }
    rows: list[Row] = [{"figure": name, "value": value} for name, value in figures.items()]
    if faults:
        raise SoakError("\n".join([table(rows), *faults, f"seed {seed}"]))
    return rows


class _Soak:
    """Devices, attackers and an owner, active at the same time."""

    def __init__(
        self, house: House, site: Site, devices: Fleet[SoakDevices], attackers: Fleet[Attackers], seed: int
    ) -> None:
        self._site = site
        self._devices = devices
        self._attackers = attackers
        self._seed = seed
        self._round = 0
        self._chance = random.Random(f"{seed} owner")
        self.done = 0
        self.refused = 0
        data = site.gateway.entry.data
        self._ports = Ports(
            http=URL(house.check_in_url).port or 0,
            websocket=data[CONF_WEBSOCKET_PORT],
            mqtt=data[CONF_MQTT_PORT],
            udp=data[CONF_UDP_PORT],
            macs=[device.mac for device in site.devices],
        )

    async def run(self, seconds: float) -> tuple[tuple[Counter[str], Counter[str]], Counter[str]]:
        """Run devices and attackers for so long; return the counts of both."""
        self._round += 1
        seed = self._seed * 1000 + self._round
        owner = asyncio.create_task(self._use())
        try:
            return await asyncio.gather(
                self._devices.do(SoakDevices.run, seconds, seed),
                self._attackers.do(Attackers.attack, self._ports, seconds, seed, _ATTACKERS),
            )
        finally:
            owner.cancel()
            await asyncio.wait([owner])

    async def _use(self) -> None:
        """Act as the owner, who changes the screen brightness of devices meanwhile."""
        while True:
            await asyncio.sleep(_OWNER_SECONDS)
            try:
                device = self._chance.choice(self._site.devices)
                entity_id = self._site.entity_id("number", "_brightness", device)
                value = {"entity_id": entity_id, "value": self._chance.randrange(20, 100)}
                await self._site.hass.services.async_call("number", "set_value", value, blocking=True)
            except HomeAssistantError, LookupError:
                # The device is off, or its tools are not known yet.
                self.refused += 1
            else:
                self.done += 1
