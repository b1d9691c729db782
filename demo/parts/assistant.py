"""The assistant: Home Assistant's own, which asks back when it is dark."""

from typing import Final, Literal, override

from homeassistant.components.conversation import (
    HOME_ASSISTANT_AGENT,
    AssistantContent,
    ChatLog,
    ConversationEntity,
    ConversationInput,
    ConversationResult,
    async_converse,
    async_get_result_from_chat_log,
)
from homeassistant.const import MATCH_ALL

_HINT: Final = "it is dark"
_QUESTION: Final = "Shall I turn on the kitchen light?"
_COMMAND: Final = "turn on the kitchen light"


class DemoAssistant(ConversationEntity):
    """Asks whether to turn on the light, and does so after a "yes"."""

    _attr_name = "Demo assistant"
    _attr_unique_id = "demo_assistant"

    def __init__(self) -> None:
        """Begin without a question."""
        # Conversations in which the question waits for its answer.
        self._asked: set[str] = set()

    @property
    @override
    def supported_languages(self) -> list[str] | Literal["*"]:
        return MATCH_ALL

    @override
    async def _async_handle_message(
        self, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        text = user_input.text.casefold().strip(" .!")
        asked = chat_log.conversation_id in self._asked
        self._asked.discard(chat_log.conversation_id)
        if text == _HINT:
            self._asked.add(chat_log.conversation_id)
            content = AssistantContent(agent_id=user_input.agent_id, content=_QUESTION)
            chat_log.async_add_assistant_content_without_tools(content)
            return async_get_result_from_chat_log(user_input, chat_log)
        return await async_converse(
            self.hass,
            _COMMAND if asked and text == "yes" else user_input.text,
            chat_log.conversation_id,
            user_input.context,
            user_input.language,
            HOME_ASSISTANT_AGENT,
            user_input.device_id,
            user_input.satellite_id,
        )
