"""What music costs: the time until it begins, and processor time and memory for an hour of it."""

import array
import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
import gc
import io
import math
from pathlib import Path
import random
import resource
from statistics import median
import sys
import tempfile
from time import perf_counter, process_time
from typing import Final

import av
from av.audio.codeccontext import AudioCodecContext
from homeassistant.core import HomeAssistant

from custom_components.xiaozhi.media.stream import MediaStream
from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.messages import DOWNLINK
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import MediaTimeouts
from demo.processes import free_port

from .house import House
from .process import resident_kib, return_free_memory
from .report import Finding, Row

_KINDS: Final = {
    "MP3, 128 kbit/s": ("mp3", "libmp3lame", 44100, 128_000),
    "AAC, 128 kbit/s": ("adts", "aac", 44100, 128_000),
    "Ogg Opus, 96 kbit/s, a song a minute": ("ogg", "libopus", 48000, 96_000),
}
_MINUTE: Final = 60


async def measure(house: House, *, quick: bool) -> Finding:
    """Play an hour of each kind of media as fast as it goes."""
    minutes = 1 if quick else 60
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="xiaozhi-media-") as name:
        folder = Path(name)
        async with house.site(1, LinkKind.MQTT), _files_served(folder) as address:
            for number, (kind, format_of_kind) in enumerate(_KINDS.items()):
                minute = await asyncio.to_thread(_music, *format_of_kind, 5 if quick else _MINUTE)
                file = folder / f"{number}.{format_of_kind[0]}"
                await asyncio.to_thread(file.write_bytes, minute * minutes)
                url = f"{address}/{file.name}"
                begins = {"first sound, ms": await _first_sound(house.hass, url, 3 if quick else 15)}
                rows.append({"media": kind, **begins, **await _drain(house.hass, url)})
    return Finding(
        benchmark="media", claim="processor time and memory of media that are played to one device", rows=rows
    )


@asynccontextmanager
async def _files_served(folder: Path) -> AsyncIterator[str]:
    """Serve a folder from another process."""
    port = free_port()
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), str(port)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        await server.wait()


def _stream(hass: HomeAssistant, url: str) -> MediaStream:
    return MediaStream(hass, url, sample_rate=DOWNLINK.sample_rate, timeouts=MediaTimeouts())


async def _first_sound(hass: HomeAssistant, url: str, times: int) -> float:
    """Return the median time from the call to the first sound."""
    found = []
    for _ in range(times):
        stream = _stream(hass, url)
        begun = perf_counter()
        await stream.open()
        found.append(1000 * (perf_counter() - begun))
        await stream.close()
    return round(median(found), 1)


async def _drain(hass: HomeAssistant, url: str) -> Row:
    """Encode all of it, and throw it away."""
    stream = _stream(hass, url)
    encoded = OggOpusEncoder().encode_all(stream.pcm())
    start = end = cpu = 0.0
    children = _children_time()
    try:
        await stream.open()
        used = process_time()
        async with aclosing(encoded):
            async for _ in encoded:
                if not start and stream.played > 10:
                    start = _memory()
        cpu = process_time() - used
        end = _memory()
    finally:
        await stream.close()
    return {
        "seconds": round(stream.played, 1),
        "CPU ms for each second": round(1000 * cpu / stream.played, 2),
        "ffmpeg's": round(1000 * (_children_time() - children) / stream.played, 2),
        "KiB more at the end": round(end - start if start else 0.0),
    }


def _children_time() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory() -> float:
    gc.collect()
    return_free_memory()
    return resident_kib()


def _music(container: str, codec: str, rate: int, bit_rate: int, seconds: int) -> bytes:
    """Return a file of stereo chords with noise."""
    file = io.BytesIO()
    options = {"write_xing": "0", "id3v2_version": "0"} if container == "mp3" else {}
    rng = random.Random(1)
    chord = [2 * math.pi * hertz / rate for hertz in (220, 277, 330, 1760)]
    second = array.array("h")
    for sample in range(rate):
        level = sum(math.sin(step * sample) for step in chord) * 4000
        second.append(int(level + rng.uniform(-1500, 1500)))
        second.append(int(level * 0.7 + rng.uniform(-1500, 1500)))
    pcm = second.tobytes() * seconds
    with av.open(file, "w", format=container, options=options) as output:
        stream = output.add_stream(codec, rate=rate, layout="stereo")
        assert isinstance(stream.codec_context, AudioCodecContext)
        stream.codec_context.bit_rate = bit_rate
        for start in range(0, len(pcm), 4096):
            piece = pcm[start : start + 4096]
            frame = av.AudioFrame(format="s16", layout="stereo", samples=len(piece) // 4)
            frame.sample_rate, frame.pts = rate, start // 4
            frame.planes[0].update(piece)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return file.getvalue()
