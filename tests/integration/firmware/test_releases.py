"""Firmware from a list of releases on the web."""

import asyncio
from collections.abc import AsyncGenerator
import json
from typing import Any

from aiohttp import ClientError, web
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.test_util.aiohttp import AiohttpClientMocker

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.firmware.available_firmware import (
    CONF_FIRMWARE_RELEASES,
    STOCK_RELEASES,
    FirmwareFiles,
)
from simulator import build_image
from tests.integration.boxes import state_of
from tests.integration.firmware.conftest import (
    BOARD,
    FIRMWARE,
    SIZE,
    boot_linked,
    fetches,
    install,
    look,
    versions,
)
from tests.integration.media.media_server import MediaServer, media_server
from tests.integration.names import Boot
from tests.rules.firmware.firmware_files import archive


class Releases:
    """A server with a list of releases, and a file."""

    def __init__(self, server: MediaServer) -> None:
        image = build_image(version="2.4.2", size=SIZE)
        self._server = server
        self.file = server.file("/file", archive(**{"merged-binary__bin": image}))
        self.url = server.url("/releases")

    @property
    def fetched(self) -> int:
        return self._server.paths().count("/file")

    def list(self, listed: Any) -> None:
        """List these."""
        self._server.file("/releases", listed if isinstance(listed, str) else json.dumps(listed))

    def hold(self, listed: str) -> asyncio.Event:
        """List these when the event is set."""
        answer = asyncio.Event()

        async def handle(_request: web.Request) -> web.Response:
            await answer.wait()
            return web.Response(text=listed)

        self._server.handlers["/releases"] = handle
        return answer


@pytest.fixture
async def releases(socket_enabled: None) -> AsyncGenerator[Releases]:
    async with media_server() as server:
        yield Releases(server)


async def point_to(hass: HomeAssistant, entry: MockConfigEntry, address: str) -> None:
    hass.config_entries.async_update_entry(entry, data={**entry.data, CONF_FIRMWARE_RELEASES: address})
    assert await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()


def release(version: str, file: str, **more: Any) -> dict[str, Any]:
    """Return a release as GitHub lists it."""
    return {
        "tag_name": f"v{version}",
        "html_url": f"https://github.com/78/xiaozhi-esp32/releases/tag/v{version}",
        "draft": False,
        "prerelease": False,
        "assets": [
            {"name": f"v{version}_{board}.zip", "browser_download_url": file, "size": 1}
            for board in (BOARD, "xmini-c3")
        ],
        **more,
    }


@pytest.mark.parametrize("as_list", [True, False])
async def test_releases_on_the_web_are_offered_and_fetched_when_they_are_wanted(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, releases: Releases, as_list: bool
) -> None:
    """The list may be of all releases or of the last one, and holds a thousand files at most."""
    newest = release("2.4.2", releases.file)
    old, draft = release("2.3.0", releases.file), release("2.5.0", releases.file, draft=True)
    others = [{"name": f"v1.{n}.0_b.zip", "browser_download_url": releases.file} for n in range(1000)]
    beyond = [{"assets": others}, release("2.6.0", releases.file)]
    listed = [None, old, newest, draft, {"assets": [{"name": 7}, "?"]}, *beyond]
    releases.list(listed if as_list else newest)
    await point_to(hass, linked_entry, releases.url)
    box = await boot_linked(hass, boot)
    await look(hass)
    assert versions(hass) == ("on", "2.4.1", "2.4.2")
    state = state_of(hass, FIRMWARE)
    assert state.attributes["release_url"].endswith("/tag/v2.4.2")
    assert releases.fetched == 0
    await install(hass)
    assert (box.profile.version, releases.fetched) == ("2.4.2", 1)
    # The list is known, and has nothing newer.
    assert versions(hass) == ("off", "2.4.2", "2.4.2")


async def test_a_release_that_is_not_what_it_says_is_refused(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, releases: Releases
) -> None:
    releases.list([release("2.4.3", releases.file), release("2.4.4", releases.url)])
    await point_to(hass, linked_entry, releases.url)
    box = await boot_linked(hass, boot)
    await look(hass)
    for version, reason in (
        ("2.4.3", "but it holds version 2.4.2"),
        ("2.4.4", "not a firmware for an ESP32"),
    ):
        with pytest.raises(ServiceValidationError, match=reason):
            await install(hass, version=version)
    assert fetches(box) == 0


async def test_a_list_that_cannot_be_used_is_told(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, releases: Releases
) -> None:
    await boot_linked(hass, boot)
    file = '[{"assets": [{"name": "v2.4.2_a.zip", "browser_download_url": "file:///etc/passwd"}]}]'
    for listed, reason in (
        ("<html>", "not a list of releases"),
        ("[" * 100_000, "not a list of releases"),
        ("[]", "holds no firmware"),
        ('{"message": "API rate limit exceeded"}', "holds no firmware"),
        (file, "holds no firmware"),
        (" " * 2 * 1024 * 1024, "sends more than 1 MiB"),
    ):
        releases.list(listed)
        await point_to(hass, linked_entry, releases.url)
        await look(hass)
        # Nobody says that it is up to date.
        assert versions(hass) == ("unknown", "2.4.1", None)
        issue = ir.async_get(hass).async_get_issue(DOMAIN, "firmware_releases")
        assert issue is not None
        assert issue.translation_placeholders is not None
        assert reason in issue.translation_placeholders["reason"]
    # A look that goes on when the gateway has stopped tells nobody: nothing would delete its issue.
    answer = releases.hold("<html>")
    await point_to(hass, linked_entry, releases.url)
    late = hass.async_create_task(linked_entry.runtime_data.part(FirmwareFiles).async_refresh())
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    answer.set()
    await late
    assert ir.async_get(hass).async_get_issue(DOMAIN, "firmware_releases") is None


async def change(hass: HomeAssistant, entry: MockConfigEntry, **changes: Any) -> Any:
    """Change the gateway in its form, in which the address of a list is empty otherwise."""
    form = await entry.start_reconfigure_flow(hass)
    fields = {key: value for key, value in entry.data.items() if key != CONF_FIRMWARE_RELEASES}
    result = await hass.config_entries.flow.async_configure(form["flow_id"], fields | changes)
    await hass.async_block_till_done()
    return result


@pytest.mark.own_home
async def test_the_form_tries_the_address_of_a_list_such_as_the_stock_one(
    hass: HomeAssistant, linked_entry: MockConfigEntry, own_address: None, aioclient_mock: AiohttpClientMocker
) -> None:
    """It is asked for when the gateway is changed, and may be taken back."""
    own = "http://192.168.1.10/releases"
    for field, given, url, fault in (
        (CONF_FIRMWARE_RELEASES, own, own, "no_releases"),
        ("stock_releases", True, STOCK_RELEASES, "no_stock_releases"),
    ):
        aioclient_mock.get(url, text="<html>")
        assert (await change(hass, linked_entry, **{field: given}))["errors"] == {field: fault}
        aioclient_mock.clear_requests()
        aioclient_mock.get(url, json=release("2.4.2", "https://github.com/file"))
        assert (await change(hass, linked_entry, **{field: given}))["reason"] == "reconfigure_successful"
        assert linked_entry.data[CONF_FIRMWARE_RELEASES] == url
        # What is saved is not tried again: while it is down, all else can be changed.
        aioclient_mock.clear_requests()
        aioclient_mock.get(url, exc=ClientError)
        result = await change(hass, linked_entry, address="ha.lan", **{field: given})
        assert result["reason"] == "reconfigure_successful"
        form: Any = await linked_entry.start_reconfigure_flow(hass)
        fields = form["data_schema"].schema
        shown = {str(key): (key.description or {}).get("suggested_value") for key in fields}
        expected = {"stock_releases": None, CONF_FIRMWARE_RELEASES: None} | {field: given}
        assert {key: shown[key] for key in expected} == expected
        assert (await change(hass, linked_entry, stock_releases=False))["reason"] == "reconfigure_successful"
        assert CONF_FIRMWARE_RELEASES not in linked_entry.data
    aioclient_mock.get("http://down/", exc=ClientError)
    for address in ("nowhere", "http://", "http://[::1", "http://host:99999/", "http://down/"):
        result = await change(hass, linked_entry, **{CONF_FIRMWARE_RELEASES: address})
        assert result["errors"] == {CONF_FIRMWARE_RELEASES: "no_releases"}
