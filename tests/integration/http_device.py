"""The HTTP requests of a device, with the headers of the firmware."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient
from homeassistant.config_entries import ConfigSubentry, ConfigSubentryData
from homeassistant.core import HomeAssistant
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import OTA_PATH, SUBENTRY_DEVICE

MAC = "94:a9:90:28:a4:5f"
CLIENT_ID = "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11"
BOARD = "bread-compact-wifi"
TOKEN = "the-token-of-the-paired-device"


def paired_device(
    mac: str = MAC, client_id: str = CLIENT_ID, title: str = "Kitchen box"
) -> ConfigSubentryData:
    return ConfigSubentryData(
        subentry_type=SUBENTRY_DEVICE,
        unique_id=mac,
        title=title,
        data={"client_id": client_id, "token": TOKEN, "board": BOARD, "conversation_style": "single"},
    )


async def running(hass: HomeAssistant, entry: MockConfigEntry) -> MockConfigEntry:
    """Set up a gateway, and wait until it runs."""
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return entry


async def add_to(hass: HomeAssistant, entry: MockConfigEntry, paired: ConfigSubentryData) -> ConfigSubentry:
    """Add a device or an access point to a gateway."""
    subentry = ConfigSubentry(**{**paired, "data": MappingProxyType(paired["data"])})
    hass.config_entries.async_add_subentry(entry, subentry)
    await hass.async_block_till_done()
    return subentry


@dataclass(kw_only=True)
class HttpDevice:
    """A device that checks in and asks whether its code was typed."""

    client: TestClient[Any, Any]
    mac: str = MAC
    client_id: str = CLIENT_ID
    board: str = BOARD
    version: str = "2.2.4"
    extra_headers: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Accept-Language": "en-US",
            "Activation-Version": "1",
            "Client-Id": self.client_id,
            "Content-Type": "application/json",
            "Device-Id": self.mac,
            "User-Agent": f"{self.board}/{self.version}",
            "Connection": "close",
            **self.extra_headers,
        }

    async def post(self, path: str = OTA_PATH, body: bytes = b"{}") -> ClientResponse:
        """Post once, without following redirects."""
        return await self.client.post(path, headers=self.headers, data=body, allow_redirects=False)

    async def check_in(self) -> dict[str, Any]:
        """Check in, and return the reply, which must have status 200."""
        response = await self.post()
        assert response.status == HTTPStatus.OK
        reply: dict[str, Any] = await response.json()
        return reply

    async def code(self) -> str:
        code: str = (await self.check_in())["activation"]["code"]
        return code

    async def activate(self) -> int:
        """Ask whether the code was entered; return the HTTP status."""
        return (await self.post(f"{OTA_PATH}/activate")).status


type MakeDevice = Callable[..., HttpDevice]
type MakeEntry = Callable[..., MockConfigEntry]
