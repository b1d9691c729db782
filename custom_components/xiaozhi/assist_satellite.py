"""The voice satellite: holds a device's conversations with Assist."""

from contextlib import aclosing
from functools import partial
from typing import Any, Final, override

from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteAnswer,
    AssistSatelliteConfiguration,
    AssistSatelliteEntityDescription,
    AssistSatelliteEntityFeature,
    AssistSatelliteWakeWord,
)
from homeassistant.const import (
    ATTR_DEVICE_ID,
    ATTR_DOMAIN,
    ATTR_NAME,
    ATTR_SERVICE,
    ATTR_SERVICE_DATA,
    ENTITY_MATCH_ALL,
    EVENT_CALL_SERVICE,
    Platform,
)
from homeassistant.core import Context, Event, callback
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
import voluptuous as vol

from .const import DOMAIN, EVENT_LEFT_OUT
from .device.device import Device
from .device.state import AVAILABLE, SETTINGS, STATUS_READ
from .entity import XiaozhiEntity, existing, of_devices, platform
from .errors import UserError
from .gateway import Gateway
from .media.stream import media_sound
from .voice.announcements.announcement_speech import announcement_utterance
from .voice.announcements.refusals import AnnouncementInterruptedError, check_length
from .voice.conversations import VoiceConversations
from .voice.pipelines import chosen_pipeline, engine_locations
from .voice.satellite_states import SatelliteStates
from .voice.speech_format import speech_options
from .voice.timers import VoiceTimers

PARALLEL_UPDATES = 0

_TARGET: Final = cv.make_entity_service_schema(None, extra=vol.REMOVE_EXTRA)
_SATELLITE: Final = AssistSatelliteEntityDescription(
    key="assist_satellite", translation_key="assist_satellite"
)
# No event reports where the parts of its pipeline work: it is looked up when the status is read.
_FOLLOWED: Final = (AVAILABLE, SETTINGS, STATUS_READ, "linked", "wake_words")


class XiaozhiSatellite(XiaozhiEntity, SatelliteStates):
    """A device's voice."""

    follows = _FOLLOWED
    entity_description: AssistSatelliteEntityDescription
    _attr_name = None
    _attr_supported_features = (
        AssistSatelliteEntityFeature.ANNOUNCE | AssistSatelliteEntityFeature.START_CONVERSATION
    )
    # On WebSocket, `reachable` comes and goes with each conversation.
    _unrecorded_attributes = frozenset({"assistant", "reachable", "speech_to_text", "text_to_speech"})

    def __init__(
        self,
        gateway: Gateway,
        device: Device,
        description: AssistSatelliteEntityDescription,
    ) -> None:
        """Prepare the satellite of a device."""
        super().__init__(gateway, device, description)
        self._announcer = gateway.announcer(device)
        self._shared_call: Context | None = None
        """Context of the action that has the next announcement made here and elsewhere."""
        self._conversations = VoiceConversations(
            device,
            self,
            gateway.speech_inputs,
            gateway.arbitration,
            self._announcer.in_conversation,
        )
        self._timers = VoiceTimers(device, self._announcer)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return whether an action would reach it, and where the parts of its pipeline work."""
        return {
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

    @override
    async def async_internal_announce(self, *args: Any, **more: Any) -> None:
        """Announce, or leave it to the others, if it is for several and this device cannot now.

        A broadcast is one action for all satellites, which would fail as a whole.
        """
        shared, self._shared_call = self._shared_call, None
        if shared is not None and not self._announcer.can_announce:
            data = {ATTR_DEVICE_ID: self.device.registry_id, ATTR_NAME: self.device.name}
            self.hass.bus.async_fire(EVENT_LEFT_OUT, data, context=shared)
            return
        await super().async_internal_announce(*args, **more)

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
        check_length(self.device, question)
        pipeline = chosen_pipeline(self.hass, self.device)
        asking = partial(self._announcer.ask, question, pipeline)
        return await self.async_ask(asking, answers, seconds)

    @callback
    def _on_action(self, call: Event) -> None:
        """Notice that the announcement that comes next, if this is one, is for other satellites, too."""
        if (call.data[ATTR_DOMAIN], call.data[ATTR_SERVICE]) != (Platform.ASSIST_SATELLITE, "announce"):
            return
        # As the caller wrote it: several ids may be in one text.
        target = TargetSelection(_TARGET(call.data[ATTR_SERVICE_DATA]))
        selected = async_extract_referenced_entity_ids(self.hass, target)
        satellites = {
            entity_id
            for entity_id in selected.referenced | selected.indirectly_referenced
            if entity_id.startswith(f"{Platform.ASSIST_SATELLITE}.")
        }
        shared = ENTITY_MATCH_ALL in target.entity_ids or satellites > {self.entity_id}
        self._shared_call = call.context if shared else None

    async def _say(self, announcement: AssistSatelliteAnnouncement, *, expects_answer: bool) -> None:
        utterance = await announcement_utterance(
            self.hass,
            announcement,
            partial(media_sound, self.hass),
            origin=self.device.state.origin,
            expects_answer=expects_answer,
        )
        if utterance.waits_for_device and not self._announcer.can_announce:
            # The voice set-up wants the sound fetched. The wake word, its next step, needs no loudspeaker.
            async with aclosing(utterance.speech()) as sound:
                await anext(sound)
            return
        try:
            await self._announcer.say(utterance)
        except AnnouncementInterruptedError:
            # Of its test sound, Home Assistant wants to know only that the device has fetched it.
            if not utterance.waits_for_device:
                raise

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
            raise UserError("wake_words_fixed", name=self.device.name)

    @override
    async def async_added_to_hass(self) -> None:
        """Begin to hold the device's conversations."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.conversations.hold(self._conversations.begin))
        self.async_on_remove(self._timers.start())
        self.async_on_remove(self.hass.bus.async_listen(EVENT_CALL_SERVICE, self._on_action))

    @override
    async def async_will_remove_from_hass(self) -> None:
        """End the conversation that is going on, and the wait for an answer."""
        await super().async_will_remove_from_hass()
        if self.asked is not None:
            self.asked.cancel()
        self._conversations.cancel()

    @callback
    def _select(self, key: str) -> str | None:
        entity_id = er.async_get(self.hass).async_get_entity_id(
            Platform.SELECT, DOMAIN, f"{self.device.mac}-{key}"
        )
        # A disabled select has no state; the pipeline's default then applies.
        return entity_id if entity_id and self.hass.states.get(entity_id) else None


async_setup_entry = platform(of_devices(existing([_SATELLITE]), XiaozhiSatellite))
