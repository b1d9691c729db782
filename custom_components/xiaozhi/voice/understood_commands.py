"""Asks whether Home Assistant understands a text as a command, without acting on it."""

from typing import Any, Final

from hassil.recognize import RecognizeResult
from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.components.conversation import (
    HOME_ASSISTANT_AGENT,
    ConversationEntityFeature,
    ConversationInput,
    async_get_agent,
)
from homeassistant.components.media_player import INTENT_MEDIA_SEARCH_AND_PLAY
from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.intent import INTENT_GET_STATE

from ..texts.issues import Part, Unpromised
from .own_intents import OwnIntent, own_intents
from .pipelines import command_language

# Longer than any command.
_LONGEST_TEXT: Final = 200
# A pipeline leaves these to a language model that controls the home, though it prefers local commands.
_LEFT_TO_MODEL: Final = frozenset({INTENT_GET_STATE, INTENT_MEDIA_SEARCH_AND_PLAY})


class UnderstoodCommands:
    """Asks Home Assistant's own recogniser about transcripts."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass

    async def async_is_understood(self, text: str, pipeline: Pipeline, device_id: str | None) -> bool:
        """Whether a pipeline would carry out a command without a language model.

        Sentences that start automations count with every assistant. Never raises.
        """
        if len(text) > _LONGEST_TEXT:
            return False
        with Unpromised(self._hass, Part.RECOGNIZER):
            if not (results := await self._recognise(text, pipeline, device_id)):
                return False
            language, ours = command_language(pipeline), own_intents(self._hass)
            return not await self._hass.async_add_executor_job(_may_go_on, text, results, ours, language)
        return False

    async def _recognise(self, text: str, pipeline: Pipeline, device_id: str | None) -> list[RecognizeResult]:
        # The name of its recogniser is not promised.
        agent: Any = async_get_agent(self._hass, HOME_ASSISTANT_AGENT)
        # The recogniser caches the answer for an input, and a turn that is not understood would lose its "no
        # such device". The turn itself names the satellite, too, so its input differs.
        asked = ConversationInput(
            text=text,
            context=Context(),
            conversation_id=None,
            device_id=device_id,
            satellite_id=None,
            language=command_language(pipeline),
            agent_id=HOME_ASSISTANT_AGENT,
        )
        if triggered := await agent.async_recognize_sentence_trigger(asked):
            return [*triggered.matched_triggers.values()]
        is_own = pipeline.conversation_engine in {None, HOME_ASSISTANT_AGENT}
        if not is_own and not pipeline.prefer_local_intents:
            return []
        result = await agent.async_recognize_intent(asked, strict_intents_only=True)
        if result is None or (not is_own and result.intent.name in self._left_to(pipeline)):
            return []
        return [result]

    @callback
    def _left_to(self, pipeline: Pipeline) -> frozenset[str]:
        state = self._hass.states.get(pipeline.conversation_engine)
        features = 0 if state is None else state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
        return _LEFT_TO_MODEL if features & ConversationEntityFeature.CONTROL else frozenset()


def _may_go_on(text: str, results: list[RecognizeResult], ours: list[OwnIntent], language: str) -> bool:
    """Whether a sentence lacks words, or ends with free text, such as a message or a title."""
    end = text.rstrip(" .,;:!?。，！？").casefold()
    for result in results:
        for entity in result.entities_list:
            if entity.is_wildcard and end.endswith(entity.text_clean.casefold()):
                return True
        slots = {entity.name: str(entity.text or entity.value) for entity in result.entities_list}
        if any(own.lacks_words(slots, language) for own in ours if own.intent_type == result.intent.name):
            return True
    return False
