"""Lines in the logbook: what a cloud's assistant called, and what a device did, was asked for or missed."""

from collections.abc import Callable
from typing import Any, Final

from homeassistant.components.logbook import LOGBOOK_ENTRY_MESSAGE, LOGBOOK_ENTRY_NAME
from homeassistant.const import ATTR_NAME
from homeassistant.core import Event, HomeAssistant, callback

from .const import DOMAIN, EVENT_ACCESS_POINT_CALL, EVENT_LEFT_OUT, EVENT_QUESTION, EVENT_TOOL_CALL
from .protocol.access_point.dispatcher import CallOutcome
from .texts.translated import known_text

_TEXTS: Final = {
    CallOutcome.DONE: "access_point_call_done",
    CallOutcome.FAILED: "access_point_call_failed",
    CallOutcome.RUNNING: "access_point_call_running",
    CallOutcome.REFUSED: "access_point_call_refused",
}


@callback
def async_describe_events(
    hass: HomeAssistant,
    async_describe_event: Callable[[str, str, Callable[[Event], dict[str, Any]]], None],
) -> None:
    """Describe calls of tools, without their arguments, questions, and announcements without a device."""

    @callback
    def describe(event: Event) -> dict[str, Any]:
        outcome = CallOutcome(event.data["outcome"])
        return {
            LOGBOOK_ENTRY_NAME: event.data[ATTR_NAME],
            LOGBOOK_ENTRY_MESSAGE: known_text(hass, _TEXTS[outcome], tool=event.data["tool"]),
        }

    @callback
    def describe_question(event: Event) -> dict[str, Any]:
        key = f"device_asked_{event.data['kind']}_{event.data['outcome']}"
        return {LOGBOOK_ENTRY_NAME: event.data[ATTR_NAME], LOGBOOK_ENTRY_MESSAGE: known_text(hass, key)}

    @callback
    def describe_call(event: Event) -> dict[str, Any]:
        by = "assistant" if event.data["by"] == "assistant" else "person"
        key = f"tool_called_by_{by}_{event.data['outcome']}"
        message = known_text(hass, key, tool=event.data["tool"])
        return {LOGBOOK_ENTRY_NAME: event.data[ATTR_NAME], LOGBOOK_ENTRY_MESSAGE: message}

    @callback
    def describe_left_out(event: Event) -> dict[str, Any]:
        message = known_text(hass, "announcement_left_out")
        return {LOGBOOK_ENTRY_NAME: event.data[ATTR_NAME], LOGBOOK_ENTRY_MESSAGE: message}

    async_describe_event(DOMAIN, EVENT_ACCESS_POINT_CALL, describe)
    async_describe_event(DOMAIN, EVENT_LEFT_OUT, describe_left_out)
    async_describe_event(DOMAIN, EVENT_QUESTION, describe_question)
    async_describe_event(DOMAIN, EVENT_TOOL_CALL, describe_call)
