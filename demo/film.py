"""A short film for the README: a simulated device on the demo's page, beside Home Assistant's dashboard."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal

from PIL import Image
from playwright.async_api import Page, ViewportSize

from simulator import SimulatedDevice, State, converse
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE

from .abilities import Owner
from .browser import WebPage
from .client import Client
from .errors import DemoError
from .house import LAMP, Room, switch_lamp_off
from .processes import free_port
from .talk import talk_page

__all__ = ["CHINESE", "ENGLISH", "Scene", "record"]

_DASHBOARD: Final = "film-lamp"
_SIZE: Final = ViewportSize(width=340, height=448)
_SCHEMES: Final[Mapping[Literal["light", "dark"], str]] = {"light": "", "dark": "-dark"}
# Seconds before the first word and after the answer.
_STILL: Final = 1.0
_END: Final = 2.0
# Time from one picture to the next, at least: a GIF is not to be larger than a photo.
_STEP: Final = 0.06
_COLOURS: Final = 96
# Of the page, only the box is shown; below it stands what the person says.
_STYLE: Final = """
  header, aside, footer, #advice, #press { display: none !important }
  body { padding: 12px 0 0; min-height: 0; gap: 12px } .box { box-shadow: none }
  #said { width: 300px; padding: 8px; border-radius: 14px; text-align: center; font-size: 15px;
    background: #d7e6ff; color: #1c2430 }
"""
_PREPARE: Final = """([texts, said]) => {
  for (const [name, text] of Object.entries(texts)) STATES[name][0] = text;
  set("status", STATES[state][0]);
  const bubble = Object.assign(document.createElement("div"), { id: "said", textContent: said });
  document.querySelector("main").after(bubble);
}"""
_SAY: Final = "text => { document.getElementById('said').textContent = text; }"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is said in a film, and by whose voice."""

    name: str
    said: str
    wake_word: str
    whole: str
    voice: str
    states: Mapping[State, str] = field(default_factory=dict)
    """What the device calls its states, if not in English."""


ENGLISH: Final = Scene(
    name="film",
    said="turn on the kitchen light",
    wake_word="Hi XiaoZhi",
    whole="Hi XiaoZhi, turn on the kitchen light!",
    voice="en-us+f2",
)
CHINESE: Final = Scene(
    name="film-zh",
    said="打开厨房灯",
    wake_word="你好小智",
    whole="你好小智，打开厨房灯！",
    voice="cmn",
    # Source: the firmware's `assets/locales/zh-CN/language.json`.
    states={
        State.IDLE: "待命",
        State.CONNECTING: "连接中...",
        State.LISTENING: "聆听中...",
        State.SPEAKING: "说话中...",
    },
)


async def record(web: WebPage, client: Client, device: SimulatedDevice, folder: Path, scene: Scene) -> None:
    """Record a spoken command in real time, from wake word to answer: a light GIF and a dark one."""
    await _add_dashboard(client)
    await client.call("persistent_notification", "dismiss_all")
    # When it is switched on, it is as bright as the last time.
    await client.call("light", "turn_on", entity_id=LAMP, brightness_pct=80)
    sound, _ = await asyncio.to_thread(synthesize, scene.said, voice=scene.voice, sample_rate=UPLINK_RATE)
    browser = web.page.context.browser
    assert browser is not None
    login = await web.page.context.storage_state()
    box = Owner(client=client, device=device, name="XiaoZhi", wake_word=scene.wake_word)
    async with talk_page({"box": box}, free_port(), home=web.url, small=False) as talk:
        for scheme, suffix in _SCHEMES.items():
            await switch_lamp_off(client)
            # Of two pages of one window, only one is drawn at once.
            contexts = [
                await browser.new_context(viewport=_SIZE, storage_state=login, color_scheme=scheme)
                for _ in range(2)
            ]
            try:
                screen, home = [await context.new_page() for context in contexts]
                await screen.goto(talk)
                await screen.locator(".lamp").first.wait_for()
                await screen.add_style_tag(content=_STYLE)
                await screen.evaluate(_PREPARE, [scene.states, f"{scene.wake_word} ..."])
                await home.goto(f"{web.url}/{_DASHBOARD}/0")
                await home.locator("hui-tile-card").first.wait_for()
                # It may have been connected only a moment ago.
                await asyncio.sleep(_STILL)
                pictures = await _conversation(screen, home, device, sound, scene)
            finally:
                for context in contexts:
                    await context.close()
            await asyncio.to_thread(_write, pictures, folder / f"{scene.name}{suffix}.gif")


async def _add_dashboard(client: Client) -> None:
    await client.command(
        "lovelace/dashboards/create", url_path=_DASHBOARD, title="Lamp", mode="storage", show_in_sidebar=False
    )
    registered = await client.command("config/entity_registry/list")
    (satellite,) = (
        each["entity_id"] for each in registered if each["entity_id"].startswith("assist_satellite.")
    )
    cards = [{"type": "light", "entity": LAMP}, {"type": "tile", "entity": satellite}]
    areas = await client.command("config/area_registry/list")
    (room,) = (area["name"] for area in areas if area["area_id"] == Room.KITCHEN)
    view = {"type": "panel", "title": room, "cards": [{"type": "vertical-stack", "cards": cards}]}
    await client.command("lovelace/config/save", url_path=_DASHBOARD, config={"views": [view]})


# What the page looks like from a moment on.
type _Shots = list[tuple[float, bytes]]


async def _conversation(
    screen: Page, home: Page, device: SimulatedDevice, sound: bytes, scene: Scene
) -> list[tuple[float, Image.Image]]:
    """Speak, and return what both pages showed. Raises `DemoError` when something else was heard."""
    async with _filmed(screen) as left, _filmed(home) as right:
        await asyncio.sleep(_STILL)
        talking = asyncio.create_task(converse(device, sound, word=scene.wake_word))
        await device.wait_for(lambda: device.state is State.LISTENING or talking.done())
        for end in range(len(scene.wake_word), len(scene.whole) + 1):
            await screen.evaluate(_SAY, scene.whole[:end])
            await asyncio.sleep(len(sound) / 2 / UPLINK_RATE / len(scene.whole))
        conversation = await talking
        await asyncio.sleep(_END)
    if conversation.heard != [scene.said]:
        raise DemoError(f"the film shows how {conversation.heard} was heard")
    return await asyncio.to_thread(_beside, left, right)


@asynccontextmanager
async def _filmed(page: Page) -> AsyncGenerator[_Shots]:
    """Film a page while the block runs: a picture for each time that something has changed."""
    shots: _Shots = []
    session = await page.context.new_cdp_session(page)

    def keep(frame: dict[str, Any]) -> None:
        shots.append((monotonic(), b64decode(frame["data"])))
        acknowledged.append(
            asyncio.ensure_future(session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]}))
        )

    acknowledged: list[asyncio.Future[Any]] = []
    session.on("Page.screencastFrame", keep)
    await session.send("Page.startScreencast", {"format": "png"})
    try:
        yield shots
    finally:
        await session.send("Page.stopScreencast")
        await asyncio.gather(*acknowledged, return_exceptions=True)


def _beside(left: _Shots, right: _Shots) -> list[tuple[float, Image.Image]]:
    """Put both pages side by side, at each moment at which one of them has changed."""
    shown: dict[int, tuple[bytes, bytes]] = {}
    latest = [left[0][1], right[0][1]]
    changes = sorted((time, side, shot) for side, shots in enumerate((left, right)) for time, shot in shots)
    begin = changes[0][0]
    for time, side, shot in changes:
        latest[side] = shot
        shown[int((time - begin) / _STEP)] = (latest[0], latest[1])
    film = []
    for step, pictures in shown.items():
        whole = Image.new("RGB", (2 * _SIZE["width"], _SIZE["height"]))
        for number, picture in enumerate(pictures):
            whole.paste(Image.open(BytesIO(picture)).convert("RGB"), (number * _SIZE["width"], 0))
        film.append((step * _STEP, whole))
    return film


def _write(film: list[tuple[float, Image.Image]], file: Path) -> None:
    """Write a GIF, which counts in hundredths of a second."""
    kept = [film[0]]
    for time, picture in film[1:]:
        if picture.tobytes() != kept[-1][1].tobytes():
            kept.append((time, picture))
    times = [time for time, _ in kept]
    ends = [*times[1:], times[-1] + _END]
    # The colours of all, of which the first and the last have most.
    sample = Image.new("RGB", (kept[0][1].width, 3 * kept[0][1].height))
    for number, at in enumerate((0, len(kept) // 2, -1)):
        sample.paste(kept[at][1], (0, number * kept[0][1].height))
    palette = sample.quantize(_COLOURS)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for _, picture in kept]
    pictures[0].save(
        file,
        save_all=True,
        append_images=pictures[1:],
        duration=[round(100 * (end - time)) * 10 for time, end in zip(times, ends, strict=True)],
        loop=0,
        optimize=True,
    )
