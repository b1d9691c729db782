"""The voice satellite: holds a device's conversations with Assist."""

from collections.abc import AsyncIterable, Iterable
from functools import partial
from typing import Any, Final, override

from homeassistant.components.assist_pipeline import (
    AudioSettings,
    PipelineEvent,
    PipelineEventType,
    VadSensitivity,
)
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteAnswer,
    AssistSatelliteConfiguration,
    AssistSatelliteEntityDescription,
    AssistSatelliteEntityFeature,
    AssistSatelliteWakeWord,
)
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .const import DOMAIN
from .device.device import Device
from .device.events import ConversationEvent
from .device.state import AVAILABLE, SETTINGS, STATUS_READ
from .entity import XiaozhiEntity, async_add_device_entities
from .gateway import Gateway, XiaozhiConfigEntry
from .media.stream import media_sound
from .voice.announcements.announcement_speech import announcement_utterance, text_utterance
from .voice.announcements.automation_question import ask
from .voice.announcements.utterance import OpenSpeech
from .voice.conversations import VoiceConversations
from .voice.core_satellite import CoreSatellite
from .voice.engine_locations import engine_locations
from .voice.pipelines import chosen_pipeline
from .voice.speech_detectors import TurnDetector
from .voice.speech_format import speech_options
from .voice.speech_input import SpeechInput
from .voice.timers import VoiceTimers
from .voice.wake_word_arbitration import WakeWords

PARALLEL_UPDATES = 0

_SATELLITE: Final = AssistSatelliteEntityDescription(
    key="assist_satellite", translation_key="assist_satellite"
)
# Where the parts of its pipeline work is not told: it is looked up when the status is read.
_FOLLOWED: Final = (AVAILABLE, SETTINGS, STATUS_READ, "linked", "link", "firmware", "wake_words")


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add a satellite for every device."""
    satellite = partial(XiaozhiSatellite, entry.runtime_data, WakeWords())
    async_add_device_entities(entry, async_add_entities, [_SATELLITE], satellite)


class XiaozhiSatellite(XiaozhiEntity, CoreSatellite):
    """A device's voice."""

    entity_description: AssistSatelliteEntityDescription
    _attr_name = None
    # They come and go with each conversation.
    _unrecorded_attributes = frozenset(
        {"assistant", "phase", "reachable", "speech_to_text", "text_to_speech"}
    )

    def __init__(
        self,
        gateway: Gateway,
        wake_words: WakeWords,
        device: Device,
        description: AssistSatelliteEntityDescription,
    ) -> None:
        """Prepare the satellite of a device; the first two are for all devices."""
        super().__init__(device, description)
        self._detectors = gateway.detectors
        self._speech_inputs = gateway.speech_inputs
        self._announcer = gateway.announcer(device)
        self._conversations = VoiceConversations(device, self, wake_words, self._announcer.in_conversation)
        self._timers = VoiceTimers(gateway.hass, device, self._announcer, self._speech_of)

    @property
    @override
    def follows(self) -> Iterable[str]:
        """Return the keys of what it shows."""
        return _FOLLOWED

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return what it does, whether an action would reach it, and where its pipeline's parts work."""
        return {
            "phase": self.phase,
            "reachable": self.device.linked,
            **engine_locations(self.hass, self.device),
        }

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
        """Take speech as the engine gives it."""
        return speech_options(self.hass, chosen_pipeline(self.hass, self.device).tts_engine)

    @property
    @override
    def supported_features(self) -> AssistSatelliteEntityFeature:
        """Return what the device can do now, or at least while it is in a conversation."""
        features = AssistSatelliteEntityFeature.START_CONVERSATION
        return features | AssistSatelliteEntityFeature.ANNOUNCE if self._announcer.can_announce else features

    @override
    async def async_announce(self, announcement: AssistSatelliteAnnouncement) -> None:
        """Say or play something, and return when it has been heard. Raises `AnnouncementError`."""
        await self._say(announcement, expects_answer=False)

    @override
    async def async_start_conversation(self, start_announcement: AssistSatelliteAnnouncement) -> None:
        """Say something in the conversation that goes on, and listen. Raises `AnnouncementError`."""
        with self.question_unheard():
            await self._say(start_announcement, expects_answer=True)

    async def async_ask_user(
        self, question: str, answers: list[dict[str, Any]], seconds: float
    ) -> AssistSatelliteAnswer | None:
        """Ask a question that is answered now, or in the next conversation. Raises `HomeAssistantError`."""
        pipeline = chosen_pipeline(self.hass, self.device)
        asking = partial(ask, self.hass, self._announcer, question, pipeline)
        return await self.async_ask(asking, answers, seconds)

    @callback
    def _speech_of(self, text: str) -> OpenSpeech:
        return text_utterance(self.hass, text, chosen_pipeline(self.hass, self.device)).speech

    async def _say(self, announcement: AssistSatelliteAnnouncement, *, expects_answer: bool) -> None:
        await self._announcer.say(
            await announcement_utterance(
                self.hass,
                announcement,
                partial(media_sound, self.hass, self.device.timeouts.media),
                origin=self.device.state.origin,
                expects_answer=expects_answer,
            )
        )

    @callback
    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return the wake word that the device has heard last.

        It may have others, but none can be chosen here, and Home Assistant would offer the choice.
        """
        words = [
            AssistSatelliteWakeWord(id=word, wake_word=word, trained_languages=[])
            for word in self.device.state.wake_words[:1]
        ]
        return AssistSatelliteConfiguration(
            available_wake_words=words,
            active_wake_words=[word.id for word in words],
            max_active_wake_words=len(words),
        )

    @override
    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Accept that nothing changes. Stock firmware cannot change its wake words."""
        if config.active_wake_words != self.async_get_configuration().active_wake_words:
            raise HomeAssistantError(
                translation_domain=DOMAIN,
                translation_key="wake_words_fixed",
                translation_placeholders={"name": self.device.name},
            )

    @override
    async def async_added_to_hass(self) -> None:
        """Begin to hold the device's conversations."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.conversations.set_voice(self._conversations.begin))
        self.async_on_remove(self._timers.start())

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
                self.device.events.happened(ConversationEvent.HEARD, text)

    async def speech_input(self, woken_by: str | None, *, by_button: bool, asked_back: bool) -> SpeechInput:
        """Return how to listen to a turn, as the owner has chosen."""
        pipeline = chosen_pipeline(self.hass, self.device, woken_by)
        if by_button:
            return self._speech_inputs.for_button(pipeline)
        return await self._speech_inputs.speech_input(
            self.device.mac,
            pipeline,
            self._fixed_pause(),
            device_id=self._device_id,
            answers_question=asked_back or self.question_pending,
            timeouts=self.device.timeouts.voice,
        )

    async def load_interruption_detector(self) -> TurnDetector | None:
        """Return what finds that somebody speaks while the device does; None where nothing does."""
        return await self._detectors.async_load_for_interruption()

    async def run_spoken(
        self,
        wake_word: str | None,
        audio: AsyncIterable[bytes],
        *,
        woken_by: str | None,
        is_repeated: bool,
        ends_speech: bool,
        speech_input: SpeechInput,
    ) -> None:
        """Run the pipeline of the wake word. One without a voice answers on the screen."""
        settings = AudioSettings(
            is_vad_enabled=ends_speech,
            silence_seconds=VadSensitivity.to_seconds(self._fixed_pause() or VadSensitivity.DEFAULT),
        )
        await self.async_accept_speech_from_satellite(
            audio,
            chosen_pipeline(self.hass, self.device, woken_by),
            settings,
            wake_word=wake_word,
            is_repeated=is_repeated,
            speech_input=speech_input,
        )

    async def run_typed(self, question: str) -> None:
        """Run the chosen pipeline on a text."""
        await self.async_accept_text_from_satellite(question, chosen_pipeline(self.hass, self.device))

    @callback
    def _fixed_pause(self) -> VadSensitivity | None:
        """Return the pause that the owner has chosen; None for quick and patient."""
        entity_id = self.vad_sensitivity_entity_id
        state = self.hass.states.get(entity_id) if entity_id else None
        # It has no choice while it is being restored, and none if it is disabled.
        return VadSensitivity(state.state) if state and state.state in VadSensitivity else None

    @callback
    def _select(self, key: str) -> str | None:
        entity_id = er.async_get(self.hass).async_get_entity_id(
            Platform.SELECT, DOMAIN, f"{self.device.mac}-{key}"
        )
        # A disabled select has no state; the pipeline's default then applies.
        return entity_id if entity_id and self.hass.states.get(entity_id) else None
