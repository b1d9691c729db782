"""A short film for the README: a simulated device on the demo's page, beside Home Assistant's dashboard."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
import subprocess
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final, Literal

import imageio_ffmpeg
from playwright.async_api import Page, ViewportSize

from simulator import SimulatedDevice, State, converse
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE

from .abilities import Owner
from .browser import WebPage
from .client import Client
from .errors import DemoError
from .house import LAMP, Room, entity_id_of, has_state, switch_lamp_off
from .processes import free_port
from .talk import talk_page

_DASHBOARD: Final = "film-lamp"
_SIZE: Final = ViewportSize(width=340, height=448)
_SCHEMES: Final[Mapping[Literal["light", "dark"], str]] = {"light": "", "dark": "-dark"}
# Seconds before the first word and after the answer.
_STILL: Final = 1.0
_END: Final = 2.0
# Few pictures and colours: a GIF is not to be larger than a photo. It counts in hundredths of a second.
_FILTER: Final = (
    "[0]fps=50/3[left];[1]fps=50/3[right];[left][right]hstack,mpdecimate=hi=64:lo=32:frac=0,split[a][b];"
    "[a]palettegen=max_colors=96[palette];[b][palette]paletteuse=dither=none"
)
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
    """Texts of a film, and the voices."""

    name: str
    said: str
    wake_word: str
    whole: str
    voice: str
    states: Mapping[State, str] = field(default_factory=dict)
    """Names of the device's states, if not in English."""


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
    satellite = await entity_id_of(client, device.mac, "assist_satellite")
    await _add_dashboard(client, satellite)
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
            # It may have been connected only a moment ago.
            await has_state(client, satellite, "idle")
            # Of two pages of one window, only one is drawn at once.
            looks = partial(browser.new_context, viewport=_SIZE, storage_state=login, color_scheme=scheme)
            async with await looks() as left, await looks() as right:
                screen, home = await left.new_page(), await right.new_page()
                await screen.goto(talk)
                await screen.locator(".lamp").first.wait_for()
                await screen.add_style_tag(content=_STYLE)
                await screen.evaluate(_PREPARE, [scene.states, f"{scene.wake_word} ..."])
                await home.goto(f"{web.url}/{_DASHBOARD}/0")
                await home.locator("hui-tile-card").first.wait_for()
                # Until then, the page fades in.
                await asyncio.sleep(_STILL)
                pictures = await _conversation(screen, home, device, sound, scene)
            await asyncio.to_thread(_write, pictures, folder / f"{scene.name}{suffix}.gif")


async def _add_dashboard(client: Client, satellite: str) -> None:
    await client.command(
        "lovelace/dashboards/create", url_path=_DASHBOARD, title="Lamp", mode="storage", show_in_sidebar=False
    )
    cards = [{"type": "light", "entity": LAMP}, {"type": "tile", "entity": satellite}]
    areas = await client.command("config/area_registry/list")
    (room,) = (area["name"] for area in areas if area["area_id"] == Room.KITCHEN)
    view = {"type": "panel", "title": room, "cards": [{"type": "vertical-stack", "cards": cards}]}
    await client.command("lovelace/config/save", url_path=_DASHBOARD, config={"views": [view]})


# What a page looks like from a moment on.
type _Shots = list[tuple[float, bytes]]


async def _conversation(
    screen: Page, home: Page, device: SimulatedDevice, sound: bytes, scene: Scene
) -> tuple[_Shots, _Shots]:
    """Speak, and return what both pages showed. Raises `DemoError` when something else was heard."""
    left: _Shots = []
    right: _Shots = []
    async with await _filmed(screen, left), await _filmed(home, right):
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
    return left, right


async def _filmed(page: Page, shots: _Shots) -> AbstractAsyncContextManager[Any]:
    """Film a page: a picture for each time that something has changed."""
    return await page.screencast.start(
        on_frame=lambda frame: shots.append((monotonic(), frame["data"])), quality=100
    )


def _write(sides: tuple[_Shots, _Shots], file: Path) -> None:
    """Write a GIF with both sides beside each other."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    begin = min(shots[0][0] for shots in sides)
    end = max(shots[-1][0] for shots in sides) + _END
    with TemporaryDirectory(prefix="xiaozhi-film-") as folder:
        for side, shots in enumerate(sides):
            times = [begin, *(time for time, _ in shots[1:]), end]
            lines = ["ffconcat version 1.0"]
            for number, ((_, picture), (first, last)) in enumerate(zip(shots, pairwise(times), strict=True)):
                name = f"{side}-{number}.jpg"
                Path(folder, name).write_bytes(picture)
                lines += [f"file {name}", f"duration {last - first:.3f}"]
            # Of the last one, the duration counts only when it comes again.
            script = Path(folder, f"{side}.txt")
            script.write_text("\n".join([*lines, lines[-2]]))
            command += ["-f", "concat", "-i", str(script)]
        # The last picture stays as long as its script says, in hundredths of a second.
        ways = ["-filter_complex", _FILTER, "-fps_mode", "vfr", "-final_delay", f"{100 * _END:.0f}"]
        subprocess.run([*command, *ways, str(file)], check=True)
