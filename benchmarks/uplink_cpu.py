"""Processor time of the server for devices that are being spoken to, and how many it still hears."""

import asyncio
from time import monotonic, process_time
from typing import Final

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import DeviceGroup
from .fleet import linked
from .house import House
from .report import Row
from .speech import LONG_SPEECH, after

_SETTLE: Final = 0.5


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Let devices send speech, and measure the processor time of this process, without the devices'."""
    sizes = (2,) if quick else (1, 10, 50)
    seconds = 0.4 if quick else 10
    house.engines.recognize = after(60, "")
    rows: list[Row] = []
    for link in LinkKind:
        async with linked(house, sizes[-1], link) as (site, devices):
            if link is LinkKind.MQTT:
                await site.usable()
            idle = await _load(seconds)
            for size in sizes:
                await devices.do(DeviceGroup.listen, size, LONG_SPEECH)
                load = await _load(seconds) - idle
                row: Row = {
                    "link": link.value,
                    "devices": size,
                    "still heard": await devices.do(DeviceGroup.hang_up),
                }
                row["ms per device and second"] = round(1000 * load / size, 2)
                rows.append(row | {"% of a core": round(100 * load, 1)})
    return rows


async def _load(seconds: float) -> float:
    """Return the processor seconds that this process uses per second."""
    await asyncio.sleep(_SETTLE)
    clock, used = monotonic(), process_time()
    await asyncio.sleep(seconds)
    return (process_time() - used) / (monotonic() - clock)
