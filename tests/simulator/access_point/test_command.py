"""The command `access-point` in a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import os
import signal
import sys

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from simulator.cli import main
from tests.paths import ROOT
from tests.simulator.access_point.peers import peer

pytestmark = pytest.mark.real_time


class Terminal:
    """The running command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def read(self, words: str) -> str:
        """Return the next line with these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while words not in (line := (await self.process.stdout.readline()).decode()):
                assert line, f"it ended without {words!r}"
        return line.strip()


@asynccontextmanager
async def command(*arguments: str) -> AsyncIterator[Terminal]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulator", "access-point", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield Terminal(process)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_cloud_at_the_terminal() -> None:
    async with command("--agent", "7") as terminal:
        url = await terminal.read("ws://127.0.0.1:")
        async with peer(url) as dialled:
            await terminal.read("of agent 7 is open")
            await terminal.read("2 tools in")
            await terminal.type("/tools")
            assert "2 tools" in await terminal.read("tools,")
            await terminal.type("Turn on the kitchen light.")
            assert await terminal.read("> ") == '> intent__HassTurnOn {"name": "kitchen light"}'
            assert '< intent__HassTurnOn {"name": "kitchen light"}' in await terminal.read("< ")
            await terminal.type('/call intent__HassTurnOff {"name": 1}')
            assert '< intent__HassTurnOff {"name": 1}' in await terminal.read("< ")
            for line, answer in (
                ("sing a song", "! no tool fits this sentence"),
                ("/call unknown", "! no connection has this tool"),
                ("/call intent__HassTurnOff {", "! Expecting"),
                ("/dance", "! not a command"),
                ("/garbage unknown notification", "< nothing"),
            ):
                await terminal.type(line)
                assert (await terminal.read(answer[:2])).startswith(answer)
            await terminal.type("/close 4004")
            assert await dialled.connection.wait_closed() is None
            assert dialled.connection.close_code == 4004
        for line in ("/drop", "/restart"):
            async with peer(url) as dialled:
                await terminal.read("is open")
                await terminal.type(line)
                await dialled.connection.wait_closed()
                assert dialled.connection.close_code == 1006


async def test_a_self_hosted_server_at_the_terminal() -> None:
    async with command("--self-hosted", "--scale", "0.5") as terminal:
        url = await terminal.read("ws://127.0.0.1:")
        assert "/mcp_endpoint/mcp/?token=" in url
        async with peer(url):
            await terminal.read("a tool side is registered")
            await terminal.type("turn off the lamp")
            assert await terminal.read("> ") == '> intent__HassTurnOff {"name": "lamp"}'
            assert '< intent__HassTurnOff {"name": "lamp"}' in await terminal.read("< ")
            await terminal.type("/drop")
            await terminal.read("! not a command")


async def test_faults_are_switches() -> None:
    async with command("--fault", "status=403", "--fault", "idle_drop=5", "--valid", "0") as terminal:
        url = await terminal.read("ws://127.0.0.1:")
        with pytest.raises(InvalidStatus):
            await connect(url).__aenter__()
        await terminal.read("asked to upgrade: 403")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dance", "no such fault: dance"),
        ("status=much", "status does not take much"),
        ("status", "status does not take no value"),
        ("silent=3", "silent does not take 3"),
    ],
)
def test_unknown_faults_are_refused(fault: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access-point", "--fault", fault]) == 1
    assert words in capsys.readouterr().err
