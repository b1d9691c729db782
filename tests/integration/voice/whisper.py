"""A speech recogniser behind Wyoming, as faster-whisper is.

It begins to work when all audio is there, and on one call after the other.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStop
from wyoming.event import async_read_event, async_write_event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info

_ATTRIBUTION = Attribution(name="tests", url="http://127.0.0.1")


@dataclass
class Whisper:
    """The server. It does not notice when a client no longer wants a transcript."""

    name: str = "faster-whisper"
    seconds: float = 0.3
    """That one transcript takes."""
    hears: Callable[[float], str | None] = lambda _: ""
    """The transcript of so many seconds of sound; None to fail."""
    hangs: int = 0
    """Calls that will never be answered."""
    calls: list[float] = field(default_factory=list)
    """Seconds of sound of each call, when all of it was there."""
    port: int = 0

    def __post_init__(self) -> None:
        """Have one worker."""
        self.worker = asyncio.Lock()
        self.closed = asyncio.Event()

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            self.closed.set()
            server.close()
            server.close_clients()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = 0.0
        with suppress(ConnectionError):
            while (event := await async_read_event(reader)) is not None:
                if Describe.is_type(event.type):
                    await async_write_event(self._info().event(), writer)
                elif AudioChunk.is_type(event.type):
                    heard += len(AudioChunk.from_event(event).audio) / 32000
                elif AudioStop.is_type(event.type):
                    text = await self._work(heard)
                    if text is None:
                        break
                    await async_write_event(Transcript(text=text).event(), writer)
        writer.close()

    async def _work(self, heard: float) -> str | None:
        self.calls.append(heard)
        if self.hangs:
            self.hangs -= 1
            await self.closed.wait()
            return None
        async with self.worker:
            await asyncio.sleep(self.seconds)
        return self.hears(heard)

    def _info(self) -> Info:
        about: Any = {"description": None, "attribution": _ATTRIBUTION, "installed": True, "version": None}
        model = AsrModel(name="tiny", languages=["en", "zh"], **about)
        return Info(asr=[AsrProgram(name=self.name, models=[model], **about)])
