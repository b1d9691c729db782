"""What an owner does in Home Assistant's web page beside the first hour, with a real browser."""

from collections.abc import AsyncGenerator
import contextlib
from pathlib import Path
import re
from socket import SOCK_DGRAM

from playwright.async_api import TimeoutError as NotThereError, expect
import pytest
import pytest_asyncio

from demo.browser import WebPage, web_page
from demo.client import Client
from demo.errors import DemoError
from demo.hass import PASSWORD, USERNAME, home_assistant
from demo.house import set_up_gateway
from demo.processes import HOST, free_port
from simulator import Outcome, SimulatedDevice, State, get_profile

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

_NAME = "XiaoZhi"
_DOMAIN = "xiaozhi"
_WAKE_WORD = "hi xiaozhi"
# What the page of a device shows, by the heading of the card that shows it.
_ENTITIES = {
    "Notifiers": ["Screen message"],
    "Assist": ["Hall XiaoZhi"],
    "Configuration": [
        "Assistant",
        "Conversations",
        "End of speech",
        "Keep listening",
        "Restart",
        "Screen brightness",
        "Screen theme",
        "Volume",
    ],
    "Diagnostic": ["Battery", "Charging", "Connectivity"],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(
    shared_loop: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[tuple[str, Client]]:
    """A Home Assistant without the integration: its address, and a way to ask it."""
    port = free_port()
    async with home_assistant(tmp_path_factory.mktemp("house"), port) as (_, client):
        yield f"http://{HOST}:{port}", client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab(house: tuple[str, Client]) -> AsyncGenerator[WebPage]:
    """A browser in which the owner is logged in."""
    url, _ = house
    async with contextlib.AsyncExitStack() as stack:
        try:
            web = await stack.enter_async_context(web_page(url))
        except DemoError as err:
            pytest.skip(str(err))
        await web.log_in(USERNAME, PASSWORD)
        yield web


@pytest_asyncio.fixture(loop_scope="module")
async def web(tab: WebPage, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[WebPage]:
    """The browser; a picture of it is kept when the test fails."""
    failures = request.session.testsfailed
    yield tab
    if request.session.testsfailed > failures:
        await tab.picture(tmp_path / "failure.png")


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(socket_enabled: None, house: tuple[str, Client]) -> str:
    """A gateway, however it came about; the address to type into devices."""
    url, client = house
    if not await client.command("config_entries/get", domain=_DOMAIN):
        await set_up_gateway(client, **_free_ports())
    return f"{url}/api/xiaozhi/ota"


def _free_ports() -> dict[str, int]:
    return {
        "websocket_port": free_port(),
        "mqtt_port": free_port(),
        "udp_port": free_port(transport=SOCK_DGRAM),
    }


async def _pair(client: Client, device: SimulatedDevice, name: str) -> None:
    """Pair a device without the web page."""
    await device.boot()
    cards = await client.flows(_DOMAIN, "integration_discovery")
    [card] = [card for card in cards if card["context"]["unique_id"] == device.mac]
    form = await client.submit(await client.open_flow(card), code=device.pairing_code)
    await client.submit(form, name=name)
    await device.wait_paired()


def _device(gateway: str, number: int) -> SimulatedDevice:
    return SimulatedDevice(get_profile(), gateway, mac=f"24:6f:28:aa:c0:{number:02x}")


async def test_a_port_that_is_in_use_is_told_beside_its_field(
    gateway: str, house: tuple[str, Client], web: WebPage
) -> None:
    """When the gateway is changed; nothing is saved."""
    _, client = house
    [entry] = await client.command("config_entries/get", domain=_DOMAIN)
    await web.show_integration(_NAME)
    await web.open_menu(web.gateway_row(), "Reconfigure")
    await web.read(gateway)
    taken = re.search(r":(\d+)/", gateway)
    assert taken
    await web.field("Port for MQTT").fill(taken[1])
    await web.press("Submit")
    await web.read("Another program uses this port. Choose another one.")
    await web.press("Close")
    assert [entry] == await client.command("config_entries/get", domain=_DOMAIN)


async def test_a_device_is_changed_and_restarts_into_its_new_link(
    gateway: str, house: tuple[str, Client], web: WebPage
) -> None:
    """The form shows what was chosen before, and says what happens now."""
    _, client = house
    async with _device(gateway, 3) as device:
        await _pair(client, device, "Hall XiaoZhi")
        await web.show_integration(_NAME)
        await web.subentry_row("Hall XiaoZhi").get_by_role("button", name="Change device").click()
        await web.read("Change Hall XiaoZhi")
        await web.option("WebSocket").click()
        await web.press("Submit")
        await web.read("Hall XiaoZhi restarts now, and then uses its new link.")
        await device.wait_for(lambda: bool(device.events("restart")))
        await device.wait_state(State.IDLE)
        await web.page.get_by_role("button", name="Close").last.click()

        await web.subentry_row("Hall XiaoZhi").get_by_role("button", name="Change device").click()
        await expect(web.option("WebSocket")).to_be_checked()
        await web.press("Close")
        await web.show_device(_NAME, "Hall XiaoZhi")
        await expect(web.entities("Diagnostic")).to_contain_text("Disconnected")
        for card, names in _ENTITIES.items():
            for name in names:
                await expect(web.entities(card)).to_contain_text(name)


async def test_the_voice_set_up_of_home_assistant_ends_without_an_error(
    house: tuple[str, Client], web: WebPage, gateway: str
) -> None:
    """It plays a test sound, has the user say the wake word, and asks for the area and the assistant."""
    _, client = house
    profile = get_profile(version="2.5.0")
    async with SimulatedDevice(profile, gateway, mac="24:6f:28:aa:c0:77") as device:
        await _pair(client, device, "Attic XiaoZhi")
        await device.wait_state(State.IDLE)
        # The step for the wake word is left out until the device has told of one.
        await device.wake(_WAKE_WORD)
        await device.wait_state(State.IDLE, 30)
        await web.show_device(_NAME, "Attic XiaoZhi")
        # Home Assistant's page looks only once for a voice assistant, sometimes before it knows the entities.
        set_up = web.page.get_by_text("Set up voice assistant").first
        for _ in range(5):
            with contextlib.suppress(NotThereError):
                await set_up.wait_for(timeout=5000)
                break
            await web.page.go_back()
            await web.device_row("Attic XiaoZhi").click()
        await set_up.click()
        announcement = await device.wait_announced()
        assert announcement.outcome is Outcome.PLAYED
        await web.read(f"Say '{_WAKE_WORD}' to wake the device up")
        await expect(web.page.get_by_text("Change wake word")).to_have_count(0)
        await device.wake(_WAKE_WORD)
        await web.read(f"Say '{_WAKE_WORD}' again")
        await device.wait_state(State.IDLE, 30)
        await device.wake(_WAKE_WORD)
        await web.read("Select area")
        await web.press("Skip")
        # From here on it is about Home Assistant's own speech engines, of which this house has none.
        await web.read("How do you want your voice to be processed?")
        await expect(web.page.locator("ha-alert")).to_have_count(0)
