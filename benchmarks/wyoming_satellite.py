"""A voice satellite of Home Assistant's own `wyoming` integration, for comparison."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Final, override

from homeassistant.core import HomeAssistant
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStop
from wyoming.event import Event
from wyoming.info import Attribution, Info, Satellite
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.satellite import RunSatellite
from wyoming.snd import Played

from demo.speech_server import SpeechHandler, serving
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE

from .real_speech import add_wyoming

_FRAME_BYTES: Final = 2 * FRAME_SAMPLES
_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
_FORMAT: Final = {"rate": UPLINK_RATE, "width": 2, "channels": 1}
_PATIENCE: Final = 60
_OWNER: Final = Attribution(name="benchmark", url="")
_INFO: Final = Info(
    satellite=Satellite(name="Satellite", attribution=_OWNER, installed=True, description=None, version=None)
)


class WyomingSatellite:
    """A microphone and a loudspeaker that Home Assistant connects to."""

    def __init__(self) -> None:
        """Wait for Home Assistant."""
        self.connected: asyncio.Future[_Connection] = asyncio.get_running_loop().create_future()
        self.understood = asyncio.Event()
        self.over = asyncio.Event()
        self.sounds: list[float] = []

    async def converse(self, pcm: bytes, end: float) -> tuple[float, float]:
        """Say something, whose speech ends after `end` seconds, and hear the answer.

        Returns the monotonic times of that end and of the first sound of the answer.
        """
        async with asyncio.timeout(_PATIENCE):
            connection = await self.connected
            self.understood.clear()
            self.over.clear()
            self.sounds.clear()
            run = RunPipeline(start_stage=PipelineStage.ASR, end_stage=PipelineStage.TTS)
            await connection.write_event(run.event())
            begun = monotonic()
            for number in range(len(pcm) // _FRAME_BYTES):
                if self.understood.is_set():
                    break
                await asyncio.sleep(begun + (number + 1) * _FRAME_SECONDS - monotonic())
                piece = pcm[number * _FRAME_BYTES :][:_FRAME_BYTES]
                await connection.write_event(AudioChunk(audio=piece, **_FORMAT).event())
            await self.over.wait()
            await connection.write_event(Played().event())
        return begun + end, self.sounds[0]


class _Connection(SpeechHandler):
    """A connection of Home Assistant's, which has one to ask, and one to speak and hear."""

    def __init__(
        self, satellite: WyomingSatellite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(_INFO, reader, writer)
        self._satellite = satellite

    @override
    async def handle_speech(self, event: Event) -> None:
        satellite = self._satellite
        if Ping.is_type(event.type):
            await self.write_event(Pong().event())
        elif RunSatellite.is_type(event.type):
            satellite.connected.set_result(self)
        elif Transcript.is_type(event.type):
            satellite.understood.set()
        elif AudioChunk.is_type(event.type):
            satellite.sounds.append(monotonic())
        elif AudioStop.is_type(event.type):
            satellite.over.set()


@asynccontextmanager
async def wyoming_satellite(hass: HomeAssistant) -> AsyncGenerator[WyomingSatellite]:
    """Add a satellite to Home Assistant."""
    satellite = WyomingSatellite()
    async with serving(partial(_Connection, satellite)) as port:
        entry = await add_wyoming(hass, port)
        try:
            yield satellite
        finally:
            await hass.config_entries.async_remove(entry.entry_id)
