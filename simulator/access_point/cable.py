"""A TCP relay that can be cut without either end being told."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

_BLOCK = 65536


@dataclass(eq=False, slots=True)
class _Pair:
    """The two halves of a relayed connection."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter | None = None
    dead: bool = False


class Cable:
    """Leads from a port of its own to another on loopback, as an async context manager."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.connections = 0
        """TCP connections so far."""
        self._target = target
        self._is_cut = False
        self._pairs: set[_Pair] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Listen."""
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        self.reset()

    def through(self, url: str) -> str:
        """Return the address that leads through this cable."""
        return url.replace(f":{self._target}/", f":{self.port}/", 1)

    def cut(self) -> None:
        """Pass nothing on any more, neither data nor ends; new connections hear nothing, either."""
        self._is_cut = True
        for pair in self._pairs:
            pair.dead = True

    def mend(self) -> None:
        """Let new connections through; those that were cut stay dead."""
        self._is_cut = False

    def reset(self) -> None:
        """Break all connections, so that both ends notice."""
        for pair in [*self._pairs]:
            pair.dead = True
            for writer in (pair.near, pair.far):
                if writer is not None:
                    writer.transport.abort()
        self._pairs.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        pair = _Pair(writer, dead=self._is_cut)
        self._pairs.add(pair)
        if pair.dead:
            return
        try:
            far_reader, pair.far = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            self._pairs.discard(pair)
            writer.transport.abort()
            return
        await asyncio.gather(_pump(pair, reader, pair.far), _pump(pair, far_reader, writer))
        if not pair.dead:
            self._pairs.discard(pair)
            writer.close()
            pair.far.close()


async def _pump(pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, until the end or the cut."""
    try:
        while data := await reader.read(_BLOCK):
            if pair.dead:
                return
            writer.write(data)
            await writer.drain()
        if not pair.dead:
            with suppress(OSError):
                writer.write_eof()
    except OSError:
        if not pair.dead:
            writer.transport.abort()
