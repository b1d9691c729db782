"""A child process of ffmpeg that opens media from anywhere, and gives their sound as PCM.

Such media are untrusted, and could attack their parsers. So they are never opened in our own process. The
child has little memory, opens nothing but its input, and has none of Home Assistant's environment.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
import fcntl
import os
from pathlib import Path
import resource
import signal
import sys
from typing import Final, cast

import certifi

# Half of it is enough for any usual media. (A video or an MP4 can be made to ask for gigabytes.)
_MAX_MEMORY: Final = 256 * 1024 * 1024
# Of PCM and of log. More would be an old position when somebody pauses.
_BUFFER: Final = 32 * 1024
_MAX_LINE: Final = 4096
# Demuxers of sound, and of videos with sound. Others may open further files, or are rarely used.
_FORMATS: Final = "aac,ac3,aiff,asf,caf,eac3,flac,matroska,mov,mp3,mpegts,ogg,wav,webm"
_PROGRAM: Final = (
    "-nostdin",
    "-hide_banner",
    "-nostats",
    # Only this level has the titles of radio stations.
    *("-loglevel", "level+verbose"),
    *("-threads", "1", "-filter_threads", "1"),
)
# Looking further ahead finds nothing that decoding does not, and delays the first sound of a station.
_INPUT: Final = ("-probesize", "32768", "-analyzeduration", "1", "-vn", "-sn", "-dn")
_WEB: Final = (
    *("-protocol_whitelist", "http,https,tcp,tls,crypto"),
    *("-format_whitelist", f"{_FORMATS},hls"),
)
_FILE: Final = ("-protocol_whitelist", "file", "-format_whitelist", _FORMATS)
# Variables with which a program is found and finds its libraries.
_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH")


def web_input(address: str, *, verify: bool) -> tuple[str, ...]:
    """Return the arguments for a web address; `verify` requires a trusted certificate."""
    if not address.startswith("https:"):
        # ffmpeg refuses options that an input does not use.
        return *_WEB, "-i", address
    tls = ("-tls_verify", "1", "-ca_file", certifi.where()) if verify else ("-tls_verify", "0")
    return *_WEB, *tls, "-i", address


def file_input(path: Path) -> tuple[str, ...]:
    """Return the arguments to open a file."""
    return *_FILE, "-i", f"file:{path}"


async def read_sound(
    program: str, source: tuple[str, ...], *, sample_rate: int, start: float, on_line: Callable[[str], bool]
) -> AsyncGenerator[bytes]:
    """Yield the sound of media as 16-bit mono PCM, from `start` seconds on.

    ffmpeg decodes no further ahead than is read here. `on_line` takes each line of its log, and returns if
    it may go on. Closing this ends the process. Raises `ChildProcessError` if it fails, and another `OSError`
    if it does not start.
    """
    position = ("-ss", f"{start:.3f}") if start else ()
    pcm = ("-f", "s16le", "-ac", "1", "-ar", str(sample_rate), "-flush_packets", "1", "pipe:1")
    lifeline, held = os.pipe()
    with os.fdopen(held, "wb"):
        try:
            child = await asyncio.create_subprocess_exec(
                *(program, *_PROGRAM, *_INPUT, *position, *source, *pcm),
                stdin=lifeline,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_BUFFER,
                process_group=0,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            )
            _bound(child.pid, lifeline)
        finally:
            os.close(lifeline)
        output = cast("asyncio.StreamReader", child.stdout)
        errors = cast("asyncio.StreamReader", child.stderr)
        log = asyncio.create_task(_read_lines(errors, on_line, child))
        try:
            left = b""
            while data := await output.read(_BUFFER):
                data = left + data
                whole = len(data) & ~1
                left = data[whole:]
                yield data[:whole]
            await log
            if await child.wait():
                raise ChildProcessError(f"ffmpeg has ended with code {child.returncode}")
        finally:
            log.cancel()
            # The wait for the end may be interrupted, but not the end itself.
            ending = asyncio.create_task(_end(child))
            await asyncio.shield(ending)


def _kill(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        # With its children: the program that the owner has set may be a script around ffmpeg.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


async def _end(child: asyncio.subprocess.Process) -> None:
    _kill(child)
    # Also reads the rest of the pipes, which are closed only after that.
    await child.communicate()


def _bound(pid: int, lifeline: int) -> None:
    """Limit the memory of a process, and have the kernel end it when nobody holds `lifeline` any more.

    This comes just after the start, when nothing was read yet: before it, Python would run in the copy of a
    process with threads, where it may hang.
    """
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, -pid)
            fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)


async def _read_lines(
    log: asyncio.StreamReader, on_line: Callable[[str], bool], child: asyncio.subprocess.Process
) -> None:
    rest = b""
    while data := await log.read(_MAX_LINE):
        *lines, rest = (rest + data).split(b"\n")
        rest = rest[:_MAX_LINE]
        for line in lines:
            if not on_line(line.decode(errors="replace")):
                _kill(child)
        if len(data) == _MAX_LINE:
            # Damaged media can fill the log as fast as it is read.
            await asyncio.sleep(0.01)
