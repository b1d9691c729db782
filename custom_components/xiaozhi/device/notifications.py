"""Notifications of a device's MCP server over one link."""

from collections.abc import Callable
import logging
from typing import Final

from homeassistant.core import callback

from ..protocol.conversation.state_table import ConversationState
from ..protocol.messages import JsonObject
from .device_model import DeviceModel
from .events import EVENT_NOTIFICATION

_LOGGER = logging.getLogger(__name__)

_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
_STATE_CHANGED: Final = "notifications/state_changed"


class Notifications:
    """Takes the notifications of one link: what has changed on the device, and what automations get."""

    def __init__(
        self,
        device: DeviceModel,
        *,
        list_tools: Callable[[], None],
        in_conversation: Callable[[], bool],
    ) -> None:
        """`in_conversation` returns whether a conversation is open, whose own state is better."""
        self.state = ConversationState.IDLE
        """What the device does, as last notified."""
        self._limit_logged = False
        self._device = device
        self._list_tools = list_tools
        self._in_conversation = in_conversation

    @callback
    def receive(self, method: str, params: JsonObject) -> None:
        """Handle a notification."""
        # Before the limit, so that the last change of the tools is not missed.
        if method == _TOOLS_CHANGED:
            self._list_tools()
        events = self._device.events
        if not events.admit_notification():
            return
        if method == _STATE_CHANGED:
            self._set_state(params)
        if (handle := self._device.notification_handlers.get(method)) is not None:
            handle(params)
        if not events.admit_notification_event():
            if not self._limit_logged:
                self._limit_logged = True
                _LOGGER.warning(
                    "%s sends too many notifications: one a minute is an event now",
                    self._device.name,
                )
            return
        data = {"device_id": self._device.registry_id, "method": method, "params": params}
        self._device.hass.bus.async_fire(EVENT_NOTIFICATION, data)
        events.fire_notification(method, params)

    @callback
    def _set_state(self, params: JsonObject) -> None:
        match params:
            # During a conversation, its own state is faster and more reliable.
            case {"state": str(state)} if state in ConversationState and not self._in_conversation():
                self.state = ConversationState(state)
                self._device.refresh()
