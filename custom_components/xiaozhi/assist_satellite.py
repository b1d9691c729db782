"""The voice satellite: holds a device's conversations with Assist."""

from collections.abc import AsyncIterable
from typing import Any, Final, override

from homeassistant.components import tts
from homeassistant.components.assist_pipeline import (
    Pipeline,
    PipelineEvent,
    PipelineEventType,
    PipelineStage,
    async_get_pipeline,
)
from homeassistant.components.assist_pipeline.select import get_chosen_pipeline
from homeassistant.components.assist_satellite import (
    AssistSatelliteConfiguration,
    AssistSatelliteEntityDescription,
)
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .const import DOMAIN
from .device.device import Device
from .device.events import ConversationEvent
from .entity import XiaozhiEntity, async_add_device_entities
from .gateway import XiaozhiConfigEntry
from .voice.conversations import VoiceConversations
from .voice.core_satellite import CoreSatellite

PARALLEL_UPDATES = 0

_SATELLITE: Final = AssistSatelliteEntityDescription(
    key="assist_satellite", translation_key="assist_satellite"
)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add a satellite for every device."""
    async_add_device_entities(entry, async_add_entities, [_SATELLITE], XiaozhiSatellite)


class XiaozhiSatellite(XiaozhiEntity, CoreSatellite):
    """A device's voice."""

    entity_description: AssistSatelliteEntityDescription
    _attr_name = None

    def __init__(self, device: Device, description: AssistSatelliteEntityDescription) -> None:
        """Prepare the satellite of a device."""
        super().__init__(device, description)
        self._conversations = VoiceConversations(device, self)

    @property
    @override
    def pipeline_entity_id(self) -> str | None:
        """Select that says which pipeline to use."""
        return self._select("pipeline")

    @property
    @override
    def vad_sensitivity_entity_id(self) -> str | None:
        """Select that says how soon speech has ended."""
        return self._select("vad_sensitivity")

    @property
    @override
    def tts_options(self) -> dict[str, Any]:
        """Take WAV, which local engines give as it is.

        Any other request, for example for a sample rate, would make Home Assistant start an ffmpeg process,
        which takes longer than all the rest between transcript and voice.
        """
        return {tts.ATTR_PREFERRED_FORMAT: "wav"}

    @property
    @override
    def longest_pause(self) -> float | None:
        """Seconds of silence that end speech; in push-to-talk only the button ends it."""
        turn = self._conversations.turn
        return turn.pause if turn is not None else None

    @callback
    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return no wake words: the device detects its own."""
        return AssistSatelliteConfiguration(
            available_wake_words=[], active_wake_words=[], max_active_wake_words=0
        )

    @override
    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Refuse: stock firmware cannot change its wake words."""
        raise NotImplementedError

    @override
    async def async_added_to_hass(self) -> None:
        """Begin to hold the device's conversations."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.set_voice(self._conversations.begin))

    @override
    async def async_will_remove_from_hass(self) -> None:
        """End the conversation that is going on."""
        await super().async_will_remove_from_hass()
        self._conversations.cancel()

    @callback
    @override
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Hand an event of the pipeline to the turn that it belongs to."""
        if (turn := self._conversations.turn) is not None:
            turn.on_pipeline_event(event)
            self._tell(event)

    @callback
    def _tell(self, event: PipelineEvent) -> None:
        match event.type, event.data:
            case PipelineEventType.STT_END, {"stt_output": {"text": str(text)}}:
                self.device.happened(ConversationEvent.HEARD, text)

    async def run_spoken(self, wake_word: str | None, audio: AsyncIterable[bytes]) -> None:
        """Run the chosen pipeline. One without a voice answers on the screen."""
        pipeline = self._chosen_pipeline()
        await self.async_accept_pipeline_from_satellite(
            audio,
            end_stage=PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS,
            wake_word_phrase=wake_word,
        )

    async def run_typed(self, question: str) -> None:
        """Run the chosen pipeline on a text."""
        await self.async_accept_text_from_satellite(question, self._chosen_pipeline())

    @callback
    def _chosen_pipeline(self) -> Pipeline:
        return async_get_pipeline(self.hass, get_chosen_pipeline(self.hass, DOMAIN, self.device.mac))

    @callback
    def _select(self, key: str) -> str | None:
        entity_id = er.async_get(self.hass).async_get_entity_id(
            Platform.SELECT, DOMAIN, f"{self.device.mac}-{key}"
        )
        # A disabled select has no state; the pipeline's default then applies.
        return entity_id if entity_id and self.hass.states.get(entity_id) else None
