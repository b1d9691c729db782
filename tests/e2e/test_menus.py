"""Every path of menus in the documentation and in the texts leads somewhere in the running page."""

from collections.abc import AsyncGenerator, Iterator
import contextlib
import json
import re
from socket import SOCK_DGRAM

from playwright.async_api import Error, expect
import pytest
import pytest_asyncio

from demo.browser import WebPage, web_page
from demo.errors import DemoError
from demo.hass import PASSWORD, USERNAME, home_assistant
from demo.house import set_up_gateway
from demo.processes import HOST, free_port
from tests.paths import ROOT

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("socket_enabled"),
]

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


def test_paths_are_found() -> None:
    assert len(json.dumps(PATHS)) > 500
    assert ("Tools", "Actions") in PATHS
    assert ("System", "AI", "AI suggestions", "Data generation tasks") in PATHS


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(shared_loop: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[WebPage]:
    """A browser in which the owner is logged in, in a house with a gateway."""
    port = free_port()
    async with contextlib.AsyncExitStack() as stack:
        folder = tmp_path_factory.mktemp("house")
        _, client = await stack.enter_async_context(home_assistant(folder, port))
        await set_up_gateway(
            client,
            websocket_port=free_port(),
            mqtt_port=free_port(),
            udp_port=free_port(transport=SOCK_DGRAM),
        )
        try:
            web = await stack.enter_async_context(web_page(f"http://{HOST}:{port}"))
        except DemoError as err:
            pytest.skip(str(err))
        await web.log_in(USERNAME, PASSWORD)
        yield web


async def _follow(web: WebPage, path: tuple[str, ...]) -> None:
    await web.go("/config")
    for number, step in enumerate(path):
        if step.startswith(_MENU):
            named = web.page.get_by_role("button", name=re.compile("^(Menu|Overflow menu|Actions)"))
            trigger = web.page.locator("ha-icon-button[slot='trigger']")
            await named.or_(trigger).locator("visible=true").last.click()
            continue
        if path[number - 1] == "Add integration" and number:
            await web.page.get_by_placeholder("Search for a brand name").fill(step)
        last = number == len(path) - 1
        # Where it ends there may be an explanation beside the text.
        place = web.page.get_by_text(step, exact=not last).locator("visible=true").first
        await expect(place).to_be_visible(timeout=10_000)
        if not last:
            await place.click()


@pytest.mark.asyncio(loop_scope="module")
async def test_every_path_leads_somewhere(web: WebPage) -> None:
    lost: list[str] = []
    for path in PATHS:
        for last_try in (False, True):
            try:
                await _follow(web, path)
                break
            except (AssertionError, Error) as err:
                # Home Assistant may have been slow: each is tried twice.
                if last_try:
                    lost.append(f"{' → '.join(path)}: {str(err).splitlines()[:3]}")
    assert not lost, "\n".join(lost)
