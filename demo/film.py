"""A short film for the README: the screen of a simulated device beside Home Assistant's dashboard."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from PIL import Image
from playwright.async_api import Page, ViewportSize

from simulator import SimulatedDevice, State, converse

from .browser import WebPage
from .client import Client
from .engines import spoken
from .errors import DemoError
from .house import LAMP, switch_lamp_off

__all__ = ["record"]

_DRAWING: Final = Path(__file__).parent / "drawings" / "device.html"
_SAID: Final = "turn on the kitchen light"
_WAKE_WORD: Final = "Hi XiaoZhi"
_WOKEN: Final = f"{_WAKE_WORD}, {_SAID}!"
_DOMAIN: Final = "xiaozhi"
_DASHBOARD: Final = "film-lamp"
_SIZE: Final = ViewportSize(width=340, height=450)
_SCHEMES: Final[Mapping[Literal["light", "dark"], str]] = {"light": "film", "dark": "film-dark"}
# Seconds before the first word and after the answer.
_STILL: Final = 1.0
_END: Final = 2.0
# A GIF counts in hundredths of a second; browsers slow down what is faster than two of them.
_PAUSE: Final = 0.08
_COLOURS: Final = 48
_STATUS: Final = {
    State.IDLE: "Standby",
    State.CONNECTING: "Connecting ...",
    State.LISTENING: "Listening",
    State.SPEAKING: "Speaking",
}


@dataclass(slots=True)
class _Frame:
    """One picture, and how long it is shown."""

    picture: Image.Image
    seconds: float = 0.0


async def record(web: WebPage, client: Client, device: SimulatedDevice, folder: Path) -> None:
    """Record a spoken command in real time, from wake word to answer: a light GIF and a dark one."""
    await _add_dashboard(client)
    sound = await spoken(_SAID)
    browser = web.page.context.browser
    assert browser is not None
    login = await web.page.context.storage_state()
    for scheme, name in _SCHEMES.items():
        await switch_lamp_off(client)
        context = await browser.new_context(viewport=_SIZE, storage_state=login, color_scheme=scheme)
        try:
            screen, home = await context.new_page(), await context.new_page()
            await screen.goto(_DRAWING.as_uri())
            await home.goto(f"{web.url}/{_DASHBOARD}/0")
            await home.get_by_text("Idle").first.wait_for()
            frames = await _conversation(screen, home, device, sound)
        finally:
            await context.close()
        await asyncio.to_thread(_write, frames, folder / f"{name}.gif")


async def _conversation(screen: Page, home: Page, device: SimulatedDevice, sound: bytes) -> list[_Frame]:
    """Speak, and return what both pages showed. Raises `DemoError` when something else was heard."""
    frames: list[_Frame] = []
    camera = asyncio.create_task(_film(screen, home, device, frames))
    try:
        await asyncio.sleep(_STILL)
        conversation = await converse(device, sound, word=_WAKE_WORD.lower())
        await asyncio.sleep(_END)
    finally:
        camera.cancel()
        await asyncio.gather(camera, return_exceptions=True)
    if conversation.heard != [_SAID]:
        raise DemoError(f"the film shows how {conversation.heard} was heard")
    return frames


async def _add_dashboard(client: Client) -> None:
    await client.command(
        "lovelace/dashboards/create", url_path=_DASHBOARD, title="Lamp", mode="storage", show_in_sidebar=False
    )
    registered = await client.command("config/entity_registry/list")
    entities = [each["entity_id"] for each in registered if each["platform"] == _DOMAIN]
    own = {entity.partition(".")[0]: entity for entity in entities}
    cards = [
        {"type": "tile", "entity": entity} for entity in (LAMP, own["assist_satellite"], own["media_player"])
    ]
    view = {"type": "panel", "title": "Kitchen", "cards": [{"type": "vertical-stack", "cards": cards}]}
    await client.command("lovelace/config/save", url_path=_DASHBOARD, config={"views": [view]})


class _Screen:
    """What the device's screen shows in this conversation, and what the person says."""

    def __init__(self, device: SimulatedDevice) -> None:
        self._device = device
        self._texts = {"heard": "", "answer": ""}
        self._said = f"{_WAKE_WORD} ..."

    def read(self) -> dict[str, str]:
        """Return what the drawing needs; the texts stay when the device has cleared its screen."""
        screen = self._device.screen
        for part, text in (("heard", screen.user_text), ("answer", screen.assistant_text)):
            if text:
                self._texts[part] = text
        if self._device.state is State.LISTENING:
            self._said = _WOKEN
        status = _STATUS.get(self._device.state, "")
        return {"status": status, "emotion": screen.emotion, "said": self._said, **self._texts}


async def _film(screen: Page, home: Page, device: SimulatedDevice, frames: list[_Frame]) -> None:
    shown = _Screen(device)
    last = monotonic()
    while True:
        await screen.evaluate("screen => show(screen)", shown.read())
        left, right = await asyncio.gather(screen.screenshot(), home.screenshot())
        picture = await asyncio.to_thread(_beside, left, right)
        now = monotonic()
        if frames:
            frames[-1].seconds = now - last
        last = now
        frames.append(_Frame(picture))
        await asyncio.sleep(_PAUSE)


def _beside(left: bytes, right: bytes) -> Image.Image:
    pictures = [Image.open(BytesIO(each)).convert("RGB") for each in (left, right)]
    film = Image.new("RGB", (sum(each.width for each in pictures), max(each.height for each in pictures)))
    across = 0
    for each in pictures:
        film.paste(each, (across, 0))
        across += each.width
    return film


def _write(frames: list[_Frame], file: Path) -> None:
    """Write a GIF; equal pictures in a row become one."""
    kept: list[_Frame] = []
    for frame in frames:
        if kept and kept[-1].picture.tobytes() == frame.picture.tobytes():
            kept[-1].seconds += frame.seconds
        else:
            kept.append(frame)
    kept[-1].seconds = _END
    palette = kept[len(kept) // 2].picture.quantize(_COLOURS)
    pictures = [each.picture.quantize(palette=palette, dither=Image.Dither.NONE) for each in kept]
    pictures[0].save(
        file,
        save_all=True,
        append_images=pictures[1:],
        duration=[max(20, round(each.seconds * 100) * 10) for each in kept],
        loop=0,
        optimize=True,
    )
