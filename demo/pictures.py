"""The command behind `scripts/pictures`: takes the screenshots of the documentation, and its films.

Those that end in `-zh` are of a second Home Assistant, in Chinese. They take a font that has its characters,
such as Debian's `fonts-noto-cjk`, which `scripts/setup` does not install.
"""

import argparse
import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
import sys
import tempfile
from typing import Final

from playwright.async_api import expect

from simulator import Board, Profile, SimulatedDevice, converse

from . import house
from .abilities import Owner, put_firmware, set_up_vision
from .browser import WebPage, web_page
from .chinese import chinese_assistant
from .client import Client
from .engines import small_speech, spoken
from .errors import DemoError
from .film import CHINESE, ENGLISH, record
from .hass import PASSWORD, USERNAME, home_assistant
from .processes import HOST, ROOT, free_port
from .talk import talk_page

_FOLDER: Final = ROOT / "docs" / "images"
_DRAWINGS: Final = Path(__file__).parent / "drawings"
_DOMAIN: Final = "xiaozhi"
_INTEGRATION: Final = "XiaoZhi"
_DEVICE: Final = "XiaoZhi"
_ROOM: Final = "Kitchen"
# Shown as the address of Home Assistant, which really runs on loopback.
_ADDRESS: Final = "192.168.1.10"
_ADDRESS_WARNING: Final = "This is not an address of this computer"
_PORT: Final = 8123
# With camera and lights.
_BOARD: Final = Board(
    name="df-k10",
    type="df-k10",
    folder="dfrobot/df-k10",
    width=240,
    height=320,
    camera=True,
    backlight=True,
    theme=True,
    snapshot=True,
    chip_temperature=True,
)
_MAC: Final = "24:6f:28:aa:a4:5f"
_OTHER_DEVICE: Final = "Living Room XiaoZhi"
_OTHER_MAC: Final = "24:6f:28:aa:b1:06"
_WAKE_WORDS: Final = {"en": "Hi ESP", "zh-Hans": "你好小智"}
_SAID: Final = "what time is it"
# Not in its own room, for which its answer would be a sound.
_SWITCHED: Final = "turn on the living room light"
_WIDTH: Final = 1280
_HEIGHT: Final = 900
# Enough for the whole page of a device.
_TALL: Final = 2600
# Days after Monday, and hours.
_ALARMS: Final = (
    (0, 7, {"summary": "Get up", "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"}),
    (3, 18, {"summary": "Bins", "description": "Take the bins out.", "rrule": "FREQ=WEEKLY"}),
    (5, 9, {"summary": "Swim"}),
)
_CHINESE_NAMES: Final = {"Kitchen": "厨房", "Living Room": "客厅", "Bedroom": "卧室", "Hall": "门厅"}


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/pictures", description="Take the screenshots of the documentation again."
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where to write them (docs/images)")
    parser.add_argument("--language", choices=_TAKE, help="only those in one language")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        for language in [options.language] if options.language else _TAKE:
            with tempfile.TemporaryDirectory(prefix="xiaozhi-pictures-") as work:
                asyncio.run(_take(language, options.folder, Path(work)))
    except DemoError as err:
        sys.stderr.write(f"pictures: {err}\n")
        return 1
    return 0


async def _take(language: str, folder: Path, work: Path) -> None:
    if free_port(_PORT) != _PORT:
        raise DemoError(f"port {_PORT}, which the pictures show, is in use")
    async with AsyncExitStack() as stack:
        speech = await stack.enter_async_context(small_speech(work))
        configuration = work / "config"
        _, client = await stack.enter_async_context(home_assistant(configuration, _PORT, language=language))
        await asyncio.to_thread(put_firmware, configuration, _BOARD)
        await house.furnish(client)
        await house.set_up_speech(client, speech)
        await set_up_vision(client)
        url = f"http://{HOST}:{_PORT}"
        web = await stack.enter_async_context(web_page(url, width=_WIDTH, height=_HEIGHT))
        await web.log_in(USERNAME, PASSWORD)
        device = SimulatedDevice(Profile(board=_BOARD), f"{url}/api/xiaozhi/ota", mac=_MAC)
        await stack.enter_async_context(device)
        owner = Owner(client=client, device=device, name=_DEVICE, wake_word=_WAKE_WORDS[language])
        await _TAKE[language](web, owner, folder)


async def _take_english(web: WebPage, owner: Owner, folder: Path) -> None:
    await _wifi(web, folder / "wifi.png")
    await _gateway(web, folder)
    await _use_loopback(owner.client)
    await _pairing(web, owner, folder)
    await _use(web, owner)
    await _device_page(web, owner, folder / "device.png")
    await _firmware(web, folder)
    await _phrases(web, folder)
    await _calendar(web, folder)
    await _triggers(web, folder)
    await _response_time(web, owner, folder)
    await _talk_page(web, owner, folder)
    await record(web, owner.client, owner.device, folder, ENGLISH)
    await _voice_output(web, owner, folder)


async def _take_chinese(web: WebPage, owner: Owner, folder: Path) -> None:
    client = owner.client
    await _wifi(web, folder / "wifi-zh.png", "#zh")
    await _use_loopback(client)
    for area in await client.command("config/area_registry/list"):
        name = _CHINESE_NAMES[area["name"]]
        await client.command("config/area_registry/update", area_id=area["area_id"], name=name)
    await house.pair(client, owner.device, "小智", house.Room.KITCHEN)
    async with chinese_assistant(client, owner.device.mac):
        for lamp, name in zip(house.LAMPS, ("厨房灯", "客厅灯"), strict=True):
            await client.command("config/entity_registry/update", entity_id=lamp, name=name)
        language = {"language": "zh-Hans", "number_format": "language"}
        await client.command("frontend/set_user_data", key="language", value=language)
        await web.page.reload()
        await _use(web, owner)
        await _device_page(web, owner, folder / "device-zh.png")
        await record(web, client, owner.device, folder, CHINESE)


_TAKE: Final = {"en": _take_english, "zh-Hans": _take_chinese}


async def _wifi(web: WebPage, file: Path, language: str = "") -> None:
    """Draw the page of a device's Wi-Fi set-up, with the address."""
    async with await web.page.context.new_page() as page:
        await page.goto((_DRAWINGS / "wifi.html").as_uri() + language)
        await page.locator("#address").evaluate(
            "(field, address) => field.textContent = address", f"http://{_ADDRESS}:{_PORT}/api/xiaozhi/ota"
        )
        await WebPage(page, page.url).pictures(file, page.locator("body"))


async def _gateway(web: WebPage, folder: Path) -> None:
    """Fill in the form up to the page with the address, and close it."""
    await web.add_integration(_INTEGRATION)
    await web.read("Set up the gateway")
    await web.pictures(folder / "gateway.png", web.dialog)
    await web.press("Advanced")
    await web.fill_ports()
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
    await house.set_up_gateway(client)


async def _pairing(web: WebPage, owner: Owner, folder: Path) -> None:
    device = owner.device
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


async def _use(web: WebPage, owner: Owner) -> None:
    """Talk to the device, take a photo, colour its lights, and set its alarms."""
    await _talk(owner)
    async with await web.page.context.new_page() as page:
        await page.set_viewport_size({"width": 320, "height": 240})
        await page.goto((_DRAWINGS / "view.svg").as_uri())
        owner.device.values["view"] = await page.screenshot(type="jpeg")
    await owner.call("button", "press", "take_photo")
    await owner.colour_light()
    await owner.call("notify", "send_message", message="Dinner is ready.")
    calendar = await owner.entity("calendar", "alarms")
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    monday = now - timedelta(days=now.weekday())
    for day, hour, event in _ALARMS:
        start = (monday + timedelta(days=day)).replace(hour=hour, minute=0)
        start += timedelta(days=7) * (start < now)
        times = {"dtstart": start.isoformat(), "dtend": (start + timedelta(hours=1)).isoformat()}
        await owner.client.command("calendar/event/create", entity_id=calendar, event=event | times)
    # One rings, and is stopped.
    await owner.set_alarm(3, "Tea")
    await owner.device.wait_for(lambda: "Tea" in owner.device.screen.system_text)
    await owner.call("button", "press", "stop_alarm")


async def _talk(owner: Owner, said: str = _SAID) -> None:
    await converse(owner.device, await spoken(said), word=owner.wake_word)


async def _device_page(web: WebPage, owner: Owner, file: Path) -> None:
    """Show the whole page of the device while it speaks."""
    page = web.page
    await page.set_viewport_size({"width": _WIDTH, "height": _TALL})
    cards = page.locator(
        "ha-device-info-card, ha-device-entities-card, ha-device-via-devices-card, ha-logbook"
    )
    await web.show_page(f"/config/devices/device/{await owner.device_id()}", cards.first)
    await web.read("DFRobot")
    talking = asyncio.create_task(_talk(owner))
    await owner.device.wait_for(lambda: bool(owner.device.screen.assistant_text))
    await web.pictures(file, *await cards.all(), still=False)
    await talking
    await page.set_viewport_size({"width": _WIDTH, "height": _HEIGHT})


async def _firmware(web: WebPage, folder: Path) -> None:
    """Show the available firmware."""
    await web.entities("Configuration").get_by_text("Firmware").click()
    await web.read("Installed version")
    await web.pictures(folder / "firmware.png", web.dialog)
    await web.page.get_by_role("button", name="Close").last.click()


async def _phrases(web: WebPage, folder: Path) -> None:
    """Type phrases that are to wake the device."""
    await web.show_integration(_INTEGRATION)
    await web.subentry_row(_DEVICE).get_by_role("button", name="Change device").click()
    for phrase in ("hello kitchen", "good morning house"):
        await web.press("Add Wake phrases")
        await web.field("Wake phrases").last.fill(phrase)
    phrases, threshold = (
        web.page.locator(f"ha-selector-{kind}").filter(visible=True).last for kind in ("text", "number")
    )
    await threshold.scroll_into_view_if_needed()
    await web.pictures(folder / "phrases.png", phrases, threshold)
    await web.press("Close")


async def _calendar(web: WebPage, folder: Path) -> None:
    """Show the alarms of a month."""
    calendar = web.page.locator("ha-full-calendar")
    await web.show_page("/calendar", calendar)
    # This one may begin at its end.
    await calendar.get_by_role("button", name="Next").click()
    await web.pictures(folder / "calendar.png", calendar)


async def _triggers(web: WebPage, folder: Path) -> None:
    """Choose a trigger of the device in the editor of automations."""
    await web.show_page("/config/automation/edit/new", web.button("Add trigger"))
    await web.press("Add trigger")
    await web.read("By type")
    await web.page.get_by_text(_ROOM, exact=True).last.click()
    heading = web.page.get_by_text(_INTEGRATION, exact=True).last
    await heading.evaluate("heading => heading.scrollIntoView({ block: 'start' })")
    await web.pictures(folder / "triggers.png", web.dialog)
    await web.page.keyboard.press("Escape")


async def _response_time(web: WebPage, owner: Owner, folder: Path) -> None:
    """Show how long an answer took, and its parts."""
    await house.enable_entity(owner.client, owner.device.mac, "response_time")
    await _talk(owner)
    await web.show_device(_INTEGRATION, _DEVICE)
    await web.entities("Diagnostic").get_by_text("Response time").click()
    await web.open_menu(web.page.locator("ha-more-info-dialog"), "Details")
    await web.read("Attributes")
    await web.pictures(folder / "response-time.png", web.dialog)


async def _voice_output(web: WebPage, owner: Owner, folder: Path) -> None:
    """Choose another device, which speaks for this one."""
    profile = Profile(board=_BOARD, version="2.5.0")
    async with SimulatedDevice(profile, f"{web.url}/api/xiaozhi/ota", mac=_OTHER_MAC) as other:
        await house.pair(owner.client, other, _OTHER_DEVICE, house.Room.LIVING_ROOM)
        page = f"/config/devices/device/{await owner.device_id()}"
        await web.show_page(page, web.entities("Configuration"))
        row = web.entities("Configuration").locator("hui-select-entity-row").filter(has_text="Voice output")
        await row.locator("ha-select").click()
        choice = web.page.get_by_text(f"{_OTHER_DEVICE} Speaker").filter(visible=True).first
        await web.pictures(folder / "voice-output.png", row, choice)
        await web.page.keyboard.press("Escape")


async def _talk_page(web: WebPage, owner: Owner, folder: Path) -> None:
    """Show the page to talk to a device while it answers."""
    async with (
        await web.page.context.new_page() as page,
        talk_page({"kitchen": owner}, free_port(), home=web.url, small=False) as url,
    ):
        await page.goto(url)
        talking = asyncio.create_task(_talk(owner, _SWITCHED))
        await expect(page.locator("#answer")).not_to_be_empty()
        await expect(page.locator(".lamp.on")).to_be_visible()
        talk, box = WebPage(page, url), page.locator(".box")
        await talk.pictures(folder / "talk.png", box, *await page.locator("aside").all(), still=False)
        await talk.pictures(folder / "screen.png", box, still=False)
        await talking


if __name__ == "__main__":
    sys.exit(main())
