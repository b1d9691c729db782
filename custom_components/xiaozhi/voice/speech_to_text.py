"""Speech to text for one turn, by the engine of its pipeline, in place of the pipeline's own first stage.

A pipeline calls its engine once, after the end of speech, and uses its text. If a turn needs more, such as
early transcripts or another script, the engine is called here, and the pipeline begins with the text.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, replace
import logging
import re
from typing import Final

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import Pipeline, PipelineEvent, PipelineEventType

from ..util.text import one_line
from .turn_errors import NOT_UNDERSTOOD, RECOGNITION_FAILED, UNSUPPORTED_SPEECH, TurnError

_LOGGER = logging.getLogger(__name__)

type Engine = stt.SpeechToTextEntity | stt.Provider
type Transcribe = Callable[[AsyncIterable[bytes]], Awaitable[str]]
"""Returns the transcript of 16 kHz mono 16-bit PCM; empty for no words. May raise anything."""

METADATA: Final = stt.SpeechMetadata(
    language="",
    format=stt.AudioFormats.WAV,
    codec=stt.AudioCodecs.PCM,
    bit_rate=stt.AudioBitRates.BITRATE_16,
    sample_rate=stt.AudioSampleRates.SAMPLERATE_16000,
    channel=stt.AudioChannels.CHANNEL_MONO,
)
"""The metadata of all streams, without the language."""

# Characters: nobody says more in a minute.
_MAX_TRANSCRIPT: Final = 5000
# Since Home Assistant 2026.11, an engine may report its text so far.
_PROGRESS: Final = "async_process_audio_stream_with_progress"
# Engines of this name write who spoke, as "[anna] turn on the light" (wyoming-voice-match, TAG_SPEAKER).
# Others write brackets for noises.
_NAMES_SPEAKERS: Final = re.compile("voice[-_ ]?match", re.IGNORECASE)
_SPEAKER: Final = re.compile(r"\s*\[([^\[\]]{1,64})\]\s+(?=.*\w)", re.DOTALL)


@dataclass(eq=False, slots=True)
class Recognizer:
    """The speech-to-text engine of a pipeline, which may raise anything."""

    engine: Engine
    pipeline: Pipeline
    convert: Callable[[str], Awaitable[str]] | None = None
    """Converts transcripts to the script of the pipeline."""
    speaker: str | None = None
    """The speaker of the last transcript, if the engine knows it."""

    @property
    def names_speakers(self) -> bool:
        """Whether the engine writes the name of a known speaker before the text."""
        return _NAMES_SPEAKERS.search(str(self.engine.name)) is not None

    @property
    def metadata(self) -> stt.SpeechMetadata:
        """The metadata of a stream for this engine."""
        return replace(METADATA, language=self.pipeline.stt_language or self.pipeline.language)

    @property
    def reports_progress(self) -> bool:
        """Whether the engine reports its text while somebody still speaks."""
        own = getattr(type(self.engine), _PROGRESS, None)
        return own is not None and own is not getattr(stt.SpeechToTextEntity, _PROGRESS, None)

    async def transcribe(
        self, stream: AsyncIterable[bytes], on_progress: Callable[[str], None] | None = None
    ) -> str:
        """Return the transcript. `on_progress` gets the unconverted text so far."""
        result = await self._result(stream, on_progress)
        if result.result is not stt.SpeechResultState.SUCCESS:
            raise TurnError(RECOGNITION_FAILED)
        return await self.converted(checked_transcript(result.text or ""))

    async def converted(self, text: str) -> str:
        """Return a transcript in the script of the pipeline, and note its speaker."""
        if self.names_speakers:
            tag = _SPEAKER.match(text)
            self.speaker = (one_line(tag[1]) or None) if tag else None
            text = text[tag.end() :] if tag else text
        return await self.convert(text) if text and self.convert is not None else text

    async def _result(
        self, stream: AsyncIterable[bytes], on_progress: Callable[[str], None] | None
    ) -> stt.SpeechResult:
        if not self.reports_progress:
            return await self.engine.async_process_audio_stream(self.metadata, stream)
        speakers: dict[str | None, str] = {}
        async with aclosing(getattr(self.engine, _PROGRESS)(self.metadata, stream)) as results:
            async for result in results:
                if isinstance(result, stt.SpeechResult):
                    return result
                speakers[result.speaker_id] = str(result.text)[:_MAX_TRANSCRIPT]
                if on_progress is not None:
                    on_progress(" ".join(speakers.values()))
        raise TurnError(RECOGNITION_FAILED)


def checked_transcript(text: object) -> str:
    """Return a transcript. Raises `TurnError` for what nobody can have said."""
    if not isinstance(text, str) or len(text) > _MAX_TRANSCRIPT:
        _LOGGER.warning("Speech recognition has returned what nobody can have said")
        raise TurnError(RECOGNITION_FAILED)
    return text


async def speech_to_text(
    recognizer: Recognizer,
    transcribe: Transcribe,
    stream: AsyncIterable[bytes],
    on_event: Callable[[PipelineEvent], None],
) -> str:
    """Return the transcript, and report the events of a pipeline's first stage. Raises `TurnError`."""
    engine = recognizer.engine
    with _errors_of(engine):
        if not engine.check_metadata(recognizer.metadata):
            raise TurnError(UNSUPPORTED_SPEECH)
        processing = asdict(engine.audio_processing)
    on_event(PipelineEvent(PipelineEventType.STT_START, {"audio_processing": processing}))
    with _errors_of(engine):
        text = await transcribe(stream)
    if not text:
        raise TurnError(NOT_UNDERSTOOD)
    on_event(PipelineEvent(PipelineEventType.STT_END, {"stt_output": {"text": text}}))
    return text


@contextmanager
def _errors_of(engine: Engine) -> Generator[None]:
    """Turn all errors of an engine into a `TurnError`."""
    try:
        yield
    except TurnError:
        raise
    except Exception as err:
        _LOGGER.exception("%s could not transcribe what was said", engine.name)
        raise TurnError(RECOGNITION_FAILED) from err
