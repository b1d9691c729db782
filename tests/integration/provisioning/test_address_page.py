"""What a person sees who opens the check-in address in a browser."""

import html
from http import HTTPStatus
import re
from unittest.mock import AsyncMock, patch

from homeassistant.components.http import ApiConfig
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import OTA_PATH
from custom_components.xiaozhi.device_http import access
from custom_components.xiaozhi.provisioning import check_in_address
from custom_components.xiaozhi.provisioning.check_in_address import async_leads_here
from tests.integration.conftest import unused_port
from tests.integration.http_device import MakeEntry
from tests.integration.provisioning.forms import ADDRESS, texts

pytestmark = pytest.mark.usefixtures("own_address")
WORKS = "This is your XiaoZhi gateway, and it works"
DOUBTFUL = "The XiaoZhi gateway works, but devices may not reach it at this address"
FAILS = "The XiaoZhi gateway cannot be used from here"


class Page:
    """The texts of a page."""

    def __init__(self, page: str) -> None:
        self._page = page.replace("<wbr>", "")
        (self.title,) = self.of("h1")
        self.address = next(iter(self.of("code")), None)
        """The address to type into devices."""

    def of(self, tag: str) -> list[str]:
        """The texts of all elements of this kind, from their first word to the next element."""
        return [html.unescape(text) for text in re.findall(rf"<{tag}(?: [^>]*)?>\s*([^<]+)", self._page)]

    def says(self, key: str) -> bool:
        """Whether the page has the beginning of a text of the translations."""
        beginning = texts("exceptions")[key]["message"].partition("{")[0]
        return any(text.startswith(beginning) for text in self.of("p"))


async def open_page(
    hass_client_no_auth: ClientSessionGenerator, status: HTTPStatus, path: str = OTA_PATH, **headers: str
) -> Page:
    """Open the address in a browser."""
    client = await hass_client_no_auth()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await client.get(path, headers={"Host": "192.168.1.10:8123", **headers})
    assert response.status == status
    assert response.content_type == "text/html"
    return Page(await response.text())


async def test_a_working_address_says_so_and_an_unusable_host_is_named(
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """With the address to copy; the page stays while the phone is in the network of the device."""
    page = await open_page(hass_client_no_auth, HTTPStatus.OK, f"{OTA_PATH}/")
    assert (page.title, page.address) == (WORKS, ADDRESS)
    assert len(page.of("li")) == 5
    assert page.of("a") == ["http://192.168.4.1"]
    assert page.says("page_next")
    page = await open_page(hass_client_no_auth, HTTPStatus.OK, Host="ha.lan")
    assert (page.title, page.address) == (WORKS, "http://ha.lan/api/xiaozhi/ota")
    # It works in the browser, which is why nobody would suspect it.
    for host, problem in {
        "homeassistant.local:8123": "page_host_local_name",
        "localhost:8123": "page_host_here_only",
        "127.0.0.1:8123": "page_host_here_only",
        "[fd12::1]:8123": "page_host_unusable",
        "<b>": "page_host_unusable",
    }.items():
        page = await open_page(hass_client_no_auth, HTTPStatus.OK, Host=host)
        assert (page.title, page.address) == (DOUBTFUL, ADDRESS)
        assert page.says(problem)


@pytest.mark.usefixtures("gateway_entry")
async def test_it_speaks_the_language_of_the_browser_or_else_that_of_the_house(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator
) -> None:
    await hass.config.async_update(language="nl")
    for accepted, language in {
        "de-AT,de;q=0.9,en;q=0.8": "de",
        "fil, zh-TW;q=0.5": "zh-Hant",
        "zh-CN": "zh-Hans",
        "en-GB,de;q=0.9": "en",
        "*": "nl",
        "fil": "nl",
        ", ,;" * 1000: "nl",
    }.items():
        page = await open_page(hass_client_no_auth, HTTPStatus.OK, Accept_Language=accepted)
        assert page.title == texts("exceptions", language)["page_works"]["message"], accepted
    await hass.config.async_update(language="en")


async def test_without_a_gateway_that_runs_it_says_why(
    hass: HomeAssistant, make_entry: MakeEntry, taken_port: int, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """Where the integration is loaded, but was removed; and in Home Assistant's own words."""
    assert await async_setup_component(hass, "xiaozhi", {})
    page = await open_page(hass_client_no_auth, HTTPStatus.SERVICE_UNAVAILABLE)
    assert (page.title, page.address) == (FAILS, None)
    assert page.says("page_not_set_up")
    await hass.config_entries.async_setup(make_entry(websocket_port=taken_port).entry_id)
    page = await open_page(hass_client_no_auth, HTTPStatus.SERVICE_UNAVAILABLE)
    assert page.title == FAILS
    assert page.says("page_not_running")
    assert f"Another program uses port {taken_port}." in " ".join(page.of("p"))


async def test_a_host_that_the_owner_has_set_works_and_https_is_named(
    hass: HomeAssistant, make_entry: MakeEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """The form has warned of the host, and the owner knows better."""
    await hass.config_entries.async_setup(make_entry(address="ha.local").entry_id)
    page = await open_page(hass_client_no_auth, HTTPStatus.OK, Host="ha.local:8123")
    assert (page.title, page.address) == (WORKS, "http://ha.local:8123/api/xiaozhi/ota")
    assert "Devices connect to ha.local, the address that is set for the gateway" in " ".join(page.of("p"))
    hass.config.internal_url = None
    hass.config.api = ApiConfig("192.168.1.10", "192.168.1.10", 443, use_ssl=True)
    with patch("aiohttp.web.Request.scheme", "https"):
        page = await open_page(hass_client_no_auth, HTTPStatus.OK, Host="ha.local")
    assert (page.title, page.address) == (DOUBTFUL, "https://ha.local/api/xiaozhi/ota")
    assert page.says("page_https")


@pytest.mark.usefixtures("gateway_entry")
async def test_an_address_is_right_if_it_is_ours_or_the_gateway_answers_there(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has another address than its computer, which publishes its ports."""
    own: list[dict[str, str]] = [{"address": "127.0.0.1"}]
    monkeypatch.setattr(check_in_address, "async_get_adapters", AsyncMock(return_value=[{"ipv4": own}]))
    assert await async_leads_here(hass, "127.0.0.1")
    own.clear()
    client = await hass_client_no_auth()
    for port, right in ((client.port, True), (unused_port(), False)):
        hass.config.internal_url = f"http://192.168.1.10:{port}"
        assert await async_leads_here(hass, "127.0.0.1") is right


@pytest.mark.own_home
async def test_behind_a_proxy_and_from_elsewhere_it_says_so(
    hass: HomeAssistant, make_entry: MakeEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """A stranger is told nothing of the house."""
    settings = {"use_x_forwarded_for": True, "trusted_proxies": ["127.0.0.1"]}
    assert await async_setup_component(hass, "http", {"http": settings})
    await hass.config_entries.async_setup(make_entry().entry_id)
    page = await open_page(hass_client_no_auth, HTTPStatus.OK, X_Forwarded_For="192.168.1.20")
    assert (page.title, page.address) == (DOUBTFUL, ADDRESS)
    assert page.says("page_proxy")
    page = await open_page(hass_client_no_auth, HTTPStatus.FORBIDDEN, X_Forwarded_For="8.8.8.8")
    assert (page.title, page.address) == (FAILS, None)
    assert page.says("page_outside")
    assert "8.8.8.8" in " ".join(page.of("p"))
    with patch.object(access, "is_cloud_connection", return_value=True):
        page = await open_page(hass_client_no_auth, HTTPStatus.FORBIDDEN)
    assert page.says("page_outside")
