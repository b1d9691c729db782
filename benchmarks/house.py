"""A real Home Assistant in this process, with the integration and paired devices."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
import logging
from pathlib import Path
import secrets
import sys
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from homeassistant.bootstrap import async_setup_hass
from homeassistant.config_entries import SOURCE_USER, ConfigEntry, ConfigEntryState, ConfigSubentryData
from homeassistant.const import CONF_CLIENT_ID, CONF_TOKEN
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.runner import RuntimeConfig
import imageio_ffmpeg

from custom_components.xiaozhi.const import (
    CONF_LINK,
    DOMAIN,
    GATEWAY_UNIQUE_ID,
    OTA_PATH,
    SUBENTRY_DEVICE,
)
from custom_components.xiaozhi.gateway import Gateway
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.settings import DeviceLink, OfferedLink
from demo.hass import write_storage
from demo.processes import HOST, free_port, gateway_ports

from .devices import PairedDevice
from .speech import Engines, set_up_speech

_UNTIL_SECONDS: Final = 120
# Home Assistant logs errors about programs and hardware that this machine lacks.
_LOGGERS: Final = (f"custom_components.{DOMAIN}", "aiohttp.server", "asyncio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A gateway with its paired devices."""

    hass: HomeAssistant
    gateway: Gateway
    devices: list[PairedDevice]
    set_up_seconds: float
    """How long the gateway took to start, with the entities of its stored devices."""

    def entity_id(self, platform: str, key: str, device: PairedDevice) -> str:
        """Return the entity of a device. Raises `LookupError` if it has no such entity."""
        registry = er.async_get(self.hass)
        if entity_id := registry.async_get_entity_id(platform, DOMAIN, f"{device.mac}{key}"):
            return entity_id
        raise LookupError(f"{device.mac} has no {key}")

    async def usable(self) -> None:
        """Wait until all devices are linked and their status is known. Raises `TimeoutError`."""
        devices = self.gateway.devices.values()
        async with asyncio.timeout(_UNTIL_SECONDS):
            # The objects in the condition have no events to wait for
            while not all(one.state.linked and one.state.status.volume is not None for one in devices):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Home Assistant, its speech and the address that devices are told."""

    hass: HomeAssistant
    check_in_url: str
    engines: Engines

    @asynccontextmanager
    async def site(
        self, count: int, link: LinkKind | None, *more: ConfigSubentryData
    ) -> AsyncGenerator[Site]:
        """Set up a gateway with this many paired devices and other subentries, and remove it.

        They are told to use a link; without one, every other device gets another than the one before it.
        """
        devices = [
            PairedDevice(mac=f"02:00:00:00:{number // 256:02x}:{number % 256:02x}", client_id=str(uuid4()))
            for number in range(count)
        ]
        entry = _entry(devices, link, more)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await self.hass.config_entries.async_add(entry)
        await self.hass.async_block_till_done()
        if entry.state is not ConfigEntryState.LOADED:
            raise RuntimeError(f"the gateway does not start: {entry.reason}")
        try:
            yield Site(
                hass=self.hass,
                gateway=entry.runtime_data,
                devices=devices,
                set_up_seconds=loop.time() - begun,
            )
        finally:
            await self.hass.config_entries.async_remove(entry.entry_id)
            await self.hass.async_block_till_done()


def _entry(
    devices: list[PairedDevice], link: LinkKind | None, more: Iterable[ConfigSubentryData]
) -> ConfigEntry[Gateway]:
    offered = OfferedLink.MQTT if link is None else OfferedLink(link.value)
    own = [DeviceLink.MQTT, DeviceLink.WEBSOCKET] if link is None else [DeviceLink.AUTOMATIC]
    subentries = [
        ConfigSubentryData(
            subentry_type=SUBENTRY_DEVICE,
            unique_id=device.mac,
            title=f"Box {number}",
            data={
                CONF_CLIENT_ID: device.client_id,
                CONF_TOKEN: secrets.token_hex(32),
                CONF_LINK: own[number % len(own)].value,
            },
        )
        for number, device in enumerate(devices)
    ]
    return ConfigEntry(
        data={CONF_LINK: offered.value, **gateway_ports()},
        discovery_keys=MappingProxyType({}),
        domain=DOMAIN,
        minor_version=1,
        options=None,
        source=SOURCE_USER,
        subentries_data=[*subentries, *more],
        title="XiaoZhi",
        unique_id=GATEWAY_UNIQUE_ID,
        version=1,
    )


@asynccontextmanager
async def house(folder: Path, *components: str) -> AsyncGenerator[House]:
    """Run Home Assistant on loopback, with more components, and an empty folder for its configuration."""
    _log_only_ours()
    port = free_port()
    await asyncio.to_thread(_write_configuration, folder, port, components)
    hass = await async_setup_hass(RuntimeConfig(config_dir=str(folder), skip_pip=True, log_no_color=True))
    if hass is None:
        raise RuntimeError("Home Assistant does not start")
    await hass.async_start()
    try:
        url = f"http://{HOST}:{port}{OTA_PATH}"
        yield House(hass=hass, check_in_url=url, engines=await set_up_speech(hass))
    finally:
        await hass.async_stop()


def _write_configuration(folder: Path, port: int, components: Iterable[str]) -> None:
    program = imageio_ffmpeg.get_ffmpeg_exe()
    lines = ["assist_pipeline:", "ffmpeg:", f"  ffmpeg_bin: {program}", *(f"{name}:" for name in components)]
    (folder / "configuration.yaml").write_text("\n".join(lines))
    write_storage(folder, port)


def _log_only_ours() -> None:
    """Show only the integration's warnings; Home Assistant keeps a handler that exists already."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: record.name.startswith(_LOGGERS))
    logging.basicConfig(handlers=[handler])
