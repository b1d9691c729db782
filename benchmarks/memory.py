"""The memory (PSS) and processor time of many devices that are switched on at the same moment, and idle."""

import asyncio
import gc
from time import monotonic, process_time

from homeassistant.helpers import entity_registry as er
import psutil

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import DeviceGroup
from .fleet import Fleet, fleet
from .house import House
from .report import Row


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Link devices over MQTT, all switched on at the same moment, and leave them idle."""
    count = 5 if quick else 100
    async with fleet(DeviceGroup) as devices:
        # Objects that are created only once are created now.
        await _link(house, devices, 3)
        figures = await _link(house, devices, count, idle_seconds=0.5 if quick else 60)
    return [{"figure": name, "value": value} for name, value in figures.items()]


async def _link(
    house: House, devices: Fleet[DeviceGroup], count: int, *, idle_seconds: float = 0
) -> dict[str, float]:
    start = _pss_kib()
    async with house.site(count, LinkKind.MQTT) as site:
        paired = _pss_kib()
        clock, used = monotonic(), process_time()
        await devices.do(DeviceGroup.boot, house.check_in_url, site.devices)
        await site.usable()
        seconds, cpu = monotonic() - clock, process_time() - used
        await house.hass.async_block_till_done()
        linked = _pss_kib()
        entities = er.async_entries_for_config_entry(er.async_get(site.hass), site.gateway.entry.entry_id)
        figures = {
            "devices": float(count),
            "KiB for each paired device": round((paired - start) / count, 1),
            "KiB more for each linked device": round((linked - paired) / count, 1),
            "KiB for each paired and linked device": round((linked - start) / count, 1),
            "entities of each device": len(entities) / count,
            "seconds to set up the gateway": round(site.set_up_seconds, 2),
            "seconds until all are linked and have told their status": round(seconds, 2),
            "ms of processor time for each link": round(1000 * cpu / count, 2),
        }
        if idle_seconds:
            used = process_time()
            await asyncio.sleep(idle_seconds)
            load = (process_time() - used) / idle_seconds
            figures["% of a core while all are idle"] = round(100 * load, 2)
        await devices.do(DeviceGroup.power_off)
        return figures


def _pss_kib() -> float:
    """Return the memory of this process, with its part of what it shares with others (PSS)."""
    gc.collect()
    return float(psutil.Process().memory_full_info().pss / 1024)
