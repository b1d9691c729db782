"""The memory and processor time of many connected devices."""

import asyncio
import gc
from time import monotonic, process_time

from homeassistant.helpers import entity_registry as er

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .fleet import Fleet, fleet
from .house import House, Site, until
from .process import proportional_kib
from .report import Finding, Row


async def measure(house: House, *, quick: bool) -> Finding:
    """Link devices over MQTT, all switched on at the same moment, and leave them idle."""
    count = 5 if quick else 100
    async with fleet() as devices:
        # Objects that are created only once are created now.
        await _link(house, devices, 3)
        figures = await _link(house, devices, count, idle_seconds=0.5 if quick else 60)
    rows: list[Row] = [{"figure": name, "value": value} for name, value in figures.items()]
    return Finding(
        benchmark="memory",
        claim=f"{count} idle devices on MQTT, switched on at the same moment; memory as PSS",
        rows=rows,
    )


async def _link(house: House, devices: Fleet, count: int, *, idle_seconds: float = 0) -> dict[str, float]:
    start = _kib()
    async with house.site(count, LinkKind.MQTT) as site:
        paired = _kib()
        clock, used = monotonic(), process_time()
        await devices.boot(house.check_in_url, site.devices)
        await until(lambda: site.usable)
        seconds, cpu = monotonic() - clock, process_time() - used
        await house.hass.async_block_till_done()
        linked = _kib()
        figures = {
            "KiB for each paired device": round((paired - start) / count, 1),
            "KiB more for each linked device": round((linked - paired) / count, 1),
            "KiB for each paired and linked device": round((linked - start) / count, 1),
            "entities of each device": _entities(site) / count,
            "seconds to set up the gateway": round(site.set_up_seconds, 2),
            "seconds until all are linked and have told their status": round(seconds, 2),
            "ms of processor time for each link": round(1000 * cpu / count, 2),
        }
        if idle_seconds:
            figures["% of a core while all are idle"] = round(100 * await _load(idle_seconds), 2)
        await devices.power_off()
        return figures


def _kib() -> float:
    gc.collect()
    return proportional_kib()


def _entities(site: Site) -> int:
    registry = er.async_get(site.hass)
    return len(er.async_entries_for_config_entry(registry, site.gateway.entry.entry_id))


async def _load(seconds: float) -> float:
    used = process_time()
    await asyncio.sleep(seconds)
    return (process_time() - used) / seconds
