"""A voice satellite of Home Assistant's own `wyoming` integration, for comparison."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Final

from homeassistant.core import HomeAssistant
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStop
from wyoming.event import Event, Eventable, async_read_event, async_write_event
from wyoming.info import Attribution, Describe, Info, Satellite
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.satellite import RunSatellite
from wyoming.snd import Played

from demo.processes import HOST
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE

from .real_speech import add_wyoming

_FRAME_BYTES: Final = 2 * FRAME_SAMPLES
_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
_FORMAT: Final = {"rate": UPLINK_RATE, "width": 2, "channels": 1}
_PATIENCE: Final = 60


class WyomingSatellite:
    """A microphone and a loudspeaker that Home Assistant connects to."""

    def __init__(self) -> None:
        """Wait for Home Assistant."""
        self._connected: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
        self._understood = asyncio.Event()
        self._over = asyncio.Event()
        self._sounds: list[float] = []

    async def converse(self, pcm: bytes, end: float) -> tuple[float, float]:
        """Say something, whose speech ends after `end` seconds, and hear the answer.

        Returns the monotonic times of that end and of the first sound of the answer.
        """
        async with asyncio.timeout(_PATIENCE):
            writer = await self._connected
            self._understood.clear()
            self._over.clear()
            self._sounds.clear()
            run = RunPipeline(start_stage=PipelineStage.ASR, end_stage=PipelineStage.TTS)
            await _write(run, writer)
            begun = monotonic()
            for number in range(len(pcm) // _FRAME_BYTES):
                if self._understood.is_set():
                    break
                await asyncio.sleep(begun + (number + 1) * _FRAME_SECONDS - monotonic())
                piece = pcm[number * _FRAME_BYTES :][:_FRAME_BYTES]
                await _write(AudioChunk(audio=piece, **_FORMAT), writer)
            await self._over.wait()
            await _write(Played(), writer)
        return begun + end, self._sounds[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection of Home Assistant's."""
        with suppress(ConnectionError):
            while (event := await async_read_event(reader)) is not None:
                await self._take(event, writer)
        writer.close()

    async def _take(self, event: Event, writer: asyncio.StreamWriter) -> None:
        if Describe.is_type(event.type):
            owner = Attribution(name="benchmark", url="")
            what = Satellite(
                name="Satellite", attribution=owner, installed=True, description=None, version=None
            )
            await _write(Info(satellite=what), writer)
        elif Ping.is_type(event.type):
            await _write(Pong(), writer)
        elif RunSatellite.is_type(event.type):
            self._connected.set_result(writer)
        elif Transcript.is_type(event.type):
            self._understood.set()
        elif AudioChunk.is_type(event.type):
            self._sounds.append(monotonic())
        elif AudioStop.is_type(event.type):
            self._over.set()


async def _write(message: Eventable, writer: asyncio.StreamWriter) -> None:
    await async_write_event(message.event(), writer)


@asynccontextmanager
async def wyoming_satellite(hass: HomeAssistant) -> AsyncGenerator[WyomingSatellite]:
    """Add a satellite to Home Assistant."""
    satellite = WyomingSatellite()
    async with await asyncio.start_server(satellite.serve, HOST, 0) as server:
        entry = await add_wyoming(hass, server.sockets[0].getsockname()[1])
        try:
            yield satellite
        finally:
            await hass.config_entries.async_remove(entry.entry_id)
            server.close_clients()
