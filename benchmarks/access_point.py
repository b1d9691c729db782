"""Access points: how soon a call is answered, what an idle one costs, and how soon it is back."""

import gc
from time import monotonic, process_time
import tracemalloc
from types import MappingProxyType
from typing import Final, NamedTuple

from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import DOMAIN as LIGHT
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import ATTR_ENTITY_ID, CONF_URL, SERVICE_TURN_OFF, STATE_ON
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component

from custom_components.xiaozhi.const import DOMAIN, SUBENTRY_ACCESS_POINT
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress

from .fleet import Fleet, fleet
from .house import House, Site
from .report import Finding, Row, median, percentile

__all__ = ["measure"]

_LAMP: Final = "light.measured_lamp"
_LAMP_NAME: Final = "Measured lamp"
_TOOL: Final = "HassTurnOn"
# An access point takes 60 calls a minute.
_CALLS_EACH: Final = 10
# A list of tools that has stood for so long counts as accepted: pauses begin with the shortest again.
_HEALTHY_SECONDS: Final = 16


class _Cost(NamedTuple):
    """Milliseconds of one call."""

    elapsed: float
    processor: float
    """Of Home Assistant's process, with what follows the answer."""


async def measure(house: House, *, quick: bool) -> Finding:
    """Connect access points to a cloud in another process; call, leave idle, and drop them."""
    count = 3 if quick else 20
    await _set_up_lamp(house.hass)
    rows: list[Row] = []
    async with fleet("benchmarks.clouds") as clouds:
        urls = await clouds.do("start", count=count)
        # Objects that are created only once are created now.
        await _memory(house, clouds, urls[:3])
        tracemalloc.start()
        try:
            added, connected = await _memory(house, clouds, urls)
        finally:
            tracemalloc.stop()
        rows.append(_row("KiB for each access point, without a connection", [added]))
        rows.append(_row("KiB more for each idle connection", [connected - added]))
        async with house.site(0, None) as site:
            await _add(site, urls)
            await clouds.do("wait_ready", count=count)
            alone, answered = await _calls(house.hass, clouds, 5 if quick else count * _CALLS_EACH)
            added = [
                _Cost(total.elapsed - own.elapsed, total.processor - own.processor)
                for own, total in zip(alone, answered, strict=True)
            ]
            for name, costs in (
                (f"Home Assistant alone for {_TOOL}", alone),
                ("from the cloud's call to its answer", answered),
                ("of that added by us and the sockets", added),
            ):
                rows.append(_row(f"ms {name}", [cost.elapsed for cost in costs]))
                rows.append(_row(f"ms of processor time {name}", [cost.processor for cost in costs]))
            for away in (0.0,) if quick else (0.0, 3.0, 10.0):
                await clouds.do("rest", seconds=0.0 if quick else _HEALTHY_SECONDS)
                back = await clouds.do("drop", count=count, seconds=away)
                rows.append(_row(f"s until it is back, the cloud away for {away:g} s", back))
    return Finding(
        benchmark="access_point", claim=f"{count} access points of a cloud in another process", rows=rows
    )


async def _memory(house: House, clouds: Fleet, urls: list[str]) -> tuple[float, float]:
    """Return the KiB that Python allocates for each access point: while the cloud is away, and connected.

    The process holds more than it uses after its start, so that its size says nothing about so little.
    """
    async with house.site(0, None) as site:
        await clouds.do("go_away")
        start = _traced()
        await _add(site, urls)
        added = _traced()
        await clouds.do("come_back")
        await clouds.do("wait_ready", count=len(urls))
        await site.hass.async_block_till_done()
        connected = _traced()
    return (added - start) / 1024 / len(urls), (connected - start) / 1024 / len(urls)


async def _add(site: Site, urls: list[str]) -> None:
    for number, url in enumerate(urls):
        subentry = ConfigSubentry(
            data=MappingProxyType({CONF_URL: url}),
            subentry_type=SUBENTRY_ACCESS_POINT,
            title=f"Agent {number}",
            unique_id=AccessPointAddress.parse(url).identity,
        )
        site.hass.config_entries.async_add_subentry(site.gateway.entry, subentry)
    await site.hass.async_block_till_done()


async def _calls(hass: HomeAssistant, clouds: Fleet, calls: int) -> tuple[list[_Cost], list[_Cost]]:
    """Return what Home Assistant alone takes, and the same call from the cloud, one after the other."""
    alone: list[_Cost] = []
    answered: list[_Cost] = []
    agents = len(hass.config_entries.async_entries(DOMAIN)[0].subentries)
    for number in range(calls):
        await _switch_off(hass)
        begun, used = monotonic(), process_time()
        await _call_alone(hass)
        elapsed = monotonic() - begun
        await hass.async_block_till_done()
        alone.append(_Cost(1000 * elapsed, 1000 * (process_time() - used)))
        _check(hass)
        await _switch_off(hass)
        used = process_time()
        elapsed = await clouds.do("call", agent=number % agents + 1, ending=_TOOL, name=_LAMP_NAME)
        await hass.async_block_till_done()
        answered.append(_Cost(elapsed, 1000 * (process_time() - used)))
        _check(hass)
    return alone, answered


async def _call_alone(hass: HomeAssistant) -> None:
    """Do what Home Assistant's own MCP server does for a call."""
    context = llm.LLMContext(
        platform=DOMAIN,
        context=Context(),
        language=hass.config.language,
        assistant=CONVERSATION,
        device_id=None,
    )
    api = await llm.async_get_api(hass, [llm.LLM_API_ASSIST], context)
    tool = next(tool.name for tool in api.tools if tool.name.endswith(_TOOL))
    await api.async_call_tool(llm.ToolInput(tool_name=tool, tool_args={"name": _LAMP_NAME}))


async def _set_up_lamp(hass: HomeAssistant) -> None:
    lamp = {"name": _LAMP_NAME, "unique_id": "measured", "optimistic": True, "turn_on": [], "turn_off": []}
    if not await async_setup_component(hass, "template", {"template": [{"light": [lamp]}]}):
        raise RuntimeError("the lamp is not set up")
    await hass.async_block_till_done()
    async_expose_entity(hass, CONVERSATION, _LAMP, True)


async def _switch_off(hass: HomeAssistant) -> None:
    await hass.services.async_call(LIGHT, SERVICE_TURN_OFF, {ATTR_ENTITY_ID: _LAMP}, blocking=True)
    await hass.async_block_till_done()


def _check(hass: HomeAssistant) -> None:
    if (state := hass.states.get(_LAMP)) is None or state.state != STATE_ON:
        raise RuntimeError(f"the lamp is {state and state.state}")


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _row(figure: str, values: list[float]) -> Row:
    return {
        "figure": figure,
        "values": len(values),
        "median": _round(median(values)),
        "p95": _round(percentile(values, 95)),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
