"""Processor time of the server for devices that listen, and whether it hears them in real time.

Some are spoken to without a pause; the others wait for somebody to speak in a quiet room.
"""

import asyncio
from collections.abc import AsyncIterable
from time import monotonic, process_time
from typing import Final
from unittest.mock import patch

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import VoiceTimeouts

from .devices import DeviceGroup
from .fleet import linked
from .house import House
from .report import Row
from .speech import LONG_SPEECH

# Seconds to make up for what was said while all of them were woken, and to measure.
_TIMES: Final = (4.0, 10.0)
_QUICK_TIMES: Final = (0.5, 0.5)
_BYTES_PER_SECOND: Final = 32000
# Devices, and to how many of them somebody speaks.
_SIZES: Final = ((1, 1), (10, 10), (50, 50), (10, 1), (50, 5), (100, 10), (250, 25))
_QUICK_SIZES: Final = ((2, 1),)


class _Ears:
    """A speech recognition that only counts what it is given, in bytes."""

    def __init__(self) -> None:
        self.heard = 0

    async def recognize(self, stream: AsyncIterable[bytes]) -> str:
        async for chunk in stream:
            self.heard += len(chunk)
        return ""


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Let devices listen, and measure the processor time of this process, without the devices'."""
    sizes, times = (_QUICK_SIZES, _QUICK_TIMES) if quick else (_SIZES, _TIMES)
    ears = _Ears()
    house.engines.recognize = ears.recognize
    rows: list[Row] = []
    for link in LinkKind:
        async with linked(house, max(size for size, _ in sizes), link) as (site, devices):
            if link is LinkKind.MQTT:
                await site.usable()
            idle, _ = await _load(ears, *times)
            for size, speaking in sizes:
                # Who is not spoken to would stop to listen after a few seconds.
                with patch.object(VoiceTimeouts, "no_speech", 60):
                    await devices.do(DeviceGroup.listen, size, LONG_SPEECH, speaking)
                    load, heard = await _load(ears, *times)
                    still = await devices.do(DeviceGroup.hang_up)
                row: Row = {"link": link.value, "devices": size, "speaking": speaking, "still heard": still}
                row["in real time"] = round(heard / speaking, 2)
                row["ms per device and second"] = round(1000 * (load - idle) / size, 2)
                rows.append(row | {"% of a core": round(100 * (load - idle), 1)})
    return rows


async def _load(ears: _Ears, settle: float, seconds: float) -> tuple[float, float]:
    """Return the processor seconds that this process uses per second, and the seconds of sound it hears."""
    await asyncio.sleep(settle)
    clock, used, heard = monotonic(), process_time(), ears.heard
    await asyncio.sleep(seconds)
    took = monotonic() - clock
    return (process_time() - used) / took, (ears.heard - heard) / _BYTES_PER_SECOND / took
