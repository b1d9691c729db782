"""A speech-to-text engine of ours in the place of the pipeline's own, for one run.

Home Assistant looks the engine of a pipeline up by its id. For the moment of the look-up our engine has an id
of its own, which a copy of the pipeline names; the owner sees neither. All else in the run is Home
Assistant's, so its events, states and traces are those of any other run.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.components.stt import const
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN

type Engine = stt.SpeechToTextEntity | stt.Provider | OverridingEngine
type Transcribe = Callable[[stt.SpeechMetadata, AsyncIterable[bytes]], Awaitable[stt.SpeechResult]]

# Where Home Assistant keeps engines that are no entities. It is not among what integrations are offered.
_PROVIDERS: Final = getattr(const, "DATA_PROVIDERS", "")


class OverridingEngine:
    """Takes audio for another engine; all else is as with that one."""

    # Without languages, no list of engines offers this one.
    supported_languages: ClassVar[list[str]] = []

    def __init__(self, engine: Engine, transcribe: Transcribe) -> None:
        """Pass audio to `transcribe`."""
        self._engine = engine
        self.async_process_audio_stream = transcribe
        self.entity_id: str | None = engine.name if isinstance(engine, stt.Provider) else engine.entity_id

    def __getattr__(self, name: str) -> Any:
        """Return what belongs to the engine."""
        return getattr(self._engine, name)


@contextmanager
def engine_override(
    hass: HomeAssistant, pipeline: Pipeline, engine: OverridingEngine | None
) -> Generator[tuple[Pipeline, CALLBACK_TYPE]]:
    """Put an engine among Home Assistant's, for the start of one run.

    Yields the pipeline to run and what takes the engine away, as soon as the run has looked it up. Without an
    engine, or if Home Assistant does not find it, the pipeline is the one that was given.
    """
    if engine is None:
        yield pipeline, lambda: None
        return
    providers: dict[str, Any] = hass.data.get(_PROVIDERS, {})
    # Home Assistant names no engine like that.
    key = f"{DOMAIN} {ulid_now()}"
    providers[key] = engine

    @callback
    def remove() -> None:
        providers.pop(key, None)

    try:
        # A new Home Assistant may look elsewhere.
        found: object = stt.async_get_speech_to_text_engine(hass, key)
        yield replace(pipeline, stt_engine=key) if found is engine else pipeline, remove
    finally:
        remove()
