"""What an owner does in Home Assistant's web page beside the first hour, with a real browser.

And every path of menus in the documentation and in the texts leads somewhere in the running page.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, suppress
import json
import re
from typing import NamedTuple

from playwright.async_api import Error, TimeoutError as NotThereError, expect
import pytest
import pytest_asyncio

from demo.browser import WebPage
from demo.client import Client
from demo.hass import PASSWORD, USERNAME, home_assistant
from demo.house import Room, pair, set_up_gateway
from demo.processes import HOST, free_port
from simulator import Outcome, SimulatedDevice, State, get_profile
from tests.e2e.browser import browser
from tests.paths import ROOT

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

_NAME = "XiaoZhi"
_WAKE_WORD = "hi xiaozhi"
# What the page of a device shows, by the heading of the card that shows it.
_ENTITIES = {
    "Notifiers": ["Screen message"],
    "Assist": ["Hall XiaoZhi"],
    "Configuration": [
        "Assistant",
        "Brightness",
        "Conversations",
        "End of speech",
        "Restart",
        "Voice output",
    ],
    "Controls": ["Do not disturb", "Microphone"],
    "Diagnostic": ["Battery", "Charging", "Connectivity"],
}


_MARKED = re.compile(r"\*{1,2}(Settings → [^*]+?)\.?\*{1,2}")
_PLAIN = re.compile(r"(Settings (?:→|>) [^*.,;:\n\]]+)")
# What is shown depends on the steps before.
_MENU = "⋮"


def _paths() -> Iterator[tuple[str, ...]]:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [" ".join(page.read_text().split()) for page in pages]
    english = (ROOT / "custom_components/xiaozhi/translations/en.json").read_text()
    found = [path for text in texts for path in _MARKED.findall(text)]
    found += _PLAIN.findall(english.replace("**", "\n").replace("\\n", "\n").replace('"', "\n"))
    for path in found:
        steps = [step.strip() for step in re.split("→|>", path)]
        yield tuple(steps[1 : steps.index(_MENU)] if _MENU in steps[:-2] else steps[1:])


PATHS = sorted({path for path in _paths() if not path[-1].startswith(_MENU)})


async def test_paths_are_found() -> None:
    assert len(json.dumps(PATHS)) > 500
    assert ("Tools", "Actions") in PATHS
    assert ("System", "AI", "AI suggestions", "Data generation tasks") in PATHS


class Home(NamedTuple):
    """A browser in which the owner is logged in, in a house with a gateway."""

    web: WebPage
    client: Client
    address: str
    """To type into devices."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(shared_loop: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Home]:
    """What all tests share; a picture of the page is kept at the end."""
    port, folder = free_port(), tmp_path_factory.mktemp("house")
    async with AsyncExitStack() as stack:
        _, client = await stack.enter_async_context(home_assistant(folder, port))
        await set_up_gateway(client)
        web = await stack.enter_async_context(browser(f"http://{HOST}:{port}"))
        await web.log_in(USERNAME, PASSWORD)
        yield Home(web, client, f"http://{HOST}:{port}/api/xiaozhi/ota")
        await web.picture(folder / "last.png")


async def _follow(web: WebPage, path: tuple[str, ...]) -> None:
    await web.go("/config")
    for number, step in enumerate(path):
        if step.startswith(_MENU):
            named = web.page.get_by_role("button", name=re.compile("^(Menu|Overflow menu|Actions)"))
            trigger = web.page.locator("ha-icon-button[slot='trigger']")
            menu = named.or_(trigger).locator("visible=true").last
            if path[number - 1] == _NAME:
                # That of the gateway: its service has one, too.
                menu = web.gateway_row().get_by_role("button", name="Menu", exact=True).first
            await menu.click()
            continue
        if path[number - 1] == "Add integration" and number:
            await web.page.get_by_placeholder("Search for a brand name").fill(step)
        last = number == len(path) - 1
        # Where it ends there may be an explanation beside the text.
        place = web.page.get_by_text(step, exact=not last).locator("visible=true").first
        await expect(place).to_be_visible(timeout=20_000)
        if not last:
            await place.click()


async def test_every_path_leads_somewhere(home: Home) -> None:
    """The first of these tests: each later one adds menus to the page of the integration."""
    lost: list[str] = []
    for path in PATHS:
        for last_try in (False, True):
            try:
                await _follow(home.web, path)
                break
            except (AssertionError, Error) as err:
                # Home Assistant may have been slow: each is tried twice.
                if last_try:
                    lost.append(f"{' → '.join(path)}: {str(err).splitlines()[:3]}")
    assert not lost, "\n".join(lost)


async def test_a_device_is_changed_and_restarts_into_its_new_link(home: Home) -> None:
    """The form shows what was chosen before, and says what happens now."""
    web = home.web
    async with SimulatedDevice(get_profile(), home.address, mac="24:6f:28:aa:c0:03") as device:
        await pair(home.client, device, "Hall XiaoZhi", Room.KITCHEN)
        await web.show_integration(_NAME)
        await web.subentry_row("Hall XiaoZhi").get_by_role("button", name="Change device").click()
        await web.read("Change Hall XiaoZhi")
        await web.press("Advanced")
        await web.option("WebSocket").click()
        await web.press("Submit")
        await web.read("Hall XiaoZhi restarts now, and then uses its new connection.")
        await device.wait_for(lambda: bool(device.events("restart")))
        await device.wait_state(State.IDLE)
        await web.page.get_by_role("button", name="Close").last.click()

        await web.subentry_row("Hall XiaoZhi").get_by_role("button", name="Change device").click()
        await web.press("Advanced")
        await expect(web.option("WebSocket")).to_be_checked()
        await web.press("Close")
        await web.show_device(_NAME, "Hall XiaoZhi")
        await expect(web.entities("Diagnostic")).to_contain_text("Disconnected")
        for card, names in _ENTITIES.items():
            for name in names:
                await expect(web.entities(card)).to_contain_text(name)


async def test_the_voice_set_up_of_home_assistant_ends_without_an_error(home: Home) -> None:
    """It plays a test sound, has the user say the wake word, and asks for the area and the assistant."""
    web, profile = home.web, get_profile(version="2.5.0")
    async with SimulatedDevice(profile, home.address, mac="24:6f:28:aa:c0:77") as device:
        await pair(home.client, device, "Attic XiaoZhi", Room.KITCHEN)
        await device.wait_state(State.IDLE)
        # The step for the wake word is left out until the device has told of one.
        await device.wake(_WAKE_WORD)
        await device.wait_state(State.IDLE, 30)
        await web.show_device(_NAME, "Attic XiaoZhi")
        # Home Assistant's page looks only once for a voice assistant, sometimes before it knows the entities.
        set_up = web.page.get_by_text("Set up voice assistant").first
        for _ in range(5):
            with suppress(NotThereError):
                await set_up.wait_for(timeout=5000)
                break
            await web.page.go_back()
            await web.device_row("Attic XiaoZhi").click()
        await set_up.click()
        announcement = await device.wait_announced()
        assert announcement.outcome is Outcome.PLAYED
        await web.read(f"Say '{_WAKE_WORD}' to wake the device up")
        await web.press("Change wake word")
        await web.read("Jarvis")
        await web.page.get_by_text(_WAKE_WORD).first.click()
        # Only this step listens for it.
        await web.read(f"Say '{_WAKE_WORD}' to wake the device up")
        await device.wake(_WAKE_WORD)
        await web.read(f"Say '{_WAKE_WORD}' again")
        await device.wait_state(State.IDLE, 30)
        await device.wake(_WAKE_WORD)
        await web.read("Select area")
        await web.press("Skip")
        # From here on it is about Home Assistant's own speech engines, of which this house has none.
        await web.read("How do you want your voice to be processed?")
        await expect(web.page.locator("ha-alert")).to_have_count(0)
