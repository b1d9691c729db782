"""A page to talk to simulated devices: the browser is their microphone, loudspeaker and screen.

It opens a WebSocket for one device, which it takes from an older page, and sends "press", "say N" for an
example, "wake WORDS", "do NAME" for an action of Home Assistant, "choose NAME OPTION" for a select of the
device, and PCM of 16 bits (16 kHz, mono). It receives what the devices play as PCM behind the number of the
device, and as JSON the names of the device's own sounds, what it shows, and what Home Assistant knows of
lamps and selects.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Final

from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler

from simulator import DeviceCrashed, SimulatedDevice, State

from .abilities import Owner
from .client import Json
from .engines import spoken
from .errors import DemoError
from .house import LAMP, LAMPS
from .processes import HOST

PORT: Final = 8124
_PAGE: Final = Path(__file__).with_name("talk.html")
# Browsers give a page the microphone under these names, and no other site can have them.
_NAMES: Final = ("localhost", HOST)
# The page sends 640 bytes at a time.
_MAX_BYTES: Final = 4096
# 180 ms: if the browser is ahead by more, the oldest sound is dropped.
_MAX_AHEAD: Final = 3 * 1920
_LOOK_SECONDS: Final = 0.3
_PROMPT_SECONDS: Final = 60
_SPEAKS: Final = (State.SPEAKING, State.NOTIFYING)
# Of the WebSocket of a page whose device another one has taken.
_TAKEN: Final = 4001
_CLOSING_SECONDS: Final = 1
# A page that is loaded again is back by then, and an alarm of ten seconds rings.
_LEFT_SECONDS: Final = 15
_EXAMPLES: Final = (
    *("turn on the kitchen light", "what time is it", "set a timer for fifteen seconds"),
    *("do not disturb", "do not disturb off"),
)
_MESSAGE: Final = "Dinner is ready."
_QUESTION: Final = "Shall I turn on the kitchen light?"
# Of a device that speaks while it is idle.
_ANSWER: Final = "yes"
_UNASKED: Final = {"announce": f"Announce “{_MESSAGE}”", "ask": f"Ask “{_QUESTION}”"}
_PROMPT: Final = "Speak after the tone."
_SEND: Final = "send a voice message to everyone"
_KEEP: Final = {"message": f"Send “{_MESSAGE}” to the other boxes"}
_ALARM: Final = {"alarm": "Set an alarm in ten seconds", "snooze": "Snooze the alarm"}
_ALARM_SECONDS: Final = 10
# Of the device, which are also on its page in Home Assistant.
_SELECTS: Final = ("wake_word", "loudspeaker")
_SMALL: Final = "Small speech engines run here, which understand only what the demo lists in its terminal."


@asynccontextmanager
async def talk_page(
    boxes: Mapping[str, Owner],
    port: int,
    *,
    home: str,
    small: bool,
    person: Callable[[str], Awaitable[bytes]] = spoken,
) -> AsyncGenerator[str]:
    """Serve the page on loopback while the block runs; yields its address.

    The devices are those of the Home Assistant at `home`; `small` says that its engines understand few
    sentences only. `person` speaks the examples.
    """
    names = {key: box.name for key, box in boxes.items()}
    surroundings: Json = {"home": home, "engines": _SMALL * small, "boxes": names}
    talks = {
        key: _Talk(
            box, [other for other in boxes.values() if other is not box], person, surroundings | {"box": key}
        )
        for key, box in boxes.items()
    }

    pages, leaving = list[web.Request](), set[asyncio.Task[None]]()

    async def connect(request: web.Request) -> web.WebSocketResponse:
        pages.append(request)
        try:
            return await talks.get(request.query.get("box", ""), next(iter(talks.values()))).connect(request)
        finally:
            pages.remove(request)
            if not pages:
                leaving.add(asyncio.create_task(leave()))

    async def leave() -> None:
        await asyncio.sleep(_LEFT_SECONDS)
        if not pages:
            await asyncio.gather(*(talk.stop_alarms() for talk in talks.values()))

    site = web.Application(middlewares=[_only_here])
    site.add_routes([web.get("/", _page), web.get("/talk", connect)])
    runner = web.AppRunner(site, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        yield f"http://localhost:{port}"
    finally:
        await runner.cleanup()
        for task in leaving:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)


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

    def __init__(
        self,
        box: Owner,
        others: Sequence[Owner],
        person: Callable[[str], Awaitable[bytes]],
        surroundings: Json,
    ) -> None:
        self._box = box
        self._others = others
        self._device = box.device
        self._client = box.client
        self._person = person
        speaks_idle, on_mqtt = box.device.profile.has_notify, box.device.link == "mqtt"
        self._examples = (*_EXAMPLES, _ANSWER) if speaks_idle else _EXAMPLES
        self._surroundings = {
            **surroundings,
            "examples": self._examples,
            "actions": (_UNASKED if speaks_idle else {}) | _KEEP | (_ALARM if on_mqtt else {}),
            "words": [box.wake_word, "Jarvis", "Computer"],
        }
        self._newest: web.WebSocketResponse | None = None
        self._in_use = asyncio.Lock()
        self._has_alarms = False
        self._sound = bytearray()

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        """Talk to the page of a browser until it is closed, or another one is opened."""
        socket = web.WebSocketResponse(timeout=_CLOSING_SECONDS, heartbeat=10, max_msg_size=_MAX_BYTES)
        await socket.prepare(request)
        older, self._newest = self._newest, socket
        if older is not None:
            await older.close(code=_TAKEN, message=b"Another page has this box now. Press to take it back")
        async with self._in_use:
            if self._newest is socket:
                await self._talk(socket)
        return socket

    async def stop_alarms(self) -> None:
        """Stop what rings or is snoozed, if it may have been set here."""
        if self._has_alarms:
            self._has_alarms = False
            # Nothing may ring any more.
            with suppress(DemoError):
                await self._box.call("button", "press", "stop_alarm")

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        self._sound.clear()
        self._device.hear(self._take)
        heard = [self._device, *(other.device for other in self._others)]
        works = [
            self._show(socket),
            self._show_home(socket),
            *starmap(partial(self._play, socket), enumerate(heard)),
        ]
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await self._listen(socket)
        finally:
            self._device.hear(None)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, socket: web.WebSocketResponse) -> None:
        """Take what the page sends."""
        async with asyncio.TaskGroup() as group:
            # Somebody presses and speaks also while an action waits for that.
            acting: dict[str, asyncio.Task[None]] = {}
            async for message in socket:
                match message.type, message.data:
                    case WSMsgType.BINARY, pcm if len(pcm) % 2 == 0:
                        self._sound += pcm
                        del self._sound[:-_MAX_AHEAD]
                    case WSMsgType.TEXT, wish:
                        kind = wish if wish.startswith(("do ", "choose ")) else "press"
                        if kind not in acting or acting[kind].done():
                            self._sound.clear()
                            acting[kind] = group.create_task(self._act(wish, socket))
            for task in acting.values():
                task.cancel()

    async def _act(self, wish: str, socket: web.WebSocketResponse) -> None:
        # The page shows what has become of it.
        with suppress(DeviceCrashed, TimeoutError):
            try:
                outcome = await self._do(wish)
            except DemoError as err:
                # What Home Assistant says, without the request that it refuses.
                outcome = str(err).partition(": ")[2] or str(err)
            if outcome:
                await socket.send_json({"advice": outcome})

    async def _do(self, wish: str) -> str:
        """Do something; return what there is to say about it. Raises `DemoError` and others."""
        match wish.split():
            case ["press"]:
                await self._device.click()
            case ["say", number] if number in map(str, range(len(self._examples))):
                await self._say(await self._person(self._examples[int(number)]))
            case ["wake", *words]:
                return await self._wake(" ".join(words))
            case ["choose", key, *option] if key in _SELECTS:
                await self._box.call("select", "select_option", key, option=" ".join(option))
            case ["do", "announce"]:
                await self._box.call("assist_satellite", "announce", message=_MESSAGE)
            case ["do", "ask"]:
                await self._ask()
            case ["do", "message"]:
                await self._send_message()
            case ["do", "alarm"]:
                self._has_alarms = True
                await self._box.set_alarm(_ALARM_SECONDS, "Tea")
                return f"It rings in {_ALARM_SECONDS} seconds. A press stops it."
            case ["do", "snooze"]:
                self._has_alarms = True
                await self._box.call("button", "press", "snooze_alarm")
                return "It rings again in nine minutes."
        return ""

    async def _say(self, sound: bytes) -> None:
        """Say an example to the device, which listens after a press."""
        await self._box.start_conversation(self._device.click)
        if self._device.state is State.LISTENING:
            self._device.say(sound)

    async def _send_message(self) -> None:
        """Ask the device to record a message, and speak that after its tone, without a microphone."""
        device, known = self._device, len(self._device.screen.captions)
        await self._say(await self._person(_SEND))
        message = await self._person(_MESSAGE)
        await device.wait_for(
            lambda: _PROMPT in device.screen.captions[known:] and device.state is State.LISTENING,
            _PROMPT_SECONDS,
        )
        device.say(message)

    async def _wake(self, word: str) -> str:
        """Say a wake word to the device, which may listen to another one."""
        known = len(self._device.transcript)
        await self._device.wake(word)
        unheard = any(event.kind == "unheard" for event in self._device.transcript[known:])
        return f"Nothing happens: “{word}” is not its wake word." if unheard else ""

    async def _ask(self) -> None:
        answers = [{"id": "yes", "sentences": [_ANSWER]}]
        satellite = await self._box.entity("assist_satellite")
        reply = await self._client.ask(
            "xiaozhi", "ask", entity_id=satellite, question=_QUESTION, answers=answers
        )
        if reply["id"] == "yes":
            await self._client.call("light", "turn_on", entity_id=LAMP)

    def _take(self, size: int) -> bytes:
        """Return what the microphone hears, which is silence when the page sends nothing."""
        sound = bytes(self._sound[:size])
        del self._sound[:size]
        return sound.ljust(size, b"\0")

    async def _show(self, socket: web.WebSocketResponse) -> None:
        """Send what the device shows, and the names of its sounds."""
        await socket.send_json(self._surroundings | {"said": self._last_words()})
        happened = len(self._device.transcript)
        shown: Json = {}

        def something_new() -> bool:
            return len(self._device.transcript) > happened or self._screen() != shown

        while True:
            await self._device.wait_for(something_new, timeout=None)
            events = self._device.transcript[happened:]
            happened += len(events)
            for event in events:
                if event.kind == "sound":
                    await socket.send_json({"sound": event.data.get("name", "")})
            if (screen := self._screen()) != shown:
                shown = screen
                await socket.send_json(shown)

    def _last_words(self) -> Json:
        """Return what was said last, which a page that is loaded again still shows."""
        said = {"heard": "", "answer": ""}
        for event in self._device.transcript:
            match event.data.get("message"):
                case {"type": "stt", "text": str(text)}:
                    said = {"heard": text, "answer": ""}
                case {"type": "tts", "state": "sentence_start", "text": str(text)}:
                    said["answer"] = text
        return said

    def _screen(self) -> Json:
        device = self._device
        return {
            "state": device.state,
            "emotion": device.screen.emotion,
            "heard": device.screen.user_text,
            "answer": device.screen.assistant_text,
            "alert": device.screen.system_text,
            "status": device.screen.status,
            "error": device.crash or device.last_error,
            "rate": device.speaker.rate,
        }

    async def _play(self, socket: web.WebSocketResponse, number: int, device: SimulatedDevice) -> None:
        """Send what a device plays: also another one, which may be the loudspeaker of this one."""
        speaker = device.speaker
        played = len(speaker.played)

        def plays() -> bool:
            return len(speaker.played) > played

        while True:
            await device.wait_for(plays, timeout=None)
            await socket.send_bytes(number.to_bytes(2, "little") + speaker.played[played].pcm)
            played += 1

    async def _show_home(self, socket: web.WebSocketResponse) -> None:
        """Send what Home Assistant knows of the lamps and the device."""
        shown: Json = {}
        # Home Assistant may be about to end, and the demo with it.
        with suppress(DemoError):
            selects = {key: await self._box.entity("select", key) for key in _SELECTS}
            while True:
                home = {
                    "lamps": [await self._lamp(entity_id) for entity_id in LAMPS],
                    "selects": {key: await self._select(entity_id) for key, entity_id in selects.items()},
                    "speaks": [box.name for box in self._others if box.device.state in _SPEAKS],
                }
                if home != shown:
                    shown = home
                    await socket.send_json(home)
                await asyncio.sleep(_LOOK_SECONDS)

    async def _select(self, entity_id: str) -> Json:
        state = await self._client.get(f"/api/states/{entity_id}")
        chosen, told = state["state"], state["attributes"]
        # A box that cannot speak while it is idle is no loudspeaker for another one.
        silent = tuple(box.name for box in self._others if not box.device.profile.has_notify)
        options = [each for each in told.get("options", ()) if each == chosen or not each.startswith(silent)]
        # What a choice would fetch is of a real home: here it is all on this computer.
        hint = told.get("hint", "") if chosen == "on_its_way" else ""
        return {"chosen": chosen, "options": options, "hint": hint}

    async def _lamp(self, entity_id: str) -> Json:
        state = await self._client.get(f"/api/states/{entity_id}")
        named = state["attributes"]
        on = state["state"] == "on"
        return {
            "name": named["friendly_name"],
            "on": on,
            "brightness": (on and named.get("brightness")) or 255,
        }
