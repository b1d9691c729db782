"""The common part of the demo's two Wyoming servers."""

import argparse
import asyncio
from collections.abc import Callable
from contextlib import suppress
import signal
from typing import Final, override

from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.server import AsyncEventHandler

__all__ = ["HOST", "READY", "HandlerFactory", "SpeechHandler", "run", "serve"]

HOST: Final = "127.0.0.1"
# Printed with the port, as the only line on the standard output, once the server takes connections.
READY: Final = "ready on port "

type HandlerFactory = Callable[[asyncio.StreamReader, asyncio.StreamWriter], SpeechHandler]


class SpeechHandler(AsyncEventHandler):
    """One connection of Home Assistant's Wyoming integration."""

    def __init__(self, info: Info, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """`info` describes this server."""
        super().__init__(reader, writer)
        self._info = info.event()

    @override
    async def handle_event(self, event: Event) -> bool:
        if Describe.is_type(event.type):
            await self.write_event(self._info)
        else:
            await self.handle_speech(event)
        return True

    async def handle_speech(self, event: Event) -> None:
        """Handle an event other than a description request."""
        raise NotImplementedError


async def serve(handler: HandlerFactory, port: int = 0) -> asyncio.Server:
    """Listen on loopback, on a free port when none is given."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Home Assistant closes the connection when the user interrupts an answer.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(reader, writer).run()

    return await asyncio.start_server(connected, HOST, port)


def run(handler: HandlerFactory, description: str) -> None:
    """Run a server: read `--port`, print `READY`, serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    asyncio.run(_serve_until_signal(handler, parser.parse_args().port))


async def _serve_until_signal(handler: HandlerFactory, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await serve(handler, port)
    print(f"{READY}{server.sockets[0].getsockname()[1]}", flush=True)
    await stop.wait()
    server.close()
    server.close_clients()
    await server.wait_closed()
