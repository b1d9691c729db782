"""What somebody types in the place of a device."""

from collections.abc import Awaitable, Callable

from homeassistant.components.conversation import HOME_ASSISTANT_AGENT, async_converse
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.intent import IntentResponseErrorCode
import pytest

__all__ = ["Say"]

type Say = Callable[..., Awaitable[str]]


@pytest.fixture
def say(hass: HomeAssistant, device_ids: list[str]) -> Say:
    """Return what types something in the place of a device, or of none, and returns the answer.

    A question mark before it says that a language model may be asked.
    """

    async def say(text: str, language: str = "en", at: int | None = 0, user: str | None = None) -> str:
        device_id = None if at is None else device_ids[at]
        context = Context(user_id=user)
        result = await async_converse(
            hass, text, None, context, language, HOME_ASSISTANT_AGENT, device_id=device_id
        )
        said = str(result.response.speech["plain"]["speech"])
        no_match = result.response.error_code is IntentResponseErrorCode.NO_INTENT_MATCH
        return f"? {said}" if no_match else said

    return say
