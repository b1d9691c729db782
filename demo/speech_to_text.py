"""The demo's small speech recognition: a Wyoming server with PocketSphinx and a grammar of few sentences."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
import math
from pathlib import Path
import threading
from typing import Any, Final, override

import pocketsphinx
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioChunkConverter, AudioStart, AudioStop
from wyoming.event import Event

from .speech_server import SpeechHandler, ears, run

GRAMMAR: Final = Path(__file__).with_name("sentences.gram")
SAMPLE_RATE: Final = 16000
# Longer than any command; Home Assistant itself stops listening after 15 s.
_MAX_SECONDS: Final = 30

# The lattice search afterwards (bestpath) forgets that a sentence has to be complete, and the default beams
# lose the right sentence on very clean speech, such as a synthesizer's.
_SEARCH: Final = {"bestpath": False, "beam": 1e-80, "pbeam": 1e-80, "wbeam": 1e-60}
_LOG_BASE: Final = math.log(1.0001)
# How much worse a sentence may score than free phonemes, which fit everything: in the decoder's units, per
# frame of speech and once. Measured per frame on synthesized speech after Opus: the sentences of the
# grammar -35 and better, its single words (few frames) -50 and better, everything else -37 to -150.
_MARGIN: Final = 22.0
_MARGIN_SHORT: Final = 1550.0
# Audio below this level is silence, in which the decoder would find words.
_QUIET: Final = 200
# The share of the speech that the sentence must explain.
_COVERAGE: Final = 0.6
# Frames of 10 ms. In noise, nine of them may sound like "yes"; somebody who says it takes fifty.
_SHORTEST: Final = 20

_INFO: Final = ears("PocketSphinx", "https://github.com/cmusphinx/pocketsphinx", "en")


class Recognizer:
    """Recognises sentences of a grammar. Takes about 3 % of the duration of the speech."""

    def __init__(self, grammar: Path = GRAMMAR) -> None:
        """Load the English model that comes with PocketSphinx."""
        pocketsphinx.set_loglevel("FATAL")
        model = Path(pocketsphinx.get_model_path()) / "en-us"
        self._decoder: Any = pocketsphinx.Decoder(
            hmm=str(model / "en-us"),
            dict=str(model / "cmudict-en-us.dict"),
            lm=None,
            jsgf=str(grammar),
            loglevel="FATAL",
            **_SEARCH,
        )
        self._sentences: str = self._decoder.current_search()
        self._decoder.add_allphone_file("phonemes", None)
        # The decoder keeps one utterance.
        self._lock = threading.Lock()

    async def transcribe(self, pcm: bytes) -> str:
        """Transcribe mono PCM (16 kHz, 16 bit); the text is empty if no sentence fits well."""
        return await asyncio.to_thread(self._transcribe, pcm)

    def _transcribe(self, pcm: bytes) -> str:
        if max(memoryview(pcm[: len(pcm) // 2 * 2]).cast("h"), default=0) < _QUIET:
            return ""
        with self._lock:
            text, score, frames = self._decode(self._sentences, pcm)
            if frames < _SHORTEST:
                return ""
            _, free_score, free_frames = self._decode("phonemes", pcm)
        fits = score - free_score >= -(_MARGIN * frames + _MARGIN_SHORT)
        return text if fits and frames >= _COVERAGE * free_frames else ""

    def _decode(self, search: str, pcm: bytes) -> tuple[str, float, int]:
        """Return the text, its score and how many frames (10 ms) of speech it explains."""
        self._decoder.activate_search(search)
        # Otherwise noise and channel would be estimated from the previous speaker.
        self._decoder.reinit_feat()
        with self._utterance():
            self._decoder.process_raw(pcm, full_utt=True)
        hypothesis = self._decoder.hyp()
        if hypothesis is None:
            return "", -math.inf, 0
        frames = sum(
            segment.end_frame - segment.start_frame + 1
            for segment in self._decoder.seg()
            if segment.word != "SIL" and not segment.word.startswith(("<", "[", "("))
        )
        return hypothesis.hypstr, math.log(hypothesis.best_score) / _LOG_BASE, frames

    @contextmanager
    def _utterance(self) -> Iterator[None]:
        self._decoder.start_utt()
        try:
            yield
        finally:
            self._decoder.end_utt()


class SpeechToText(SpeechHandler):
    """Collects the audio of one command and answers with its transcript."""

    def __init__(
        self, recognizer: Recognizer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection; recognizers can be shared."""
        super().__init__(_INFO, reader, writer)
        self._recognizer = recognizer
        self._converter = AudioChunkConverter(rate=SAMPLE_RATE, width=2, channels=1)
        self._pcm = bytearray()

    @override
    async def handle_speech(self, event: Event) -> None:
        if AudioStart.is_type(event.type):
            self._pcm.clear()
        elif AudioChunk.is_type(event.type):
            if len(self._pcm) < _MAX_SECONDS * SAMPLE_RATE * 2:
                self._pcm += self._converter.convert(AudioChunk.from_event(event)).audio
        elif AudioStop.is_type(event.type):
            text = await self._recognizer.transcribe(bytes(self._pcm))
            await self.write_event(Transcript(text=text, language="en").event())


def main() -> None:
    """Serve until a signal ends it."""
    run(partial(SpeechToText, Recognizer()))


if __name__ == "__main__":
    main()
