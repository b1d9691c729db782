"""Runs a soak, and checks what it left behind."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
import logging
import random
from typing import Any, Final

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from yarl import URL

from benchmarks.fleet import Fleet, fleet
from benchmarks.house import House, Site
from benchmarks.report import Finding, Row
from benchmarks.speech import after
from custom_components.xiaozhi.const import CONF_MQTT_PORT, CONF_UDP_PORT, CONF_WEBSOCKET_PORT

from .attackers import Ports
from .devices import HOUR
from .watch import Errors, State, look, settle

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakResult:
    """The state before, after the warm-up and at the end, and what happened between the last two."""

    start: State
    warm: State
    end: State
    hours: float
    back: Mapping[str, str]
    """Result of each device's last conversation, by MAC."""
    errors: list[str]

    @property
    def growth_kib(self) -> float:
        """Growth of the memory since the warm-up."""
        return self.end.memory_kib - self.warm.memory_kib


def failures(result: SoakResult) -> list[str]:
    """List the failures."""
    faults = [f"left behind: {what}" for what in result.end.left_since(result.warm)]
    faults += [
        f"{mac} is not back: {outcome}" for mac, outcome in result.back.items() if outcome != _ANSWERED
    ]
    faults += [f"logged: {text}" for text in result.errors]
    if result.growth_kib > _ALLOWED_GROWTH_KIB + _ALLOWED_KIB_PER_HOUR * result.hours:
        faults.append(
            f"memory has grown by {result.growth_kib:.0f} KiB in {result.hours:.0f} hours of device life"
        )
    return faults


async def measure(
    house: House, *, quick: bool, minutes: float = 5, seed: int | None = None, devices: int = 6
) -> Finding:
    """Run devices and attackers. Raises `SoakError` for any failure."""
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    if quick:
        minutes, devices = 0.25, 2
    print(f"soak: seed {seed}, {devices} devices, {minutes:g} minutes", flush=True)
    house.speech_to_text.recognize = after(_SECONDS_OF_LISTENING, "is the light on")
    errors = Errors()
    async with (
        fleet("benchmarks.soak.devices") as group,
        fleet("benchmarks.soak.attackers") as attackers,
        house.site(devices, None) as site,
    ):
        start = look()
        logging.getLogger().addHandler(errors)
        try:
            who = [asdict(device) for device in site.devices]
            await group.do("switch_on", url=house.check_in_url, devices=who)
            soak = _Soak(house, site, group, attackers, seed)
            await soak.run(60 * minutes * _WARM_UP)
            await group.do("switch_off")
            warm = await settle(start)
            activity, attacks = await soak.run(60 * minutes * (1 - _WARM_UP))
            back = await group.do("ask_all")
            await group.do("switch_off")
            result = SoakResult(
                start=start,
                warm=warm,
                end=await settle(warm),
                hours=activity["hours"],
                back=back,
                errors=errors.texts,
            )
        finally:
            logging.getLogger().removeHandler(errors)
    rows = _rows(result, activity, attacks, soak)
    finding = Finding(
        benchmark="soak",
        claim=f"what happened and what was left behind; seed {seed}, {devices} devices",
        rows=rows,
    )
    if found := failures(result):
        raise SoakError("\n".join([finding.table(), *found, f"seed {seed}"]))
    return finding


class _Soak:
    """Devices, attackers and an owner, active at the same time."""

    def __init__(self, house: House, site: Site, devices: Fleet, attackers: Fleet, seed: int) -> None:
        self._site = site
        self._devices = devices
        self._attackers = attackers
        self._seed = seed
        self._round = 0
        self._chance = random.Random(f"{seed} owner")
        self.done = 0
        self.refused = 0
        self.entities = 0
        data = site.gateway.entry.data
        self._ports = Ports(
            http=URL(house.check_in_url).port or 0,
            websocket=data[CONF_WEBSOCKET_PORT],
            mqtt=data[CONF_MQTT_PORT],
            udp=data[CONF_UDP_PORT],
            macs=[device.mac for device in site.devices],
        )

    async def run(self, seconds: float) -> tuple[dict[str, Any], dict[str, int]]:
        """Run devices and attackers for so long; return the counts of both."""
        self._round += 1
        seed = self._seed * 1000 + self._round
        arguments: dict[str, Any] = {"patience": seconds + 600, "seconds": seconds, "seed": seed}
        async with self._using():
            told = await asyncio.gather(
                self._devices.do("run", **arguments),
                self._attackers.do("attack", ports=asdict(self._ports), number=_ATTACKERS, **arguments),
            )
        registry = er.async_get(self._site.hass)
        entry_id = self._site.gateway.entry.entry_id
        self.entities = len(er.async_entries_for_config_entry(registry, entry_id))
        return told

    @asynccontextmanager
    async def _using(self) -> AsyncGenerator[None]:
        """Act as the owner, who changes the volume of devices meanwhile."""
        task = asyncio.create_task(self._use())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _use(self) -> None:
        while True:
            await asyncio.sleep(_OWNER_SECONDS)
            try:
                entity_id = self._site.entity_id("number", "volume", self._chance.choice(self._site.devices))
                value = {"entity_id": entity_id, "value": self._chance.randrange(20, 100)}
                await self._site.hass.services.async_call("number", "set_value", value, blocking=True)
            except HomeAssistantError, LookupError:
                # The device is off, or its tools are not known yet.
                self.refused += 1
            else:
                self.done += 1


def _rows(result: SoakResult, activity: dict[str, Any], attacks: dict[str, int], soak: _Soak) -> list[Row]:
    counts, turns = activity["counts"], activity["turns"]
    packets = counts.get("packets", 0)
    figures: Row = {
        "hours of device life": round(result.hours, 1),
        **{f"{name}, times": counts.get(name, 0) for name in HOUR},
        "drops survived": counts.get("drops survived", 0),
        **{what: count for what, count in counts.items() if what.startswith("failed to")},
        **{f"turns {outcome}": count for outcome, count in sorted(turns.items())},
        "packets of answers": packets,
        "late %": round(100 * counts.get("late packets", 0) / packets, 2) if packets else None,
        "pauses heard": counts.get("pauses heard", 0),
        "actions of the owner done": soak.done,
        "actions of the owner refused": soak.refused,
        "attacks": sum(attacks.values()),
        "ways to attack": len(attacks),
        "memory at the start MiB": round(result.start.memory_kib / 1024, 1),
        "memory after the warm-up MiB": round(result.warm.memory_kib / 1024, 1),
        "memory at the end MiB": round(result.end.memory_kib / 1024, 1),
        "memory KiB per hour of device life": round(result.growth_kib / result.hours, 1)
        if result.hours
        else None,
        "tasks after the warm-up": result.warm.tasks.total(),
        "tasks at the end": result.end.tasks.total(),
        "sockets after the warm-up": result.warm.sockets,
        "sockets at the end": result.end.sockets,
        "entities": soak.entities,
        "devices back": sum(outcome == _ANSWERED for outcome in result.back.values()),
        "errors logged": len(result.errors),
    }
    return [{"figure": name, "value": value} for name, value in figures.items()]
