"""What is said of timers and alarms, and what rings in the place of a device."""

from collections.abc import Awaitable, Callable
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import intent
import pytest

from tests.integration.announcements.conftest import chosen, player
from tests.integration.voice.conftest import Say, say

__all__ = ["Handle", "Say", "chosen", "handle", "player", "say"]

type Handle = Callable[..., Awaitable[str]]


@pytest.fixture
def handle(hass: HomeAssistant, device_id: str) -> Handle:
    """Return what handles an intent of somebody at the device, or at another, and returns the answer."""

    async def handle(
        kind: str, at: str | None = device_id, context: Context | None = None, **slots: Any
    ) -> str:
        values = {name: {"value": value} for name, value in slots.items()}
        response = await intent.async_handle(
            hass, "test", kind, values, context=context, device_id=at, language="en"
        )
        return str(response.speech.get("plain", {}).get("speech", ""))

    return handle
