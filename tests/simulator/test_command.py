"""The command, in processes of its own: a device and an access point."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
import json
import os
from pathlib import Path
import signal
import sys
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from simulator.cli import main
from tests.paths import ROOT
from tests.simulator.servers import WebSocketSession, opus_packets, websocket_server

# Each process of its own takes seconds of processor time to start.
pytestmark = [pytest.mark.real_time, pytest.mark.timeout(600)]

CODE = {"activation": {"code": "424242", "message": "Add me", "challenge": "riddle"}}


class Terminal:
    """The running command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    async def read(self, words: str) -> str:
        """Return the next line with these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(200):
            while words not in (line := (await self.process.stdout.readline()).decode()):
                assert line, f"it ended without {words!r}"
        return line.strip()


@asynccontextmanager
async def command(*arguments: str | Path) -> AsyncIterator[Terminal]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulator", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield Terminal(process)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 100) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_command_pairs_says_what_is_typed_and_clicks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And keeps the flash, from which a later call has address and identity."""
    state = tmp_path / "folder" / "state.json"
    async with websocket_server() as server:
        server.http.replies.extendleft([200, CODE])
        options = ["--url", server.http.url, "--state", str(state)]
        assert await asyncio.to_thread(main, [*options, "pair"]) == 0
        assert capsys.readouterr().out == "Code: 424242\nPaired; the link is WebSocket.\n"
        async with command("--state", state, "run") as terminal:
            await terminal.type("Hello there")
            session = await server.session()
            assert isinstance(session, WebSocketSession)
            await session.until(lambda: len(session.packets) > 20)
            await session.send({"type": "tts", "state": "start"})
            await session.send({"type": "tts", "state": "sentence_start", "text": "Hello yourself."})
            for packet in opus_packets(3):
                await session.send(packet)
            await terminal.read("assistant: Hello yourself.")
            await session.connection.close()
            await terminal.read("is idle")
            await terminal.type("")
            await server.session(2)
        saved = json.loads(state.read_text())
        assert state.stat().st_mode & 0o777 == 0o600
        assert saved["nvs"]["websocket"]["token"] == "secret"
        assert await asyncio.to_thread(main, ["--state", str(state), "pair"]) == 0
        first, last = (dict(server.http.requests[index].headers) for index in (0, -1))
        assert first["Client-Id"] == last["Client-Id"]


async def answer(connection: ClientConnection) -> None:
    """Answer like a minimal MCP server."""
    tool = {"name": "intent__HassTurnOn", "inputSchema": {"type": "object", "properties": {}}}
    results: dict[str, Any] = {
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": ""}]},
    }
    results["initialize"] = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
    with suppress(ConnectionClosed):
        async for text in connection:
            message = json.loads(text)
            if "id" in message:
                result = results.get(message["method"], {})
                await connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


async def test_access_points_at_the_terminal() -> None:
    async with (
        command("access-point", "--agent", "7") as terminal,
        connect(await terminal.read("ws://127.0.0.1:")) as connection,
    ):
        answering = asyncio.create_task(answer(connection))
        await terminal.read("1 tools in")
        await terminal.type("Turn on the kitchen light.")
        assert await terminal.read("> ") == '> intent__HassTurnOn {"name": "kitchen light"}'
        for line, reply in (
            ("sing a song", "! no tool fits this sentence"),
            ("/call intent__HassTurnOff {", "! Expecting"),
            ("/dance", "! not a command"),
        ):
            await terminal.type(line)
            await terminal.read(reply)
        await terminal.type("/close 4004")
        await asyncio.wait([answering], timeout=100)
        assert connection.close_code == 4004
