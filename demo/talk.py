"""A page to talk to a simulated device: the browser is its microphone, its loudspeaker and its screen.

The browser sends "press" and PCM of 16 bits (16 kHz, mono). It receives what the device plays as PCM, and
what it shows as JSON.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.typedefs import Handler

from simulator import DeviceCrashed, SimulatedDevice

from .client import Client, Json
from .errors import DemoError
from .house import LAMPS
from .processes import HOST

__all__ = ["PORT", "talk_page"]

PORT: Final = 8124
_PAGE: Final = Path(__file__).with_name("talk.html")
# Browsers give a page the microphone under these names, and no other site can have them.
_NAMES: Final = ("localhost", HOST)
# The page sends 640 bytes at a time.
_MAX_BYTES: Final = 4096
# 180 ms: if the browser is ahead by more, the oldest sound is dropped.
_MAX_AHEAD: Final = 3 * 1920
_LAMPS_SECONDS: Final = 0.3
_SMALL: Final = "Small speech engines run here, which understand only what the demo lists in its terminal."


@asynccontextmanager
async def talk_page(
    device: SimulatedDevice, client: Client, port: int, *, home: str, small: bool
) -> AsyncGenerator[str]:
    """Serve the page on loopback while the block runs; yields its address.

    `client` is of the Home Assistant at `home`; `small` says that its engines understand few sentences only.
    """
    talk = _Talk(device, client, {"home": home, "engines": _SMALL * small})
    site = web.Application(middlewares=[_only_here])
    site.add_routes([web.get("/", _page), web.get("/talk", talk.connect)])
    runner = web.AppRunner(site, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        yield f"http://localhost:{port}"
    finally:
        await runner.cleanup()


@web.middleware
async def _only_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests of other sites, also of one whose name leads to this computer."""
    here = str(request.url.origin())
    if request.url.host not in _NAMES or request.headers.get("Origin", here) != here:
        raise web.HTTPForbidden
    return await handler(request)


async def _page(_request: web.Request) -> web.FileResponse:
    return web.FileResponse(_PAGE)


class _Talk:
    """One person at a time who talks to a device."""

    def __init__(self, device: SimulatedDevice, client: Client, surroundings: Json) -> None:
        self._device = device
        self._client = client
        self._surroundings = surroundings
        self._taken = False
        self._sound = bytearray()

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        """Talk to the page of a browser until it is closed."""
        socket = web.WebSocketResponse(heartbeat=10, max_msg_size=_MAX_BYTES)
        await socket.prepare(request)
        if self._taken:
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"Somebody else is talking to it.")
            return socket
        self._taken = True
        self._device.hear(self._take)
        tasks = [asyncio.create_task(work(socket)) for work in (self._show, self._show_lamps)]
        try:
            await self._listen(socket)
        finally:
            self._device.hear(None)
            self._taken = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return socket

    async def _listen(self, socket: web.WebSocketResponse) -> None:
        """Take what the page sends."""
        async with asyncio.TaskGroup() as presses:
            pressing: asyncio.Task[None] | None = None
            async for message in socket:
                match message.type, message.data:
                    case WSMsgType.BINARY, pcm if len(pcm) % 2 == 0:
                        self._sound += pcm
                        del self._sound[:-_MAX_AHEAD]
                    case WSMsgType.TEXT, "press" if pressing is None or pressing.done():
                        self._sound.clear()
                        pressing = presses.create_task(self._press())

    async def _press(self) -> None:
        # The page shows what has become of it.
        with suppress(DeviceCrashed, TimeoutError):
            await self._device.click()

    def _take(self, size: int) -> bytes:
        """Return what the microphone hears, which is silence when the page sends nothing."""
        sound = bytes(self._sound[:size])
        del self._sound[:size]
        return sound.ljust(size, b"\0")

    async def _show(self, socket: web.WebSocketResponse) -> None:
        """Send what the device plays and shows."""
        speaker = self._device.speaker
        await socket.send_json(self._surroundings)
        played = len(speaker.played)
        shown: Json = {}

        def something_new() -> bool:
            return len(speaker.played) > played or self._screen() != shown

        while True:
            await self._device.wait_for(something_new, timeout=None)
            frames = speaker.played[played:]
            played += len(frames)
            for frame in frames:
                await socket.send_bytes(frame.pcm)
            if (screen := self._screen()) != shown:
                shown = screen
                await socket.send_json(shown)

    def _screen(self) -> Json:
        device = self._device
        return {
            "state": device.state,
            "emotion": device.screen.emotion,
            "heard": device.screen.user_text,
            "answer": device.screen.assistant_text,
            "error": device.crash or device.last_error,
            "rate": device.speaker.rate,
        }

    async def _show_lamps(self, socket: web.WebSocketResponse) -> None:
        shown: list[Json] = []
        # Home Assistant may be about to end, and the demo with it.
        with suppress(DemoError):
            while True:
                lamps = [await self._lamp(entity_id) for entity_id in LAMPS]
                if lamps != shown:
                    shown = lamps
                    await socket.send_json({"lamps": lamps})
                await asyncio.sleep(_LAMPS_SECONDS)

    async def _lamp(self, entity_id: str) -> Json:
        state = await self._client.get(f"/api/states/{entity_id}")
        named = state["attributes"]
        on = state["state"] == "on"
        return {
            "name": named["friendly_name"],
            "on": on,
            "brightness": (on and named.get("brightness")) or 255,
        }
