"""The demo's small voice: a Wyoming server with espeak-ng."""

import asyncio
import re
from typing import Final, override

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.tts import Synthesize

from simulator.audio.espeak import SpeechError, synthesize

from .speech_server import SpeechHandler, run, voice as described

_VOICE: Final = "en-us"
_CHINESE_VOICE: Final = "cmn"
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")
_SAMPLE_RATE: Final = 22050
_CHUNK_BYTES: Final = _SAMPLE_RATE * 2 // 10
_MAX_TEXT: Final = 20_000

_INFO: Final = described("eSpeak NG", "https://github.com/espeak-ng/espeak-ng", "en", "zh")


class TextToSpeech(SpeechHandler):
    """Speaks texts."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        super().__init__(_INFO, reader, writer)

    @override
    async def handle_speech(self, event: Event) -> None:
        if not Synthesize.is_type(event.type):
            return
        text = Synthesize.from_event(event).text[:_MAX_TEXT]
        try:
            voice = _CHINESE_VOICE if _CHINESE.search(text) else _VOICE
            pcm, _ = await asyncio.to_thread(synthesize, text, voice=voice, sample_rate=_SAMPLE_RATE)
        except SpeechError as err:
            await self.write_event(Error(text=str(err)).event())
            return
        await self.write_event(AudioStart(rate=_SAMPLE_RATE, width=2, channels=1).event())
        for start in range(0, len(pcm), _CHUNK_BYTES):
            chunk = pcm[start : start + _CHUNK_BYTES]
            await self.write_event(AudioChunk(rate=_SAMPLE_RATE, width=2, channels=1, audio=chunk).event())
        await self.write_event(AudioStop().event())


def main() -> None:
    """Serve until a signal ends it."""
    run(TextToSpeech)


if __name__ == "__main__":
    main()
