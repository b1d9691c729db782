"""What music costs: the time until it begins, and processor time and memory for an hour of it."""

import array
import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
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
from yarl import URL

from custom_components.xiaozhi.device_http.transfers import TRANSFERS, Stream
from custom_components.xiaozhi.media.stream import MediaStream
from custom_components.xiaozhi.protocol.audio.codec import OpusEncoder
from custom_components.xiaozhi.protocol.audio.ogg import OGG_AUDIO, OggOpusEncoder
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
# A client that reads as slowly as a device plays, with receive buffers as small as its own.
_CLIENT: Final = """
import socket, sys, time
host, port, path, rate = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
client.connect((host, port))
client.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
while data := client.recv(1024):
    time.sleep(len(data) / rate)
"""


async def measure(house: House, *, quick: bool) -> Finding:
    """Play an hour of each kind of media as fast as it goes, and a part of it as slowly as a device does."""
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
                for way in ("notify", "channel"):
                    cost = await _drain(house.hass, url, ogg=way == "notify")
                    rows.append({"media": kind, "way": way, **begins, **cost})
            file = folder / "0.mp3"
            seconds = 2 if quick else 60
            rows.append(
                {
                    "media": "MP3, in real time",
                    "way": "notify",
                    "first sound, ms": None,
                    **await _send(house, f"{address}/{file.name}", seconds),
                }
            )
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
    return MediaStream(hass, url, sample_rate=OGG_AUDIO.sample_rate, timeouts=MediaTimeouts())


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


async def _drain(hass: HomeAssistant, url: str, *, ogg: bool) -> Row:
    """Encode all of it, and throw it away."""
    stream = _stream(hass, url)
    encoded = OggOpusEncoder().encode_all(stream.pcm()) if ogg else _packets(stream.pcm())
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
    child = (_children_time() - children) / stream.played
    return _row(stream.played, cpu, child, end - start if start else 0.0)


async def _packets(pcm: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    encoder = OpusEncoder(OGG_AUDIO)
    async for piece in pcm:
        for packet in encoder.encode(piece):
            yield packet


async def _send(house: House, url: str, seconds: int) -> Row:
    """Send it over the real view to a client that reads in real time."""
    stream = _stream(house.hass, url)
    offered = Stream(OggOpusEncoder().encode_all(stream.pcm()), "audio/ogg")
    own = URL(house.check_in_url)
    children = _children_time()
    try:
        await stream.open()
        with house.hass.data[TRANSFERS].offer_stream(offered) as path:
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _CLIENT, str(own.host), str(own.port), path, "6000")
            )
            try:
                await offered.wait_requested()
                # What is buffered first is not the cost of a second.
                await asyncio.sleep(0 if seconds < 10 else 5)
                memory = _memory()
                used, played = process_time(), stream.played
                await asyncio.sleep(seconds)
                cost = stream.played - played, process_time() - used
                more = _memory() - memory
            finally:
                offered.stop()
                await offered.wait_ended()
                await stream.close()
                child = (_children_time() - children) / stream.played
                client.terminate()
                await client.wait()
    finally:
        await stream.close()
    return _row(*cost, child, more)


def _children_time() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(seconds: float, cpu: float, child: float, more: float) -> Row:
    return {
        "seconds": round(seconds, 1),
        "CPU ms for each second": round(1000 * cpu / seconds, 2) if seconds else None,
        "ffmpeg's": round(1000 * child, 2),
        "KiB more at the end": round(more),
    }


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
