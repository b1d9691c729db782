"""The command behind `scripts/pictures`: takes the screenshots of the documentation."""

import argparse
import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from socket import SOCK_DGRAM
import sys
import tempfile
from typing import Final

from playwright.async_api import expect

from simulator import SimulatedDevice, converse, get_profile

from . import house
from .abilities import Owner, put_firmware
from .browser import WebPage, web_page
from .client import Client
from .engines import small_speech, spoken
from .errors import DemoError
from .film import record
from .hass import PASSWORD, USERNAME, home_assistant
from .processes import HOST, ROOT, free_port
from .talk import talk_page

_FOLDER: Final = ROOT / "docs" / "images"
_WIFI_PAGE: Final = Path(__file__).parent / "drawings" / "wifi.html"
_DOMAIN: Final = "xiaozhi"
_INTEGRATION: Final = "XiaoZhi"
_DEVICE: Final = "XiaoZhi"
_ROOM: Final = "Kitchen"
# Shown as the address of Home Assistant, which really runs on loopback.
_ADDRESS: Final = "192.168.1.10"
_ADDRESS_WARNING: Final = "This is not an address of this computer"
_PORT: Final = 8123
_BOARD: Final = "s3"
_MAC: Final = "24:6f:28:aa:a4:5f"
_SAID: Final = "what time is it"
_PHRASES: Final = ("hello kitchen", "good morning house")
# Not in its own room, for which its answer would be a sound.
_SWITCHED: Final = "turn on the living room light"
_WIDTH: Final = 1280
_HEIGHT: Final = 1300


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/pictures", description="Take the screenshots of the documentation again."
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where to write them (docs/images)")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="xiaozhi-pictures-") as work:
        try:
            asyncio.run(_take(folder, Path(work)))
        except DemoError as err:
            sys.stderr.write(f"pictures: {err}\n")
            return 1
    return 0


async def _take(folder: Path, work: Path) -> None:
    if free_port(_PORT) != _PORT:
        raise DemoError(f"port {_PORT}, which the pictures show, is in use")
    async with AsyncExitStack() as stack:
        speech = await stack.enter_async_context(small_speech(work))
        configuration = work / "config"
        _, client = await stack.enter_async_context(home_assistant(configuration, _PORT))
        profile = get_profile(_BOARD)
        await asyncio.to_thread(put_firmware, configuration, profile.board)
        await house.furnish(client)
        await house.set_up_speech(client, speech)
        url = f"http://{HOST}:{_PORT}"
        web = await stack.enter_async_context(web_page(url, width=_WIDTH, height=_HEIGHT))
        await web.log_in(USERNAME, PASSWORD)
        await _wifi(web, folder)
        await _gateway(web, folder)
        await _use_loopback(client)
        device = await stack.enter_async_context(SimulatedDevice(profile, f"{url}/api/xiaozhi/ota", mac=_MAC))
        await _pairing(web, client, device, folder)
        await _conversation(web, device, folder)
        await _firmware(web, folder)
        await _phrases(web, folder)
        await _response_time(web, client, device, folder)
        await _talk_page(web, client, device, folder)
        await record(web, client, device, folder)


def _free_ports() -> dict[str, int]:
    return {
        "websocket_port": free_port(),
        "mqtt_port": free_port(),
        "udp_port": free_port(transport=SOCK_DGRAM),
    }


async def _wifi(web: WebPage, folder: Path) -> None:
    """Draw the page of a device's Wi-Fi set-up, with the address."""
    page = await web.page.context.new_page()
    await page.goto(_WIFI_PAGE.as_uri())
    await page.locator("#address").evaluate(
        "(field, address) => field.textContent = address", f"http://{_ADDRESS}:{_PORT}/api/xiaozhi/ota"
    )
    drawn = WebPage(page, page.url)
    await drawn.pictures(folder / "wifi.png", page.locator("body"))
    await page.close()


async def _gateway(web: WebPage, folder: Path) -> None:
    """Fill in the form up to the page with the address, and close it."""
    await web.add_integration(_INTEGRATION)
    await web.read("Set up the gateway")
    await web.pictures(folder / "gateway.png", web.dialog)
    ports = _free_ports()
    await web.unfold("Advanced")
    await web.field("Port for WebSocket").fill(str(ports["websocket_port"]))
    await web.field("Port for MQTT").fill(str(ports["mqtt_port"]))
    await web.field("Port for speech over UDP").fill(str(ports["udp_port"]))
    await web.field("Address of Home Assistant").fill(_ADDRESS)
    await web.press("Submit")
    # It is not this computer's, of which the form warns once.
    await web.read(_ADDRESS_WARNING)
    await web.press("Submit")
    await web.read("Connect a device")
    await web.pictures(folder / "address.png", web.dialog)
    await web.press("Close")


async def _use_loopback(client: Client) -> None:
    """Let simulated devices reach the gateway, which the pictures show at another address."""
    await client.remove_entries(_DOMAIN)
    await house.set_up_gateway(client, **_free_ports())


async def _pairing(web: WebPage, client: Client, device: SimulatedDevice, folder: Path) -> None:
    await device.boot()
    await web.show_integrations()
    await web.read("Discovered")
    await web.pictures(folder / "discovered.png", web.card(_MAC[-5:].upper()))
    await web.add_discovered(_MAC[-5:].upper())
    await web.read("Type the code")
    await web.pictures(folder / "code.png", web.dialog)
    await web.field("Code").fill(device.pairing_code or "")
    await web.press("Submit")
    await web.field("Name").fill(_DEVICE)
    await web.choose_area(_ROOM)
    await web.press("Submit")
    await web.read(f"{_DEVICE} was added.")
    await web.page.get_by_role("button", name="Close").last.click()
    await device.wait_paired()


async def _conversation(web: WebPage, device: SimulatedDevice, folder: Path) -> None:
    """Show the page of the device while it speaks."""
    await web.show_device(_INTEGRATION, _DEVICE)
    await web.read("Screen brightness")
    talking = asyncio.create_task(_talk(device))
    await expect(web.entities("Assist")).to_contain_text("Responding")
    room = web.page.get_by_role("link", name=f"In {_ROOM}")
    await web.pictures(folder / "device.png", room, web.entities("Assist"), still=False)
    await talking


async def _talk(device: SimulatedDevice) -> None:
    await converse(device, await spoken(_SAID))


async def _firmware(web: WebPage, folder: Path) -> None:
    """Show the available firmware."""
    await web.entities("Configuration").get_by_text("Firmware").click()
    await web.read("Installed version")
    await web.pictures(folder / "firmware.png", web.dialog)


async def _phrases(web: WebPage, folder: Path) -> None:
    """Type phrases that are to wake the device."""
    await web.show_integration(_INTEGRATION)
    await web.subentry_row(_DEVICE).get_by_role("button", name="Change device").click()
    for phrase in _PHRASES:
        await web.press("Add Phrases that wake it")
        await web.field("Phrases that wake it").last.fill(phrase)
    phrases, threshold = (web.page.locator(f"ha-selector-{kind}").last for kind in ("text", "number"))
    await threshold.scroll_into_view_if_needed()
    await web.pictures(folder / "phrases.png", phrases, threshold)
    await web.press("Close")


async def _response_time(web: WebPage, client: Client, device: SimulatedDevice, folder: Path) -> None:
    """Show how long an answer took, and its parts."""
    await house.enable_entity(client, device.mac, "response_time")
    await _talk(device)
    await web.show_device(_INTEGRATION, _DEVICE)
    await web.entities("Diagnostic").get_by_text("Response time").click()
    await web.open_menu(web.page.locator("ha-more-info-dialog"), "Details")
    await web.read("Attributes")
    await web.pictures(folder / "response-time.png", web.dialog)


async def _talk_page(web: WebPage, client: Client, device: SimulatedDevice, folder: Path) -> None:
    """Show the page to talk to a device while it answers."""
    page = await web.page.context.new_page()
    box = Owner(client=client, device=device, name="Kitchen", wake_word="hi xiaozhi")
    async with talk_page({"kitchen": box}, free_port(), home=web.url, small=False) as url:
        await page.goto(url)
        talking = asyncio.create_task(converse(device, await spoken(_SWITCHED)))
        await expect(page.locator("#answer")).not_to_be_empty()
        await expect(page.locator(".lamp.on")).to_be_visible()
        talk = WebPage(page, url)
        await talk.pictures(folder / "talk.png", page.locator(".box"), page.locator("aside"), still=False)
        await talking
    await page.close()


if __name__ == "__main__":
    sys.exit(main())
