"""The voice satellite: holds a device's conversations with Assist."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Final, override

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType, VadSensitivity
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteAnswer,
    AssistSatelliteConfiguration,
    AssistSatelliteEntityDescription,
    AssistSatelliteEntityFeature,
    AssistSatelliteWakeWord,
)
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.entity_platform import async_get_platforms

from .actions.rights import satellite_id
from .announcements.announcement_errors import check_length
from .announcements.announcement_speech import announcement_utterance, speech_options
from .announcements.announcer import RINGS, Announcer
from .announcements.delivery import Delivery
from .announcements.heard import End
from .const import DOMAIN, EVENT_ANNOUNCEMENT_SKIPPED
from .device.device import Device
from .device.state import AVAILABLE, PRESENT, SETTINGS, STATUS_READ
from .entity import DescribedEntities, XiaozhiEntity, entities_from
from .errors import InputError
from .gateway import Gateway
from .guests.media.stream import media_sound
from .guests.wake_words.device_wake_words import WakeWords
from .voice.conversations import VoiceConversations
from .voice.pipelines import (
    END_OF_SPEECH_SELECT,
    PIPELINE_SELECT,
    assist_select,
    chosen_pipeline,
    engine_locations,
)
from .voice.questions import matching_answer
from .voice.satellite_states import SatelliteStates

PARALLEL_UPDATES = 0

_SATELLITE: Final = AssistSatelliteEntityDescription(
    key="assist_satellite", translation_key="assist_satellite"
)
# No event reports where the engines of its pipeline run: they are looked up when the status is read.
_FOLLOWED: Final = (AVAILABLE, SETTINGS, STATUS_READ, PRESENT, "wake_words")


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
        self, gateway: Gateway, device: Device, description: AssistSatelliteEntityDescription
    ) -> None:
        """Prepare the satellite of a device."""
        XiaozhiEntity.__init__(self, gateway, device, description)
        SatelliteStates.__init__(self, device, device.part(Announcer))
        self._conversations = VoiceConversations(self, gateway.voice)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return whether an action would reach it, and where the engines of its pipeline run."""
        return {"reachable": self.device.state.present, **engine_locations(self.hass, self.device)}

    @property
    @override
    def pipeline_entity_id(self) -> str | None:
        """Select that says which pipeline to use."""
        return self._select(PIPELINE_SELECT)

    @property
    @override
    def vad_sensitivity_entity_id(self) -> str | None:
        """Select that says how soon speech has ended, if it says one of Home Assistant's own choices."""
        entity_id = self._select(END_OF_SPEECH_SELECT)
        state = self.hass.states.get(entity_id) if entity_id else None
        return entity_id if state is not None and state.state in VadSensitivity else None

    @property
    @override
    def tts_options(self) -> dict[str, Any]:
        """Take speech as the engine gives it."""
        return speech_options(self.hass, chosen_pipeline(self.hass, self.device).tts_engine)

    @override
    async def async_internal_announce(self, *args: Any, **more: Any) -> None:
        """Announce, or leave it to others of the same action, if this device cannot speak now and they can.

        A broadcast is one action for all satellites, which would fail as a whole.
        """
        broadcasts = self.gateway.voice.broadcasts
        with broadcasts.joined(self.device, self.announcer, self._caller, (args, more)) as part:
            if not self.announcer.can_announce:
                # Home Assistant calls all satellites of an action at once.
                await asyncio.sleep(0)
                if part.others_can_announce:
                    reason = "cannot_speak" if self.device.quiet_levels is None else "do_not_disturb"
                    self.device.events.report(EVENT_ANNOUNCEMENT_SKIPPED, self._caller, reason=reason)
                    return
            if not await part.is_said_for():
                await super().async_internal_announce(*args, **more)
                part.said.set_result(True)

    @override
    async def async_announce(self, announcement: AssistSatelliteAnnouncement) -> None:
        """Say or play something, and return when it has been heard. Raises `HomeAssistantError`."""
        await self._say(announcement, expects_answer=False)

    @override
    async def async_start_conversation(self, start_announcement: AssistSatelliteAnnouncement) -> None:
        """Say something in the conversation that goes on, and listen. Raises `HomeAssistantError`."""
        await self._say(start_announcement, expects_answer=True)
        await self.wait_for_answer()

    async def async_ask_user(
        self, question: str, answers: list[dict[str, Any]], seconds: float
    ) -> AssistSatelliteAnswer | None:
        """Ask a question that is answered now, or in the next conversation. Raises `HomeAssistantError`."""
        check_length(self.device, question)
        async with self.next_turn(question, seconds) as turn:
            if turn is None:
                return None
            if not answers:
                return AssistSatelliteAnswer(id=None, sentence=turn.transcript)
            return matching_answer(turn.transcript, answers, self.hass.config.language)

    async def _say(self, announcement: AssistSatelliteAnnouncement, *, expects_answer: bool) -> None:
        utterance = await announcement_utterance(
            self.hass,
            announcement,
            partial(media_sound, self.hass),
            origin=self.device.state.origin,
            sound_before=self.sound_before,
            expects_answer=expects_answer,
        )
        if utterance.fetched_lazily and not self.announcer.can_announce:
            # The voice set-up waits for the device to fetch the sound. Its next step, the wake word, needs no
            # loudspeaker.
            async with aclosing(utterance.speech(Delivery.NONE)) as sound:
                await anext(sound)
            return
        if self.show_turn():
            speaks = PipelineEvent(PipelineEventType.TTS_START)
            utterance = replace(utterance, on_start=lambda _how: self.show_stage(speaks))
        heard = await self.announcer.say(utterance)
        # Home Assistant only checks that the device has fetched its test sound.
        if heard.end is not End.WOKEN or not utterance.fetched_lazily:
            heard.check()

    @callback
    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return the active and the available wake words.

        An unknown active wake word is replaced by the last one that was heard. Before that none is returned:
        Home Assistant's voice set-up asks the user to say the active one.
        """
        wake_words: WakeWords | None = self.device.parts.get(WakeWords)
        available, active = ({}, ()) if wake_words is None else (wake_words.available, wake_words.active)
        active = tuple(each for each in active if each in available)
        if not active:
            active = self.device.state.wake_words[:1]
            available = {**{word: (word, "") for word in active}, **(available if active else {})}
        return AssistSatelliteConfiguration(
            available_wake_words=[
                AssistSatelliteWakeWord(id=key, wake_word=word, trained_languages=[language] * bool(language))
                for key, (word, language) in available.items()
            ],
            active_wake_words=[*active],
            max_active_wake_words=max(len(wake_words.phrases) if wake_words else 0, min(len(available), 1)),
        )

    @override
    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Put wake words on the device, if others are wanted. Raises `HomeAssistantError`."""
        if config.active_wake_words != self.async_get_configuration().active_wake_words:
            await self.device.part(WakeWords).async_choose(config.active_wake_words)

    @override
    async def async_added_to_hass(self) -> None:
        """Begin to hold the device's conversations."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.conversations.hold(self._conversations.begin))
        self.async_on_remove(
            self.device.record.listen((SETTINGS, "microphone"), self._conversations.settings_changed)
        )
        self.async_on_remove(self.device.record.listen([RINGS], self._ring_changed))

    @callback
    def _ring_changed(self) -> None:
        if self.announcer.rings:
            self.show_stage(PipelineEvent(PipelineEventType.TTS_START))
        elif not (self.show_turn() or self.announcing.locked()):
            self.tts_response_finished()

    @override
    async def async_will_remove_from_hass(self) -> None:
        """End the conversation that is going on, and the wait for an answer."""
        await super().async_will_remove_from_hass()
        self.questions.stop()
        self._conversations.cancel()

    @callback
    def _select(self, key: str) -> str | None:
        entity_id = assist_select(self.hass, self.device, key)
        # A disabled select has no state; the pipeline's default then applies.
        return entity_id if entity_id and self.hass.states.get(entity_id) else None


@callback
def satellite_of(hass: HomeAssistant, device: Device) -> XiaozhiSatellite:
    """Return the voice of a device. Raises `InputError` if its owner has disabled it."""
    entity_id = satellite_id(hass, device)
    for platform in async_get_platforms(hass, DOMAIN):
        if isinstance(satellite := platform.entities.get(entity_id or ""), XiaozhiSatellite):
            return satellite
    raise InputError("no_satellite", name=device.name)


async_setup_entry = entities_from(DescribedEntities(XiaozhiSatellite, [_SATELLITE]))
