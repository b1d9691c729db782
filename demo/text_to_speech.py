"""The demo's voice: a Wyoming server with espeak-ng that speaks each sentence as soon as its text is there.

Run it alone with `python -m demo.text_to_speech`.
"""

import asyncio
from collections.abc import Iterator
import re
from typing import Final, override

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Attribution, Info, TtsProgram, TtsVoice
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped

from simulator.audio.espeak import SpeechError, synthesize

from .speech_server import SpeechHandler, run

__all__ = ["SAMPLE_RATE", "VOICE", "TextToSpeech", "main"]

VOICE: Final = "en-us"
SAMPLE_RATE: Final = 22050
_CHUNK_BYTES: Final = SAMPLE_RATE * 2 // 10
_MAX_TEXT: Final = 20_000
# White space must follow the mark, so that "3.5 degrees" is not split.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:;])\s+|\n+")

_ESPEAK: Final = Attribution(name="eSpeak NG", url="https://github.com/espeak-ng/espeak-ng")


class TextToSpeech(SpeechHandler):
    """Speaks whole texts, and texts that come in pieces."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        super().__init__(_INFO, reader, writer)
        self._streaming = False
        self._text = ""
        self._spoken = 0

    @override
    async def handle_speech(self, event: Event) -> None:
        if SynthesizeStart.is_type(event.type):
            self._streaming = True
            await self._begin()
        elif SynthesizeChunk.is_type(event.type):
            self._text += SynthesizeChunk.from_event(event).text
            await self._speak_complete_sentences()
        elif SynthesizeStop.is_type(event.type):
            await self._finish()
            await self.write_event(SynthesizeStopped().event())
            self._streaming = False
        elif Synthesize.is_type(event.type) and not self._streaming:
            # While streaming, the whole text comes once more for servers that cannot stream.
            await self._begin()
            self._text = Synthesize.from_event(event).text
            await self._speak_complete_sentences()
            await self._finish()

    async def _begin(self) -> None:
        self._text = ""
        self._spoken = 0
        await self.write_event(AudioStart(rate=SAMPLE_RATE, width=2, channels=1).event())

    async def _speak_complete_sentences(self) -> None:
        *sentences, self._text = _SENTENCE_END.split(self._text)
        for sentence in sentences:
            await self._speak(sentence)

    async def _finish(self) -> None:
        await self._speak(self._text)
        await self.write_event(AudioStop().event())

    async def _speak(self, sentence: str) -> None:
        sentence = sentence[: max(0, _MAX_TEXT - self._spoken)]
        self._spoken += len(sentence)
        if not sentence.strip():
            return
        try:
            pcm, _ = await asyncio.to_thread(synthesize, sentence, voice=VOICE, sample_rate=SAMPLE_RATE)
        except SpeechError as err:
            await self.write_event(Error(text=str(err)).event())
            return
        for chunk in _chunks(pcm):
            await self.write_event(AudioChunk(rate=SAMPLE_RATE, width=2, channels=1, audio=chunk).event())


def _chunks(pcm: bytes) -> Iterator[bytes]:
    return (pcm[start : start + _CHUNK_BYTES] for start in range(0, len(pcm), _CHUNK_BYTES))


_INFO: Final = Info(
    tts=[
        TtsProgram(
            name="eSpeak NG",
            description="Speaks the answers of the demo",
            attribution=_ESPEAK,
            installed=True,
            version=None,
            supports_synthesize_streaming=True,
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
    run(TextToSpeech, "The demo's voice, as a Wyoming server.")


if __name__ == "__main__":
    main()
