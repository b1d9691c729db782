"""The server's processor time for the uplink audio."""

import asyncio
from functools import partial
from time import monotonic, process_time
from typing import Final

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.conversation.conversation import Conversation
from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .fleet import Fleet, fleet
from .house import House, until
from .report import Finding, Row
from .speech import LONG_SPEECH, after

_SETTLE: Final = 0.5


async def measure(house: House, *, quick: bool) -> Finding:
    """Let devices send speech, and measure the processor time of this process, without the devices'."""
    sizes = (2,) if quick else (1, 10, 50)
    seconds = 0.4 if quick else 10
    house.speech_to_text.recognize = after(60, "")
    rows: list[Row] = []
    async with fleet() as devices:
        for link in LinkKind:
            rows += await _rows(house, devices, link, sizes, seconds)
    return Finding(
        benchmark="uplink_cpu",
        claim="processor time of the server for devices that are being spoken to",
        rows=rows,
    )


async def _rows(
    house: House, devices: Fleet, link: LinkKind, sizes: tuple[int, ...], seconds: float
) -> list[Row]:
    rows: list[Row] = []
    async with house.site(sizes[-1], link) as site:
        await devices.boot(house.check_in_url, site.devices)
        if link is LinkKind.MQTT:
            await until(lambda: site.usable)
        idle = await _load(seconds)
        for listener in ("Assist, with its voice detector", "nobody"):
            if listener == "nobody":
                for device in site.gateway.devices.values():
                    device.conversations.hold(partial(_converse_with_nobody, device))
            for size in sizes:
                await devices.listen(size, LONG_SPEECH)
                load = await _load(seconds) - idle
                await devices.hang_up()
                rows.append(_row(link, listener, size, load))
        await devices.power_off()
    return rows


def _row(link: LinkKind, listener: str, size: int, load: float) -> Row:
    return {
        "link": link.value,
        "listener": listener,
        "devices": size,
        "ms per device and second": round(1000 * load / size, 2),
        "% of a core": round(100 * load, 1),
    }


async def _load(seconds: float) -> float:
    """Return the processor seconds that this process uses per second."""
    await asyncio.sleep(_SETTLE)
    clock, used = monotonic(), process_time()
    await asyncio.sleep(seconds)
    return (process_time() - used) / (monotonic() - clock)


def _converse_with_nobody(device: Device, conversation: Conversation) -> bool:
    async def listen() -> None:
        while (turn := await conversation.next_turn()) is not None:
            async for _ in turn.audio():
                pass

    device.create_task(listen(), "conversation with nobody")
    return True
