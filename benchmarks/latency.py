"""The delay from an action of Home Assistant to the tool call on the device."""

import asyncio
from time import monotonic
from typing import Final

from homeassistant.components.number import ATTR_VALUE, DOMAIN as NUMBER, SERVICE_SET_VALUE
from homeassistant.const import ATTR_ENTITY_ID

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .fleet import Fleet, fleet
from .house import House, Site, until
from .report import Finding, Row, median, percentile
from .speech import LONG_SPEECH, after

_TOOL: Final = "self.audio_speaker.set_volume"
# The rate of calls while a user drags a slider.
_INTERVAL: Final = 0.1


async def measure(house: House, *, quick: bool) -> Finding:
    """Set the volume repeatedly, of an idle device on MQTT and of one in a conversation."""
    calls = 5 if quick else 100
    rows: list[Row] = []
    async with fleet() as devices:
        async with house.site(1, LinkKind.MQTT) as site:
            await devices.boot(house.check_in_url, site.devices)
            await until(lambda: site.usable)
            rows.append(_row("MQTT, idle", *await _calls(site, devices, calls)))
            rows.append(await _in_conversation(house, site, devices, calls, "MQTT, in a conversation"))
            await devices.power_off()
        async with house.site(1, LinkKind.WEBSOCKET) as site:
            await devices.boot(house.check_in_url, site.devices)
            rows.append(await _in_conversation(house, site, devices, calls, "WebSocket, in a conversation"))
            await devices.power_off()
    return Finding(
        benchmark="latency",
        claim="ms from number.set_value to the call of the device's tool, and to the action's end",
        rows=rows,
    )


async def _in_conversation(house: House, site: Site, devices: Fleet, calls: int, name: str) -> Row:
    house.speech_to_text.recognize = after(60, "")
    await devices.listen(1, LONG_SPEECH)
    await until(lambda: site.connected)
    row = _row(name, *await _calls(site, devices, calls))
    await devices.hang_up()
    return row


async def _calls(site: Site, devices: Fleet, count: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds to the tool, and to the end of the action, of each call."""
    await site.hass.async_block_till_done()
    volume = site.entity_id(NUMBER, "volume", site.devices[0])
    await devices.calls(_TOOL)
    begun: list[float] = []
    ended: list[float] = []
    for number in range(count):
        begun.append(monotonic())
        data = {ATTR_ENTITY_ID: volume, ATTR_VALUE: number % 100}
        await site.hass.services.async_call(NUMBER, SERVICE_SET_VALUE, data, blocking=True)
        ended.append(monotonic())
        await asyncio.sleep(_INTERVAL)
    called = await devices.calls(_TOOL)
    return (
        [1000 * (end - start) for start, end in zip(begun, called, strict=True)],
        [1000 * (end - start) for start, end in zip(begun, ended, strict=True)],
    )


def _row(link: str, to_tool: list[float], to_end: list[float]) -> Row:
    return {
        "link": link,
        "calls": len(to_tool),
        "tool median": _round(median(to_tool)),
        "tool p95": _round(percentile(to_tool, 95)),
        "end median": _round(median(to_end)),
        "end p95": _round(percentile(to_end, 95)),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
