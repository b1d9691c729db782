"""The demo's child processes: started in the background, and always ended."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from itertools import chain, cycle, islice
import os
from pathlib import Path
import random
import signal
import socket
import sys
from typing import Final

from .errors import DemoError

HOST: Final = "127.0.0.1"
ROOT: Final = Path(__file__).parent.parent
# Of a log, in an error.
_LINES: Final = 15
_LINE_BYTES: Final = 300
# Home Assistant gives its integrations this long to finish; processes that still run afterwards are killed.
_STOP_SECONDS: Final = 15
PORTS: Final = "XIAOZHI_PORTS"
"""Variable of the environment with the ports to choose from: other ones for each process of tests."""
# Below those that systems give to outgoing connections, which could take one while Home Assistant restarts.
_PORTS: Final = "12000-31999"
_TRIED_PORTS: Final = 100


class Child:
    """A running process with a log."""

    def __init__(self, name: str, process: Process, log: Path) -> None:
        """Watch a process that has been started."""
        self.name = name
        self.log = log
        self._process = process

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.returncode is not None

    async def wait(self) -> None:
        """Return when it has ended."""
        await self._process.wait()

    def failure(self, what: str) -> DemoError:
        """Return an error with the last lines that the process wrote."""
        lines = last_lines(self.log, _LINES) or "(empty)"
        return DemoError(f"{self.name} {what}. The end of its log ({self.log}):\n{lines}")

    async def stop(self) -> None:
        """Ask it to end; if it does not, kill it and all its children."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._process.wait()
                    break
        # Children that it left behind.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def last_lines(log: Path, number: int) -> str:
    """Return the last lines of a log; empty for none."""
    tail = (
        (log.read_bytes() if log.exists() else b"")[-number * _LINE_BYTES :].decode(errors="replace").strip()
    )
    return "\n".join(tail.splitlines()[-number:])


@asynccontextmanager
async def started(
    name: str,
    command: list[str],
    log: Path,
    *,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Child]:
    """Run a command in `folder`; it ends with the block, or with this process at the latest.

    What it writes goes to `log`. `environment` is added to that of this process.
    """
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("tied.py")),
            str(os.getpid()),
            *command,
            cwd=folder,
            env=os.environ | (environment or {}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # Only the demo handles Ctrl-C at the terminal, and ends its children in order.
            start_new_session=True,
        )
    child = Child(name, process, log)
    try:
        yield child
    finally:
        await child.stop()


@cache
def random_ports() -> Iterator[int]:
    """Return ports without an end, each once before the first comes again."""
    first, last = map(int, os.environ.get(PORTS, _PORTS).split("-"))
    return cycle(random.SystemRandom().sample(range(first, last + 1), last - first + 1))


def free_port(*preferred: int, transport: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return the first free one of the preferred ports on loopback, or any free port."""
    for port in chain(filter(None, preferred), islice(random_ports(), _TRIED_PORTS)):
        with socket.socket(type=transport) as probe:
            if transport is socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                return int(probe.getsockname()[1])
    raise DemoError("this machine has no free port")


def gateway_ports() -> dict[str, int]:
    """Return free ports for the integration, by the names that its form and its entry have for them."""
    ports = {name: free_port() for name in ("websocket_port", "mqtt_port")}
    return ports | {"udp_port": free_port(transport=socket.SOCK_DGRAM)}
