"""The voice satellite: holds a device's conversations with Assist."""

import asyncio
from collections.abc import AsyncIterable
from functools import partial
import logging
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
from .protocol.conversation.conversation import Conversation, Interruption
from .protocol.conversation.turn import Turn
from .protocol.limits import TokenBucket
from .protocol.transport.link import LinkClosedError
from .settings import ConversationStyle
from .voice.core_satellite import CoreSatellite
from .voice.turn import TurnEnd, VoiceTurn

_LOGGER = logging.getLogger(__name__)

PARALLEL_UPDATES = 0

# Pipeline runs of one device: more than a person can talk, and no more than the house can bear.
_RUNS_PER_SECOND: Final = 1.0
_RUNS_AT_ONCE: Final = 6
# How long a cancelled pipeline may take to end before the next one begins.
_ENDING_SECONDS: Final = 5.0

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
        self._voice_turn: VoiceTurn | None = None
        self._conversation_task: asyncio.Task[None] | None = None
        self._conversing = asyncio.Lock()
        self._runs = TokenBucket(rate=_RUNS_PER_SECOND, burst=_RUNS_AT_ONCE)

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

        Any other wish, for example for a sample rate, would make Home Assistant start an ffmpeg process,
        which takes longer than all the rest between transcript and voice.
        """
        return {tts.ATTR_PREFERRED_FORMAT: "wav"}

    @property
    @override
    def longest_pause(self) -> float | None:
        """Seconds of silence that end speech; in push-to-talk only the button ends it."""
        return self._voice_turn.pause if self._voice_turn is not None else None

    @callback
    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return that wake words are the device's own affair."""
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
        self.async_on_remove(self.device.set_voice(self._begin_conversation))

    @override
    async def async_will_remove_from_hass(self) -> None:
        """End the conversation that is going on."""
        await super().async_will_remove_from_hass()
        if self._conversation_task is not None:
            self._conversation_task.cancel()

    @callback
    @override
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Hand an event of the pipeline to the turn that it belongs to."""
        if self._voice_turn is not None:
            self._voice_turn.on_pipeline_event(event)
            self._tell(event)

    @callback
    def _tell(self, event: PipelineEvent) -> None:
        match event.type, event.data:
            case PipelineEventType.STT_END, {"stt_output": {"text": str(text)}}:
                self.device.happened(ConversationEvent.HEARD, text)
            case (
                PipelineEventType.INTENT_END,
                {"intent_output": {"response": {"speech": {"plain": {"speech": str(text)}}}}},
            ):
                self.device.happened(ConversationEvent.ANSWERED, text)
            case PipelineEventType.INTENT_END, _:
                self.device.happened(ConversationEvent.ANSWERED)

    @callback
    def _begin_conversation(self, conversation: Conversation) -> None:
        if self._conversation_task is not None:
            self._conversation_task.cancel()
        self._conversation_task = self.device.create_task(self._converse(conversation), "conversation")

    async def _converse(self, conversation: Conversation) -> None:
        conversing: asyncio.Lock | None = None
        try:
            conversing = await self._wait_for_turn()
            await self._take_turns(conversation)
        except LinkClosedError as err:
            _LOGGER.debug("%s: conversation broke off: %s", self.device.name, err)
        except Exception:
            _LOGGER.exception("Unexpected error in the conversation of %s", self.device.name)
        finally:
            if conversing is not None:
                conversing.release()
            await conversation.end()

    async def _wait_for_turn(self) -> asyncio.Lock:
        """Wait until the conversation before this one has ended; return the lock to release at the end."""
        lock = self._conversing
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                await lock.acquire()
        except TimeoutError:
            # One of its engines does not let itself be cancelled.
            _LOGGER.warning("A voice pipeline of %s does not end", self.device.name)
            lock = self._conversing = asyncio.Lock()
            await lock.acquire()
        return lock

    async def _take_turns(self, conversation: Conversation) -> None:
        followed_up = False
        while (turn := await conversation.next_turn()) is not None:
            if not await self._take_turn(conversation, turn, followed_up=followed_up):
                break
            followed_up = True

    async def _take_turn(self, conversation: Conversation, turn: Turn, *, followed_up: bool) -> bool:
        """Run a turn, and return whether the conversation goes on."""
        voice_turn = self._voice_turn = VoiceTurn(self.hass, conversation, turn)
        running = asyncio.create_task(
            self._finish_turn(conversation, voice_turn, turn, followed_up=followed_up)
        )
        running.add_done_callback(_take_note)
        interruption = asyncio.create_task(conversation.interruption())
        try:
            await asyncio.wait((running, interruption), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            running.cancel()
            await asyncio.wait((running,), timeout=_ENDING_SECONDS)
            if interruption.result() is Interruption.CLOSED:
                return False
            if interruption.result() is Interruption.ABORTED:
                await conversation.stop_speaking()
            return True
        finally:
            running.cancel()
            interruption.cancel()
            # What a pipeline still tells while it ends must not be taken for news of the next turn.
            await asyncio.wait((running,), timeout=_ENDING_SECONDS)
            if self._voice_turn is voice_turn:
                self._voice_turn = None
                self.tts_response_finished()

    async def _run_pipeline(self, wake_word: str | None, audio: AsyncIterable[bytes]) -> None:
        """Run the chosen pipeline. One without a voice answers on the screen."""
        pipeline = self._chosen_pipeline()
        await self.async_accept_pipeline_from_satellite(
            audio,
            end_stage=PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS,
            wake_word_phrase=wake_word,
        )

    async def _run_typed(self, question: str, _audio: AsyncIterable[bytes]) -> None:
        await self.async_accept_text_from_satellite(question, self._chosen_pipeline())

    @callback
    def _chosen_pipeline(self) -> Pipeline:
        return async_get_pipeline(self.hass, get_chosen_pipeline(self.hass, DOMAIN, self.device.mac))

    async def _finish_turn(
        self, conversation: Conversation, voice_turn: VoiceTurn, turn: Turn, *, followed_up: bool
    ) -> bool:
        await asyncio.sleep(self._runs.delay(self.hass.loop.time()))
        self._runs.take(self.hass.loop.time())
        if turn.start.question is not None:
            self.device.happened(ConversationEvent.HEARD, turn.start.question)
            end = await voice_turn.run(partial(self._run_typed, turn.start.question))
        else:
            end = await voice_turn.run(partial(self._run_pipeline, turn.start.wake_word))
        if end is TurnEnd.FAILED:
            self.device.happened(ConversationEvent.FAILED, reason=voice_turn.error or "unknown")
        is_open = self.device.settings.conversation_style is ConversationStyle.OPEN
        if end is TurnEnd.ASKS_BACK or (is_open and end is TurnEnd.ANSWERED):
            await self.device.read_at_rest(briefly=True)
            await conversation.end_answer()
            return True
        if end is TurnEnd.FAILED or (end is TurnEnd.SILENT and not followed_up):
            await voice_turn.apologise()
        await conversation.wait_played()
        await self.device.read_at_rest()
        return False

    @callback
    def _select(self, key: str) -> str | None:
        entity_id = er.async_get(self.hass).async_get_entity_id(
            Platform.SELECT, DOMAIN, f"{self.device.mac}-{key}"
        )
        # A disabled select has no state; the pipeline's default then applies.
        return entity_id if entity_id and self.hass.states.get(entity_id) else None


def _take_note(turn: asyncio.Task[bool]) -> None:
    """Look at how an interrupted turn ended: its device is gone, which the conversation knows already."""
    if not turn.cancelled() and (err := turn.exception()) is not None:
        _LOGGER.debug("Turn ended: %s", err)
