"""The demo's small voice: a Wyoming server with espeak-ng."""

import asyncio
from typing import Final, override

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Attribution, Info, TtsProgram, TtsVoice
from wyoming.tts import Synthesize

from simulator.audio.espeak import SpeechError, synthesize

from .speech_server import SpeechHandler, run

__all__ = ["SAMPLE_RATE", "VOICE", "TextToSpeech", "main"]

VOICE: Final = "en-us"
SAMPLE_RATE: Final = 22050
_CHUNK_BYTES: Final = SAMPLE_RATE * 2 // 10
_MAX_TEXT: Final = 20_000

_ESPEAK: Final = Attribution(name="eSpeak NG", url="https://github.com/espeak-ng/espeak-ng")


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
            pcm, _ = await asyncio.to_thread(synthesize, text, voice=VOICE, sample_rate=SAMPLE_RATE)
        except SpeechError as err:
            await self.write_event(Error(text=str(err)).event())
            return
        await self.write_event(AudioStart(rate=SAMPLE_RATE, width=2, channels=1).event())
        for start in range(0, len(pcm), _CHUNK_BYTES):
            chunk = pcm[start : start + _CHUNK_BYTES]
            await self.write_event(AudioChunk(rate=SAMPLE_RATE, width=2, channels=1, audio=chunk).event())
        await self.write_event(AudioStop().event())


_INFO: Final = Info(
    tts=[
        TtsProgram(
            name="eSpeak NG",
            description="Speaks the answers of the demo",
            attribution=_ESPEAK,
            installed=True,
            version=None,
            voices=[
                TtsVoice(
                    name=VOICE,
                    description="US English",
                    attribution=_ESPEAK,
                    installed=True,
                    version=None,
                    languages=["en"],
                )
            ],
        )
    ]
)


def main() -> None:
    """Serve until a signal ends it."""
    run(TextToSpeech)


if __name__ == "__main__":
    main()
