"""The common part of the demo's two small Wyoming servers."""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, override

from wyoming.event import Event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.server import AsyncEventHandler, AsyncServer

from .processes import HOST, free_port


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


def ears(name: str, url: str, language: str) -> Info:
    """Describe a program that understands a language."""
    common = _common(name, url)
    model = AsrModel(**common, languages=[language])
    as_it_comes: dict[str, Any] = {
        "prefers_auto_gain_enabled": False,
        "prefers_noise_reduction_enabled": False,
    }
    return Info(asr=[AsrProgram(**common, models=[model], **as_it_comes)])


def voice(name: str, url: str, *languages: str) -> Info:
    """Describe a program with one voice."""
    common = _common(name, url)
    return Info(tts=[TtsProgram(**common, voices=[TtsVoice(**common, languages=[*languages])])])


def _common(name: str, url: str) -> dict[str, Any]:
    author = Attribution(name=name, url=url)
    return {"name": name, "description": name, "attribution": author, "installed": True, "version": None}


@asynccontextmanager
async def serving(
    handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], SpeechHandler],
) -> AsyncGenerator[int]:
    """Serve in this process while the block runs; yields the port."""
    port = free_port()
    server = AsyncServer.from_uri(f"tcp://{HOST}:{port}")
    await server.start(handler)
    try:
        yield port
    finally:
        await server.stop()


def run(handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], SpeechHandler]) -> None:
    """Serve at the address of `--uri` until a signal ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--uri", required=True, help="such as tcp://127.0.0.1:10300")
    asyncio.run(AsyncServer.from_uri(parser.parse_args().uri).run(handler))
