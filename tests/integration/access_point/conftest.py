"""A house with a gateway, and access points of clouds that are doubles."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import SUBENTRY_ACCESS_POINT
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from simulator.access_point import Cloud, EndpointServer
from tests.integration.http_device import MakeEntry, running

type Apis = Callable[[llm.API], object]
type Offer = Callable[..., Awaitable[MockConfigEntry]]


@pytest.fixture
async def cloud(home_assistant: None) -> AsyncGenerator[Cloud]:
    async with Cloud() as cloud:
        yield cloud


@pytest.fixture
async def server(home_assistant: None) -> AsyncGenerator[EndpointServer]:
    async with EndpointServer() as server:
        yield server


@pytest.fixture
def apis(hass: HomeAssistant) -> Generator[Apis]:
    """Return what registers an LLM API, until the test ends."""
    with ExitStack() as registered:
        yield lambda api: registered.callback(llm.async_register_api(hass, api))


def access_point(url: str, title: str = "Robot", **data: Any) -> ConfigSubentryData:
    """Return the subentry of an access point."""
    return ConfigSubentryData(
        subentry_type=SUBENTRY_ACCESS_POINT,
        unique_id=AccessPointAddress.parse(url).identity,
        title=title,
        data={"url": url, **data},
    )


@pytest.fixture
async def offer(hass: HomeAssistant, core: None, make_entry: MakeEntry) -> Offer:
    """Return what starts a gateway with an access point at each address."""

    async def start(*urls: str, **data: Any) -> MockConfigEntry:
        points = (
            access_point(url, f"Robot {number}" if number else "Robot", **data)
            for number, url in enumerate(urls)
        )
        return await running(hass, make_entry(*points))

    return start
