"""Home Assistant's web page in a real browser, operated by its visible texts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
import re
import shutil
import subprocess
from typing import Final

from playwright.async_api import Error, FloatRect, Locator, Page, async_playwright, expect

from .errors import DemoError
from .processes import gateway_ports
from .words import Words

# Also the names that scripts/setup looks for.
_PHONE: Final = "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/150.0.0.0 Mobile Safari/537.36"
_COMMANDS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# For one local page: without a sandbox, which containers refuse, and without background services.
_ARGUMENTS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
_LOCALES: Final = {"en": "en-US", "de": "de-DE", "zh-Hans": "zh-CN"}
_FAKE_MICROPHONE: Final = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
# On a machine that is busy with much else.
_PATIENCE_MS: Final = 60_000
# Attempts to open a page that Home Assistant may leave again, and the wait for each.
_TRIES: Final = 3
_TRY_MS: Final = 10_000
# What Home Assistant's page does when a link to one of its own pages is followed.
_FOLLOW_LINK: Final = """path => {
  history.pushState(null, "", path);
  window.dispatchEvent(new CustomEvent("location-changed", {detail: {replace: false}}));
}"""
# Duration of the page's animations.
_MOVING_SECONDS: Final = 0.7
# Pixels around a part of the page.
_MARGIN: Final = 12


class WebPage:
    """A tab with Home Assistant. Waiting for longer than a minute raises `playwright.async_api.Error`."""

    def __init__(self, page: Page, url: str, words: Words | None = None) -> None:
        """Use a tab; `url` is that of Home Assistant. What is named in English is found by the `words`."""
        self.page = page
        self.url = url
        self.words = words or Words()

    async def log_in(self, username: str, password: str) -> None:
        """Open Home Assistant and log in."""
        await self.page.goto(self.url)
        await self.page.locator("input[name=username]").fill(username)
        await self.page.locator("input[name=password]").fill(password)
        await self.press("Log in")
        # On a phone, it is behind the page.
        await expect(self.page.locator("ha-sidebar")).to_be_attached()
        # It goes on to the first page, also when we have left for another one by then.
        await self.page.wait_for_function("location.pathname.length > 1")

    async def go(self, path: str) -> None:
        """Go to a path of Home Assistant as its links do, unless a dialog is open: a new page closes it.

        To load the whole page takes more processor time than all else that is done in it.
        """
        if await self.page.locator("dialog[open]").count():
            await self.page.goto(f"{self.url}{path}")
        else:
            await self.page.evaluate(_FOLLOW_LINK, path)

    async def show_page(self, path: str, landmark: Locator) -> None:
        """Open a page by its path, and wait until a part of it is visible."""
        # A closing dialog goes one step back in the history, which would return to the page that we leave.
        await self.page.wait_for_function("!history.state?.open")
        for _ in range(_TRIES):
            # After a dialog has closed, Home Assistant opens the new page: on a busy machine, while we leave.
            with suppress(AssertionError, Error):
                await self.go(path)
                await expect(landmark).to_be_visible(timeout=_TRY_MS)
                return
        await expect(landmark).to_be_visible()

    async def show_integrations(self) -> None:
        """Open *Settings → Devices & services*."""
        await self.show_page("/config/integrations/dashboard", self.button("Add integration"))

    async def show_integration(self, name: str) -> None:
        """Open the page of a configured integration, from the list of all."""
        await self.show_integrations()
        await self.page.get_by_role("link", name=name).click()
        await expect(self.page.get_by_role("heading", name=name, level=1)).to_be_visible()

    async def show_device(self, integration: str, name: str) -> None:
        """Open the page of a device, from that of its integration."""
        await self.show_integration(integration)
        await self.device_row(name).click()
        await expect(self.page.get_by_role("heading", name=self.words("Device info"))).to_be_visible()

    async def add_integration(self, name: str) -> None:
        """Choose *Add integration*, search for a name and choose the result that begins with it."""
        await self.show_integrations()
        await self.press("Add integration")
        await self.page.get_by_placeholder(self.words("Search for a brand name")).fill(name)
        await self.page.get_by_role("button", name=re.compile(rf"^{re.escape(name)}( |$)")).click()

    async def add_discovered(self, name: str) -> None:
        """Press *Add* on the card of something that was discovered."""
        await self.show_integrations()
        await self.card(name).get_by_role("button", name=self.words("Add"), exact=True).click()

    async def open_menu(self, row: Locator, item: str) -> None:
        """Choose an item in the ⋮ menu of a row."""
        await row.get_by_role("button", name="Menu", exact=True).first.click()
        await row.get_by_role("menuitem", name=item).click()

    @property
    def dialog(self) -> Locator:
        """The dialog that is open."""
        return self.page.locator("dialog[open]").last

    def card(self, name: str) -> Locator:
        """Return the card of something that was discovered."""
        return self.page.locator("ha-config-flow-card").filter(has_text=name)

    def gateway_row(self) -> Locator:
        """Return the row of the integration's entry, with its ⋮ menu; the rows of its devices are in it."""
        return self.page.locator("ha-config-entry-row")

    def device_row(self, name: str) -> Locator:
        """Return the row that leads to the page of a device."""
        named = self.page.get_by_text(name, exact=True)
        return self.page.locator("ha-config-entry-device-row").filter(has=named)

    def subentry_row(self, name: str) -> Locator:
        """Return the row with the settings and the ⋮ menu of a device."""
        return self.page.locator("ha-config-sub-entry-row").filter(has_text=name)

    def entities(self, heading: str) -> Locator:
        """Return the card on the page of a device that lists entities under this heading."""
        titled = self.page.get_by_role("heading", name=self.words(heading), exact=True)
        return self.page.locator("ha-device-entities-card").filter(has=titled)

    def button(self, name: str) -> Locator:
        """Return the button with this text."""
        return self.page.get_by_role("button", name=self.words(name), exact=True)

    def field(self, label: str) -> Locator:
        """Return the field for text or a number with this label."""
        shown = self.words(label)
        return self.page.get_by_role("textbox", name=shown).or_(
            self.page.get_by_role("spinbutton", name=shown)
        )

    def option(self, beginning: str) -> Locator:
        """Return one of several options to choose from, by the beginning of its text."""
        return self.page.get_by_role("radio", name=re.compile(f"^{re.escape(beginning)}"))

    async def press(self, name: str) -> None:
        """Press the button with this text."""
        await self.button(name).click()

    async def fill_ports(self) -> None:
        """Fill in free ports in the form of the integration."""
        labels = ("WebSocket", "MQTT", "speech over UDP")
        for label, port in zip(labels, gateway_ports().values(), strict=True):
            await self.field(f"Port for {label}").fill(str(port))

    async def choose_area(self, name: str) -> None:
        """Choose an area in a form."""
        await self.page.locator("ha-area-picker").click()
        await self.page.get_by_role("dialog", name=self.words("Area")).get_by_text(name, exact=True).click()

    async def read(self, text: str) -> None:
        """Wait until a text is visible that contains this one."""
        await expect(self.page.get_by_text(self.words.part(text)).filter(visible=True).first).to_be_visible()

    async def picture(self, file: Path, *parts: Locator, still: bool = True) -> None:
        """Save a screenshot, of the whole page or of the area around some parts.

        `still` waits until nothing moves.
        """
        await self.page.mouse.move(0, 0)
        if still:
            await asyncio.sleep(_MOVING_SECONDS)
        boxes = [box for part in parts if (box := await part.bounding_box())]
        picture = await self.page.screenshot(clip=_around(boxes) if boxes else None)
        await asyncio.to_thread(file.write_bytes, picture)

    async def pictures(self, file: Path, *parts: Locator, still: bool = True) -> None:
        """Save two screenshots: the light one, and beside it one of dark colours, `…-dark`."""
        await self.picture(file, *parts, still=still)
        await self.page.emulate_media(color_scheme="dark")
        try:
            await self.picture(file.with_stem(f"{file.stem}-dark"), *parts, still=still)
        finally:
            await self.page.emulate_media(color_scheme="light")


@asynccontextmanager
async def web_page(
    url: str,
    *,
    width: int = 1280,
    height: int = 900,
    phone: bool = False,
    microphone: Path | None = None,
    language: str = "en",
) -> AsyncGenerator[WebPage]:
    """Open a browser without a window, of this many pixels. Raises `DemoError` when there is no browser.

    With `phone`, it says that it is one; `language` is one of Home Assistant's. `microphone` is a WAV file
    that its microphone hears, once from when it is opened.
    """
    arguments = list(_ARGUMENTS)
    if microphone:
        arguments += [*_FAKE_MICROPHONE, f"--use-file-for-fake-audio-capture={microphone}%noloop"]
    command = await asyncio.to_thread(_command)
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=command, args=arguments)
        except Error as err:
            raise DemoError(f"no browser: install chromium or Chrome. {err.message.splitlines()[0]}") from err
        try:
            context = await browser.new_context(
                viewport={"width": width, "height": height},
                locale=_LOCALES[language],
                user_agent=_PHONE if phone else None,
            )
            page = await context.new_page()
            page.set_default_timeout(_PATIENCE_MS)
            expect.set_options(timeout=_PATIENCE_MS)
            yield WebPage(page, url, Words(language))
        finally:
            await browser.close()


def _around(boxes: list[FloatRect]) -> FloatRect:
    left = max(0.0, min(box["x"] for box in boxes) - _MARGIN)
    top = max(0.0, min(box["y"] for box in boxes) - _MARGIN)
    right = max(box["x"] + box["width"] for box in boxes) + _MARGIN
    bottom = max(box["y"] + box["height"] for box in boxes) + _MARGIN
    return FloatRect(x=left, y=top, width=right - left, height=bottom - top)


def _command() -> str | None:
    """Return the system's browser; None for Playwright's own."""
    for name in _COMMANDS:
        # Ubuntu's chromium-browser may be a script that only prints where to get the browser.
        if (path := shutil.which(name)) and not subprocess.run(
            [path, "--version"], capture_output=True, check=False
        ).returncode:
            return path
    return None
