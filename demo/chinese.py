"""A Chinese turn: what the engine writes, as Whisper does, is not in the characters of the assistant."""

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
_INFO: Final = ears("One sentence", "https://github.com/xiaozhi-home-assistant/xiaozhi", "zh")


class _Writes(SpeechHandler):
    """Writes the same sentence for all speech."""

    @override
    async def handle_speech(self, event: Event) -> None:
        if AudioStop.is_type(event.type):
            await self.write_event(Transcript(text=_WRITTEN, language="zh").event())


@asynccontextmanager
async def chinese_assistant(client: Client, mac: str) -> AsyncGenerator[None]:
    """Give a device a Chinese assistant, whose engine runs while the block does. Raises `DemoError`."""
    async with serving(partial(_Writes, _INFO)) as port:
        known = await _engines(client)
        await add_engine(client, port)
        # Whisper has Chinese, too.
        [engine] = await _engines(client) - known
        [pipeline] = (await client.command("assist_pipeline/pipeline/list"))["pipelines"][-1:]
        changed = {
            "name": _NAME,
            "language": "zh-CN",
            "conversation_language": "zh-CN",
            "stt_engine": engine,
            "stt_language": "zh",
        }
        del pipeline["id"]
        await client.command("assist_pipeline/pipeline/create", **pipeline | changed)
        await client.command("config/entity_registry/update", entity_id=LAMP, aliases=[None, _LAMP])
        select = await entity_id_of(client, mac, "select", "-pipeline")
        await client.call("select", "select_option", entity_id=select, option=_NAME)
        yield


async def _engines(client: Client) -> set[str]:
    engines = await client.command("stt/engine/list")
    return {engine["engine_id"] for engine in engines["providers"]}
