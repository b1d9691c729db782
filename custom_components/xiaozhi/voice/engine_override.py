"""A speech-to-text engine of ours in the place of the pipeline's own, for one run.

Home Assistant looks the engine of a pipeline up by its id. For the moment of the look-up our engine has an id
of its own, which a copy of the pipeline names; the owner sees neither. All else in the run is Home
Assistant's, so its events, states and traces are those of any other run.
"""

from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import replace
from typing import ClassVar, Final, override

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import Pipeline, PipelineEvent, PipelineEventType
from homeassistant.components.stt import const
from homeassistant.core import HomeAssistant, callback
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN

type Engine = stt.SpeechToTextEntity | stt.Provider
type Transcribe = Callable[[stt.SpeechMetadata, AsyncIterable[bytes]], Awaitable[stt.SpeechResult]]

# Where Home Assistant keeps engines that are no entities. It is not among what integrations are offered.
_PROVIDERS: Final = getattr(const, "DATA_PROVIDERS", "")
# Home Assistant names no engine like that.
_KEY: Final = f"{DOMAIN} {{}}"


class OverridingEngine(stt.Provider):
    """Takes audio for another engine, whose name it bears."""

    # Without languages, no list of engines offers this one. A run asks only `check_metadata`.
    supported_languages: ClassVar[list[str]] = []
    supported_formats: ClassVar[list[stt.AudioFormats]] = []
    supported_codecs: ClassVar[list[stt.AudioCodecs]] = []
    supported_bit_rates: ClassVar[list[stt.AudioBitRates]] = []
    supported_sample_rates: ClassVar[list[stt.AudioSampleRates]] = []
    supported_channels: ClassVar[list[stt.AudioChannels]] = []

    def __init__(self, engine: Engine, transcribe: Transcribe) -> None:
        """Pass audio to `transcribe`; all else is as with `engine`."""
        self._engine = engine
        self._transcribe = transcribe
        self.name = engine.name if isinstance(engine, stt.Provider) else engine.entity_id

    @property
    @override
    def audio_processing(self) -> stt.SpeechAudioProcessing:
        """Return what the engine needs and prefers."""
        return self._engine.audio_processing

    @override
    async def async_process_audio_stream(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> stt.SpeechResult:
        """Transcribe a stream."""
        return await self._transcribe(metadata, stream)

    @callback
    @override
    def check_metadata(self, metadata: stt.SpeechMetadata) -> bool:
        """Return whether the engine takes such audio."""
        return self._engine.check_metadata(metadata)


class EngineOverride:
    """The place of an overriding engine among Home Assistant's, up to the start of one run."""

    def __init__(self, hass: HomeAssistant, pipeline: Pipeline, engine: OverridingEngine) -> None:
        """Lend. If Home Assistant does not find the engine, the pipeline is the one that was given."""
        self._providers: dict[str, stt.Provider] = hass.data.get(_PROVIDERS, {})
        self._key = _KEY.format(ulid_now())
        self._providers[self._key] = engine
        # A new Home Assistant may look elsewhere.
        self.works = stt.async_get_speech_to_text_engine(hass, self._key) is engine
        """Whether Home Assistant finds the engine."""
        self.pipeline = replace(pipeline, stt_engine=self._key) if self.works else pipeline
        """The pipeline to run."""

    @callback
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Take the place back as soon as the run has looked the engine up."""
        if event.type is PipelineEventType.RUN_START:
            self.remove()

    @callback
    def remove(self) -> None:
        """Leave Home Assistant's engines as they were."""
        self._providers.pop(self._key, None)
