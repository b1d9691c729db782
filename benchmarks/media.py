"""What music costs: the time until it begins, and processor time and memory for an hour of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
import resource
from statistics import median
import sys
import tempfile
from time import perf_counter, process_time
from typing import Final

from homeassistant.core import HomeAssistant
import imageio_ffmpeg

from custom_components.xiaozhi.guests.media.stream import Media, MediaStream
from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .house import House
from .report import Row
from .soak.watch import memory_kib

_KINDS: Final = {
    "MP3, 128 kbit/s": ("mp3", "-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0"),
    "AAC, 128 kbit/s": ("aac", "-c:a aac -b:a 128k"),
    "Ogg Opus, 96 kbit/s, a song a minute": ("ogg", "-c:a libopus -b:a 96k -ar 48000"),
}
# Stereo chords with noise, in ffmpeg's language.
_CHORD: Final = "+".join(f"0.12*sin(2*PI*{hertz}*t)" for hertz in (220, 277, 330, 1760))
_MUSIC: Final = f"aevalsrc={_CHORD}+0.05*(random(0)-0.5)|0.7*({_CHORD})+0.05*(random(1)-0.5):s=44100"
_MINUTE: Final = 60


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Play an hour of each kind of media as fast as it goes."""
    minutes = 1 if quick else 60
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="xiaozhi-media-") as name:
        folder = Path(name)
        async with house.site(1, LinkKind.MQTT), _files_served(folder) as address:
            for kind, (container, codec) in _KINDS.items():
                file = folder / f"music.{container}"
                await _write_music(file, codec, 5 if quick else _MINUTE, minutes)
                url = f"{address}/{file.name}"
                begins = {"first sound, ms": await _first_sound(house.hass, url, 3 if quick else 15)}
                rows.append({"media": kind, **begins, **await _drain(house.hass, url)})
    return rows


@asynccontextmanager
async def _files_served(folder: Path) -> AsyncIterator[str]:
    """Serve a folder from another process."""
    folder_options = ("--bind", "127.0.0.1", "--directory", str(folder), "0")
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", "-m", "http.server", *folder_options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert server.stdout is not None
    try:
        # Serving HTTP on 127.0.0.1 port 12345 (...
        line = (await server.stdout.readline()).decode()
        yield f"http://127.0.0.1:{line.split()[5]}"
    finally:
        server.terminate()
        await server.wait()


def _stream(hass: HomeAssistant, url: str) -> MediaStream:
    return MediaStream(hass, Media(media_id=url))


async def _first_sound(hass: HomeAssistant, url: str, times: int) -> float:
    """Return the median time from the call to the first sound."""
    found = []
    for _ in range(times):
        stream = _stream(hass, url)
        begun = perf_counter()
        await stream.open()
        found.append(1000 * (perf_counter() - begun))
        await stream.aclose()
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
                    start = memory_kib()
        cpu = process_time() - used
        end = memory_kib()
    finally:
        await stream.aclose()
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


async def _write_music(file: Path, codec: str, seconds: int, times: int) -> None:
    """Write the same music so many times behind each other."""
    program = imageio_ffmpeg.get_ffmpeg_exe()
    arguments = ["-v", "error", "-f", "lavfi", "-i", _MUSIC, "-t", str(seconds), *codec.split(), str(file)]
    made = await asyncio.create_subprocess_exec(program, *arguments)
    if await made.wait():
        raise RuntimeError(f"ffmpeg makes no {file.suffix}")
    await asyncio.to_thread(lambda: file.write_bytes(file.read_bytes() * times))
