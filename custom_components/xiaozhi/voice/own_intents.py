"""Intents of ours."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.intent import IntentHandler, async_get
from homeassistant.helpers.llm import Tool


class OwnIntent(IntentHandler, ABC):
    """An intent of ours."""

    tool: Tool | None = None
    """The intent as a tool of assistants, if it is one."""

    @abstractmethod
    def lacks_words(self, slots: Mapping[str, str], language: str) -> bool:
        """Whether a sentence needs more words, though it is understood. It may read a file."""


@callback
def own_intents(hass: HomeAssistant) -> list[OwnIntent]:
    """Return the intents that are registered."""
    return [handler for handler in async_get(hass) if isinstance(handler, OwnIntent)]
