"""What is left in memory of devices that were deleted, and of conversations, announcements and connections.

Each kind is done some times, and then many more; the growth between is shown: objects of our classes, and KiB
each of all objects. What Home Assistant itself remembers of deleted devices is left out.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
import gc
import secrets
import sys
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from homeassistant.components import tts
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import CONF_CLIENT_ID, CONF_TOKEN
from homeassistant.helpers import device_registry as dr, entity_registry as er, restore_state

from custom_components.xiaozhi.const import CONF_LINK, SUBENTRY_DEVICE
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.settings import DeviceLink

from .devices import DeviceGroup, NewDevices, PairedDevice
from .fleet import Fleet, fleet
from .house import House, Site
from .report import Row
from .speech import after, spoken

_AT_ONCE: Final = 10
_OURS: Final = "custom_components."
# Tasks that close something end within this.
_SETTLE_SECONDS: Final = 3


async def measure(house: House, *, quick: bool, every: int = 1) -> list[Row]:
    """Do everything often, or only a part of that."""
    house.engines.recognize = after(0.5, "is anybody there")
    house.engines.wav = spoken("Yes.")
    async with (
        fleet(NewDevices) as devices,
        fleet(NewDevices) as passing,
        house.site(2 if quick else _AT_ONCE, LinkKind.MQTT) as site,
    ):
        await devices.do(DeviceGroup.boot, house.check_in_url, site.devices)
        await site.usable()
        doing = _Doing(house, site, devices, passing)
        kinds: dict[str, tuple[Callable[[], Awaitable[int]], int]] = {
            "devices paired, linked and deleted": (doing.pass_through, 200),
            "conversations": (doing.talk, 2000),
            "announcements": (doing.announce, 500),
            "reconnections": (doing.reconnect, 200),
            "reloads": (doing.reload, 50),
        }
        rows = []
        for what, (once, number) in kinds.items():
            # A device keeps its last twenty turns, and a site the gateway with which it began.
            await _repeat(once, 1 if quick else number // 10)
            before = await _look(house)
            times = await _repeat(once, 1 if quick else number // every)
            rows.append(_row(what, times, before, await _look(house)))
        await devices.do(DeviceGroup.power_off)
    return rows


def _row(what: str, times: int, before: tuple[Counter[str], float], now: tuple[Counter[str], float]) -> Row:
    more = now[0] - before[0]
    # The first count is among the objects of the second.
    grown = now[1] - before[1] - sys.getsizeof(before[0]) / 1024
    return {
        "what": what,
        "times": times,
        "objects of ours more": more.total(),
        "most of them": ", ".join(f"{count} {name}" for name, count in more.most_common(4)),
        "KiB each": round(grown / times, 2),
    }


async def _repeat(once: Callable[[], Awaitable[int]], number: int) -> int:
    times = 0
    while times < number:
        times += await once()
    return times


async def _look(house: House) -> tuple[Counter[str], float]:
    """Return how many objects there are of each class of ours, and the KiB of all objects."""
    hass = house.hass
    await hass.async_block_till_done()
    await asyncio.sleep(_SETTLE_SECONDS)
    er.async_get(hass).deleted_entities.clear()
    dr.async_get(hass)._deleted_devices.clear()  # noqa: SLF001 - there is no other way to forget them
    speech = hass.data[tts.DATA_TTS_MANAGER]
    # Sounds of the last minutes.
    speech.mem_cache.clear()
    speech.token_to_stream.clear()
    # It keeps the last states of removed entities for a week.
    for kept in vars(restore_state.async_get(hass)).values():
        if isinstance(kept, dict):
            kept.clear()
    gc.collect()
    objects = gc.get_objects()
    ours = (type(one) for one in objects if str(type(one).__module__).startswith(_OURS))
    names = Counter(f"{cls.__module__.rpartition('.')[2]}.{cls.__qualname__}" for cls in ours)
    return names, sum(map(sys.getsizeof, objects)) / 1024


class _Doing:
    """What is done; each returns how often it did it."""

    def __init__(
        self, house: House, site: Site, devices: Fleet[DeviceGroup], passing: Fleet[DeviceGroup]
    ) -> None:
        self._house = house
        self._hass = house.hass
        self._site = site
        self._devices = devices
        self._passing = passing
        self._entry = site.gateway.entry
        self._count = 0

    async def pass_through(self) -> int:
        """Pair devices, have them linked, and delete them."""
        paired: list[PairedDevice] = []
        for _ in self._site.devices:
            self._count += 1
            number = f"{self._count // 256:02x}:{self._count % 256:02x}"
            paired.append(PairedDevice(mac=f"02:00:00:01:{number}", client_id=str(uuid4())))
        subentries = [_subentry(device) for device in paired]
        for subentry in subentries:
            self._hass.config_entries.async_add_subentry(self._entry, subentry)
        await self._passing.do(DeviceGroup.boot, self._house.check_in_url, paired)
        await self._linked()
        await self._passing.do(DeviceGroup.power_off)
        for subentry in subentries:
            self._hass.config_entries.async_remove_subentry(self._entry, subentry.subentry_id)
        await self._hass.async_block_till_done()
        return len(paired)

    async def talk(self) -> int:
        """Have all ask something at once."""
        count = len(self._site.devices)
        await self._devices.do(DeviceGroup.converse, ["is anybody there"] * count)
        return count

    async def announce(self) -> int:
        """Say something on all at once."""
        key = "assist_satellite"
        ids = [self._site.entity_id(key, f"_{key}", device) for device in self._site.devices]
        data = {"entity_id": ids, "message": "Dinner.", "preannounce": False}
        await self._hass.services.async_call(key, "announce", data, blocking=True)
        return len(ids)

    async def reconnect(self) -> int:
        """Switch all off and on."""
        await self._devices.do(DeviceGroup.power_off)
        await self._devices.do(DeviceGroup.boot, self._house.check_in_url, self._site.devices)
        await self._linked()
        return len(self._site.devices)

    async def reload(self) -> int:
        """Reload the gateway, and wait until all are back."""
        await self._hass.config_entries.async_reload(self._entry.entry_id)
        await self._linked()
        return 1

    async def _linked(self) -> None:
        devices = self._entry.runtime_data.devices
        async with asyncio.timeout(120):
            # The objects in the condition have no events to wait for
            while not all(one.state.linked and one.tools for one in devices.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def _subentry(device: PairedDevice) -> ConfigSubentry:
    data = {
        CONF_CLIENT_ID: device.client_id,
        CONF_TOKEN: secrets.token_hex(32),
        CONF_LINK: DeviceLink.AUTOMATIC.value,
    }
    return ConfigSubentry(
        subentry_type=SUBENTRY_DEVICE, unique_id=device.mac, title="Passing", data=MappingProxyType(data)
    )
