"""A Chinese turn: what the engine writes, as Whisper does, is not in the characters of the assistant."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, override

from wyoming.asr import Transcript
from wyoming.audio import AudioStop
from wyoming.event import Event

from .client import Client
from .house import LAMP, add_engine, entity_id_of
from .speech_server import SpeechHandler, ears, serving

COMMAND: Final = "打开厨房灯"
"""Command that the assistant is to get."""
_WRITTEN: Final = "打開廚房燈"
_LAMP: Final = "厨房灯"
_NAME: Final = "中文"
_PAGE: Final = "https://github.com/xiaozhi-home-assistant/xiaozhi"


class _Writes(SpeechHandler):
    """Writes the same sentence for all speech."""

    def __init__(
        self, text: str, language: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection."""
        super().__init__(ears("One sentence", _PAGE, language), reader, writer)
        self._transcript = Transcript(text=text, language=language)

    @override
    async def handle_speech(self, event: Event) -> None:
        if AudioStop.is_type(event.type):
            await self.write_event(self._transcript.event())


@asynccontextmanager
async def assistant_for(client: Client, name: str, language: str, written: str) -> AsyncGenerator[str]:
    """Add an assistant of a language, whose engine writes one sentence while the block runs; yields its id.

    All else is as in the assistant that was added last. Raises `DemoError`.
    """
    spoken, _, _ = language.partition("-")
    async with serving(partial(_Writes, written, spoken)) as port:
        known = await _engines(client)
        await add_engine(client, port)
        # Whisper has Chinese, too.
        [engine] = await _engines(client) - known
        [pipeline] = (await client.command("assist_pipeline/pipeline/list"))["pipelines"][-1:]
        changed = {
            "name": name,
            "language": language,
            "conversation_language": language,
            "stt_engine": engine,
            "stt_language": spoken,
        }
        del pipeline["id"]
        added = await client.command("assist_pipeline/pipeline/create", **pipeline | changed)
        yield added["id"]


@asynccontextmanager
async def chinese_assistant(client: Client, mac: str) -> AsyncGenerator[None]:
    """Give a device a Chinese assistant, whose engine runs while the block does. Raises `DemoError`."""
    async with assistant_for(client, _NAME, "zh-CN", _WRITTEN):
        await client.command("config/entity_registry/update", entity_id=LAMP, aliases=[None, _LAMP])
        select = await entity_id_of(client, mac, "select", "-pipeline")
        await client.call("select", "select_option", entity_id=select, option=_NAME)
        yield


async def _engines(client: Client) -> set[str]:
    engines = await client.command("stt/engine/list")
    return {engine["engine_id"] for engine in engines["providers"]}
