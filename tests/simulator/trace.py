"""Traces: what the server and the user do, and what the device must send, row by row.

A trace names the section of the protocol's reference that it comes from, and is replayed in the times of the
firmware, which cost nothing on the virtual clock. `device` is always the *next* text of the device; a trace
fails if the device has sent more texts than its rows say.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
import json
from typing import Any, Concatenate

import pytest

from simulator import DeviceCrashed, Nvs, Pace, SimulatedDevice, get_profile
from tests.simulator.servers import (
    Http,
    Json,
    Reply,
    Server,
    Session,
    mqtt_server,
    opus_packets,
    websocket_server,
)

type Step = Callable[[Stage], Awaitable[object]]

PATIENCE = 150
"""Seconds for which a row waits."""
PROMPT = Pace(main_loop_delay=0)
"""The firmware's times, and a main task that is never busy."""
PAIRED: Json = {"paired": "with the server of this trace"}


@dataclass(frozen=True)
class Trace:
    """Rows, and the device and server that they are about."""

    section: str
    rows: tuple[Step, ...]
    _: KW_ONLY
    link: str = "websocket"
    version: str = "2.4.2"
    board: str = "s3"
    profile: Json = field(default_factory=dict)
    """Other settings of the device."""
    pace: Pace = PROMPT
    nvs: Nvs | None = None
    check_in: tuple[Reply, ...] = ()
    """Replies to the check-ins, the last one repeatedly."""
    settings: Json = field(default_factory=dict)
    """What a check-in gives for the link otherwise than usual."""
    hello: Callable[[Any], Any] | None = None
    """Makes another answer to the device's hello from the usual one; None for no answer."""
    file: Reply = b""
    """The answer of a server of files."""


def trace(section: str, *rows: Step, **fields: Any) -> Trace:
    """Return a trace of a section of the reference."""
    return Trace(section, rows, **fields)


@dataclass
class Stage:
    """A trace that is being replayed."""

    sim: SimulatedDevice
    server: Server
    files: Http
    session: Session | None = None
    clock: float = 0.0
    """When the last row was over."""
    texts_read: int = 0
    requests_read: int = 0

    async def link(self) -> Session:
        if self.session is None:
            self.session = await self.server.session()
        return self.session

    def texts(self) -> list[str]:
        """What the device has said on this connection."""
        return [] if self.session is None else self.session.texts

    def value(self, name: str) -> Any:
        """Something that an observer of the device can see."""
        for seen in (self.sim, self.sim.screen, self.sim.speaker):
            if hasattr(seen, name):
                return getattr(seen, name)
        raise AttributeError(name)


def fits(actual: object, wanted: Any) -> bool:
    """Whether a value is as a row says: equal, accepted by a function, or an object with these members."""
    if callable(wanted):
        return bool(wanted(actual))
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return all(name in actual and fits(actual[name], value) for name, value in wanted.items())
    return bool(actual == wanted)


def step[**P](act: Callable[Concatenate[Stage, P], Awaitable[object]]) -> Callable[P, Step]:
    """Make a row of a trace of a function, with all its arguments but the first."""

    @wraps(act)
    def row(*args: P.args, **kwargs: P.kwargs) -> Step:
        return lambda on: act(on, *args, **kwargs)

    return row


@asynccontextmanager
async def stage(trace: Trace) -> AsyncIterator[Stage]:
    """Yield server and device; the device is off."""
    serving = mqtt_server() if trace.link == "mqtt" else websocket_server()
    async with serving as server, Http.serving(trace.file) as files:
        (paired,) = server.http.replies
        assert isinstance(paired, dict)
        paired[trace.link] |= trace.settings
        if trace.hello is not None:
            server.hello = trace.hello(server.hello)
        if trace.check_in:
            server.http.replies = deque(paired if one is PAIRED else one for one in trace.check_in)
        profile = get_profile(trace.board, trace.version, **trace.profile)
        async with SimulatedDevice(profile, server.http.url, pace=trace.pace, nvs=trace.nvs) as sim:
            yield Stage(sim, server, files)


def replays(traces: dict[str, Trace]) -> Callable[[Trace], Awaitable[None]]:
    """Return a test that replays each of these, and fails where the device does otherwise."""

    @pytest.mark.parametrize("trace", traces.values(), ids=traces)
    async def test(trace: Trace) -> None:
        async with stage(trace) as on:
            for row in trace.rows:
                try:
                    await row(on)
                except TimeoutError:
                    said = [*on.texts()[on.texts_read :], on.sim.state, on.sim.last_error, on.sim.screen]
                    raise AssertionError(f"in vain, with {said}") from None
                on.clock = asyncio.get_running_loop().time()
            assert on.texts()[on.texts_read :] == [], "the device said more"

    return test


# Rows: the user


@step
async def user(on: Stage, act: str, *arguments: Any) -> None:
    """Do something with the device, such as `boot`, `click`, `wake`, `press` or `cut_network`."""
    done = getattr(on.sim, act)(*arguments)
    if done is not None:
        await done


@step
async def waits(on: Stage, seconds: float) -> None:
    """Let this time pass."""
    await asyncio.sleep(seconds)


# Rows: the server


@step
async def server(on: Stage, *messages: Any) -> None:
    """Send."""
    link = await on.link()
    for message in messages:
        await link.send(message)


@step
async def speech(on: Stage, packets: int | list[bytes], *, duration: int = 60) -> None:
    """Send these Opus packets, or so many of a tone, at once."""
    link = await on.link()
    for packet in packets if isinstance(packets, list) else opus_packets(packets, duration=duration):
        await link.play(packet)


def request(method: str, request_id: Any = 1, /, **params: Any) -> Step:
    """Ask by MCP."""
    return server(mcp({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}))


def mcp(payload: object) -> Json:
    return {"type": "mcp", "payload": payload}


@step
async def hangs_up(on: Stage) -> None:
    """Break the connection without a word."""
    (await on.link()).abort()


TTS_START, TTS_STOP = {"type": "tts", "state": "start"}, {"type": "tts", "state": "stop"}

# Rows: what the device must do


@step
async def device(
    on: Stage, exactly: Json | str | None = None, /, *, after: float | None = None, **fields: Any
) -> None:
    """Expect its next text: just this one, or one with these fields; `after` so many seconds."""
    link = await on.link()
    async with asyncio.timeout(PATIENCE):
        await link.until(lambda: len(on.texts()) > on.texts_read)
    text = on.texts()[on.texts_read]
    on.texts_read += 1
    if isinstance(exactly, str):
        assert text == exactly
    elif exactly is not None:
        assert json.loads(text) == exactly
    else:
        assert fits(json.loads(text), fields), text
    if after is not None:
        assert asyncio.get_running_loop().time() - on.clock == pytest.approx(after, abs=0.25)


@step
async def connects(on: Stage, number: int) -> None:
    """Expect a connection of this number, which the next rows are about."""
    on.session, on.texts_read = await on.server.session(number), 0


@step
async def disconnects(on: Stage) -> None:
    """Expect that it ends the connection."""
    link = await on.link()
    await link.until(lambda: link.closed)


@step
async def streams(on: Stage, packets: int) -> None:
    """Expect so many more audio packets."""
    link = await on.link()
    had = len(link.packets)
    await link.until(lambda: len(link.packets) >= had + packets)


@step
async def silent(on: Stage, seconds: float = 0.5) -> None:
    """Expect no audio for so long, but for what is under way."""
    link = await on.link()
    await asyncio.sleep(0.15)
    had = len(link.packets)
    await asyncio.sleep(seconds)
    assert len(link.packets) == had


@step
async def sees(on: Stage, /, *, after: float | None = None, **values: Any) -> None:
    """Expect that an observer sees these values soon, or `after` just so many seconds."""
    await on.sim.wait_for(
        lambda: all(fits(on.value(name), value) for name, value in values.items()), PATIENCE
    )
    if after is not None:
        assert asyncio.get_running_loop().time() - on.clock == pytest.approx(after, abs=0.3)


@step
async def still(on: Stage, /, **values: Any) -> None:
    """Expect these values now."""
    found = {name: on.value(name) for name in values}
    assert all(fits(found[name], value) for name, value in values.items()), found


@step
async def crashes(on: Stage, words: str, row: Step | None = None) -> None:
    """Expect that the firmware aborts because of a row, or soon."""
    with pytest.raises(DeviceCrashed, match=words):
        await (on.sim.wait_for(lambda: False, 10) if row is None else row(on))


@step
async def asks(
    on: Stage,
    line: str = "POST /ota HTTP/1.1",
    *,
    names: list[str] | None = None,
    headers: Json | None = None,
    body: Any = None,
    after: float | None = None,
) -> None:
    """Expect its next check-in or activation: all headers in order, some of their values, and the body."""
    http = on.server.http
    await http.until(lambda: len(http.requests) > on.requests_read)
    number, asked = on.requests_read, http.requests[on.requests_read]
    on.requests_read += 1
    assert asked.line == line
    assert names is None or [name for name, _ in asked.headers] == names
    assert fits(dict(asked.headers), headers or {}), asked.headers
    assert body is None or fits(json.loads(asked.body), body), asked.body
    if after is not None:
        assert http.times[number] - http.times[number - 1] == pytest.approx(after, abs=0.3)


HELLO_AND_LISTEN = (device(type="hello"), device(type="listen", state="start"))
LISTENING = (user("boot"), user("click"), *HELLO_AND_LISTEN, sees(listening=True))
SPEAKING = (*LISTENING, server(TTS_START), sees(status="Speaking..."))
IDLE_MQTT = (user("boot"), sees(connected=True))
