"""Lines in the logbook: calls of a cloud's assistant; actions, questions, messages and losses of a device."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from homeassistant.components.logbook import LOGBOOK_ENTRY_MESSAGE, LOGBOOK_ENTRY_NAME
from homeassistant.const import ATTR_NAME
from homeassistant.core import Event, HomeAssistant, callback

from .const import (
    DOMAIN,
    EVENT_ANNOUNCEMENT_SKIPPED,
    EVENT_ROOM_PLAYER,
    EVENT_TOOL_CALL,
    EVENT_UNANSWERED_WAKE_WORD,
)
from .guests.cloud.access_point import EVENT_ACCESS_POINT_CALL
from .guests.mcp_extras.device_questions import EVENT_QUESTION
from .guests.messages.kept_messages import EVENT_VOICE_MESSAGE
from .texts.translated import known_text

_KEYS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    EVENT_ACCESS_POINT_CALL: lambda data: f"access_point_call_{data['outcome']}",
    EVENT_ANNOUNCEMENT_SKIPPED: lambda data: (
        "announcement_left_out_quiet" if data.get("reason") == "do_not_disturb" else "announcement_left_out"
    ),
    EVENT_QUESTION: lambda data: f"device_asked_{data['kind']}_{data['outcome']}",
    EVENT_ROOM_PLAYER: lambda data: f"room_player_{data['reason']}",
    EVENT_TOOL_CALL: lambda data: (
        f"tool_called_by_{'assistant' if data['by'] == 'assistant' else 'person'}_{data['outcome']}"
    ),
    EVENT_UNANSWERED_WAKE_WORD: lambda _: "woken_in_vain",
    EVENT_VOICE_MESSAGE: lambda data: str(data["kind"]),
}
"""Return the keys of the sentences, by the data of the events."""


@callback
def async_describe_events(
    hass: HomeAssistant, async_describe_event: Callable[[str, str, Callable[[Event], dict[str, Any]]], None]
) -> None:
    """Describe calls of tools, without their arguments, questions, and announcements without a device."""
    for event_type in _KEYS:
        async_describe_event(DOMAIN, event_type, partial(_describe, hass))


@callback
def _describe(hass: HomeAssistant, event: Event) -> dict[str, Any]:
    words = {name: event.data.get(name, "") for name in ("tool", "player", "place")}
    message = known_text(hass, _KEYS[str(event.event_type)](event.data), **words)
    return {LOGBOOK_ENTRY_NAME: event.data[ATTR_NAME], LOGBOOK_ENTRY_MESSAGE: message}
