"""A newcomer's straight way to the first answer, by another wake word, in three languages.

On a computer, and on a phone in dark colours. A picture of each step is kept, and the seconds until it: look
at them with `--basetemp FOLDER`. Home Assistant is a new one that can hear and speak. What it fetches comes
from a server that stands for GitHub's.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
import json
from pathlib import Path
from time import monotonic
from typing import Final

from playwright.async_api import expect
import pytest
import pytest_asyncio

from custom_components.xiaozhi.guests.wake_words.speech_models import TABLE
from demo import house
from demo.browser import WebPage
from demo.chinese import assistant_for
from demo.client import Client
from demo.engines import small_speech, spoken
from demo.hass import PASSWORD, USERNAME, home_assistant
from demo.parts import SERVED, SPEECH_MODELS
from demo.processes import HOST, free_port
from simulator import SimulatedDevice, State, converse, get_profile
from tests.e2e.browser import SIZES, browser, failure_picture, wider_parts
from tests.e2e.house import COMMAND, PACE
from tests.integration.firmware.wake_words.packs import pack, release
from tests.integration.media.media_server import MediaServer, media_server

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

_WORD: Final = "Jarvis"
# The satellite, its speaker, the screen's messages, alarms, microphone, *Do not disturb*, *Voice messages*.
_TILES: Final = 7


@dataclass(frozen=True, kw_only=True)
class _Home:
    """A home where a language is spoken."""

    device: str
    """What a device is called."""
    command: str
    louder: str
    """Asks the device itself."""
    message: str
    """Sends a voice message to all other devices."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of the lamp and of areas, by the English ones."""


_HOMES: Final = {
    "en": _Home(
        device="XiaoZhi",
        command=COMMAND,
        louder="Louder, please",
        message="Send a voice message to everyone",
    ),
    "de": _Home(
        device="XiaoZhi",
        command="Schalte das Küchenlicht ein",
        louder="Sprich lauter",
        message="Schick eine Sprachnachricht an alle",
        names={"Kitchen light": "Küchenlicht", "Bedroom": "Schlafzimmer", "Kitchen": "Küche"},
    ),
    "zh-Hans": _Home(
        device="小智",
        command="打开厨房灯",
        louder="大声一点",
        message="给所有人发语音留言",
        names={"Kitchen light": "厨房灯", "Bedroom": "卧室", "Kitchen": "厨房"},
    ),
}


def _serve(server: MediaServer, version: str, board: str) -> None:
    """Serve the release of a board, and Espressif's models."""
    archive = release(pack(), version)
    url = server.file("/file", archive)
    assets = [{"name": f"v{version}_{board}.zip", "browser_download_url": url, "size": len(archive)}]
    server.file(f"/releases/tags/v{version}", json.dumps({"assets": assets}))
    for model, files in SPEECH_MODELS.items():
        for name, content in files.items():
            server.file(f"/models/{TABLE['models'][model]['folder']}/{model}/{name}", content)


@pytest_asyncio.fixture(
    loop_scope="module",
    params=[(language, size) for language in _HOMES for size in SIZES],
    ids="-".join,
)
async def walk(
    shared_loop: None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncGenerator[Walk]:
    """A new Home Assistant with speech, and a newcomer in front of it."""
    language, size = request.param
    folder = tmp_path_factory.mktemp(f"{language}-{size}")
    home, profile = _HOMES[language], get_profile()
    port, (width, height) = free_port(), SIZES[size]
    url = f"http://{HOST}:{port}"
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(media_server())
        _serve(server, profile.version, profile.board.name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SERVED, server.url("/").rstrip("/"))
            hass = home_assistant(folder / "config", port, language=language)
            _, client = await stack.enter_async_context(hass)
        speech = await stack.enter_async_context(small_speech(folder))
        await house.furnish(client)
        await house.set_up_speech(client, speech)
        for area in await client.command("config/area_registry/list"):
            name = home.names.get(area["name"], area["name"])
            await client.command("config/area_registry/update", area_id=area["area_id"], name=name)
        if home.names:
            name = home.names["Kitchen light"]
            await client.command("config/entity_registry/update", entity_id=house.LAMP, name=name)
            own = assistant_for(client, "Home", language, home.command)
            pipeline = await stack.enter_async_context(own)
            await client.command("assist_pipeline/pipeline/set_preferred", pipeline_id=pipeline)
        web = await stack.enter_async_context(
            browser(url, width=width, height=height, phone=size == "phone", language=language)
        )
        await web.page.emulate_media(color_scheme="dark" if size == "phone" else "light")
        await web.log_in(USERNAME, PASSWORD)
        device = SimulatedDevice(
            profile, f"{url}/api/xiaozhi/ota", mac="24:6f:28:aa:c1:01", pace=PACE, assets=pack()
        )
        other = SimulatedDevice(
            get_profile(version="2.5.0"), f"{url}/api/xiaozhi/ota", mac="24:6f:28:aa:c1:02", pace=PACE
        )
        for each in device, other:
            await stack.enter_async_context(each)
        walk = Walk(web, client, device, other, language, folder)
        async with failure_picture(request, web, folder):
            yield walk


@dataclass
class Walk:
    """The steps of a newcomer, in their order."""

    web: WebPage
    client: Client
    device: SimulatedDevice
    other: SimulatedDevice
    language: str
    folder: Path
    begin: float = 0.0
    """A monotonic time; pictures take none."""
    steps: list[str] = field(default_factory=list)

    @property
    def home(self) -> _Home:
        """The home, by its language."""
        return _HOMES[self.language]

    @asynccontextmanager
    async def written(self, device: SimulatedDevice, text: str) -> AsyncGenerator[None]:
        """Have an engine write this text for all that is said to a device: the small one knows few."""
        async with assistant_for(self.client, text, self.language, text):
            select = await house.entity_id_of(self.client, device.mac, "select", "-pipeline")
            await self.client.call("select", "select_option", entity_id=select, option=text)
            yield

    async def done(self, step: str) -> None:
        """Note how long it took, and keep a picture."""
        seconds = monotonic() - self.begin
        self.steps.append(f"{seconds:5.1f} s  {step}")
        (self.folder / "steps.txt").write_text("\n".join(self.steps) + "\n")
        await self.web.picture(self.folder / f"{len(self.steps):02}-{step}.png")
        assert await wider_parts(self.web) == [], step
        self.begin = monotonic() - seconds

    async def set_up_the_gateway(self) -> None:
        """Add the integration, and read the address."""
        web = self.web
        await web.show_integrations()
        self.begin = monotonic()
        await web.add_integration("XiaoZhi")
        await web.read("Set up the gateway")
        await self.done("gateway")
        # Other tests use the usual ports at the same time, and this computer has the loopback address only.
        await web.press("Advanced")
        await web.fill_ports()
        await web.field("Address of Home Assistant").fill(HOST)
        await web.press("Submit")
        await web.read("If your devices run on this computer, submit again.")
        await web.press("Submit")
        await web.read("Connect a device")
        await self.done("address")

    async def pair(self) -> None:
        """Switch the device on, and type its digits, with the form open all the time."""
        web, device = self.web, self.device
        await device.boot()
        await web.press("The device shows digits")
        await web.read("The device shows six digits and speaks them.")
        await self.done("code")
        await web.field("Code").fill(device.pairing_code or "")
        await web.press("Submit")
        await web.read("Name the device")
        await self.done("name")
        await web.choose_area(self.home.names.get("Bedroom", "Bedroom"))
        await web.press("Submit")
        await web.read("was added.")
        said = web.page.locator('a[href*="what-you-can-say"]')
        await expect(said).to_be_visible()
        await self.done("added")
        await web.press("Close")
        await device.wait_paired()

    async def choose_a_wake_word(self) -> None:
        """Choose it on the page of the device, with all settings as they are at first."""
        web, device = self.web, self.device
        await device.wait_for(lambda: device.connected)
        await web.show_device("XiaoZhi", self.home.device)
        await web.read("Wake word")
        await self.done("device")
        named = web.page.get_by_text(web.words("Wake word"))
        row = web.entities("Configuration").locator("hui-select-entity-row").filter(has=named)
        await row.scroll_into_view_if_needed()
        await row.locator("ha-select").click()
        await web.page.get_by_text(_WORD, exact=True).scroll_into_view_if_needed()
        await self.done("words")
        await web.page.get_by_text(_WORD, exact=True).click()
        await expect(row).to_contain_text(_WORD)
        await self.done("fetching")
        entity_id = await house.entity_id_of(self.client, device.mac, "select", "wake_word")
        await house.has_state(self.client, entity_id, _WORD)
        await expect(row).to_contain_text(_WORD)
        await self.done("chosen")
        await device.wait_state(State.IDLE, 30)

    async def talk(self) -> None:
        """Have the light switched on."""
        account = await converse(self.device, await spoken(COMMAND), word=_WORD.casefold())
        assert account.heard == [self.home.command]
        assert account.played_seconds > 0
        assert await self.client.state(house.LAMP) == "on"
        await self.done("answered")

    async def make_it_louder(self) -> None:
        """Ask the device for what it does itself."""
        device = self.device
        volume = device.values["volume"]
        async with self.written(device, self.home.louder):
            account = await converse(device, await spoken("louder"), word=_WORD.casefold())
        assert account.heard == [self.home.louder]
        assert device.values["volume"] == volume + 10
        await self.done("louder")

    async def send_a_message(self) -> None:
        """Speak it to a second device in the kitchen. The first one keeps it until somebody wakes it."""
        other, played = self.other, self.device.played_seconds
        await house.pair(self.client, other, self.home.device, house.Room.KITCHEN)
        await other.wait_for(lambda: other.connected)
        async with self.written(other, self.home.message):
            account = await converse(other, await spoken("a message"), await spoken("dinner is ready"))
        assert account.heard == [self.home.message]
        assert self.device.played_seconds == played
        waiting = await house.entity_id_of(self.client, self.device.mac, "sensor", "voice_messages")
        await house.has_state(self.client, waiting, "1")

    async def look_at_all_devices(self) -> None:
        """The page of the gateway, among those of the devices, says how many are connected and silent."""
        web = self.web
        await web.show_integration("XiaoZhi")
        await self.done("all")
        (gateway,) = await self.client.command("config_entries/get", domain="xiaozhi")
        await web.device_row(gateway["title"]).click()
        rows = web.entities("Diagnostic").locator("hui-sensor-entity-row")
        for name, number in ("Devices connected", "2"), ("Devices silent for a day", "0"):
            await expect(rows.filter(has_text=web.words.part(name))).to_contain_text(number)
        await self.done("gateway-page")

    async def look_at_the_room(self) -> None:
        """Home Assistant's own page of the room has what an owner wants there, and nothing else."""
        web = self.web
        areas = await self.client.command("config/area_registry/list")
        name = self.home.names.get("Bedroom", "Bedroom")
        (room,) = (area["area_id"] for area in areas if area["name"] == name)
        tiles = web.page.locator("hui-tile-card")
        await web.show_page(f"/home/areas-{room}", tiles.first)
        await expect(tiles).to_have_count(_TILES)
        await expect(tiles.filter(has_text=web.words.part("Voice messages"))).to_be_visible()
        await self.done("room")

    async def change_the_device(self) -> None:
        """Open its form: what is used rarely is below *Advanced*."""
        web = self.web
        await web.show_integration("XiaoZhi")
        change = web.words("Change device")
        await web.subentry_row(self.home.device).first.get_by_role("button", name=change).click()
        await web.read("Wake phrases")
        await expect(web.page.get_by_text(web.words("Connection"), exact=True)).not_to_be_visible()
        await self.done("form")
        await web.press("Advanced")
        await web.read("Restart the device now if its connection changes")
        await self.done("form-advanced")


async def test_the_newcomer(walk: Walk) -> None:
    """From *Add integration* to the first answer."""
    await walk.set_up_the_gateway()
    await walk.pair()
    await walk.choose_a_wake_word()
    await walk.talk()
    await walk.make_it_louder()
    await walk.send_a_message()
    await walk.look_at_all_devices()
    await walk.look_at_the_room()
    await walk.change_the_device()
