"""Notifications of a device's MCP server over one link."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from homeassistant.core import callback

from ..protocol.conversation.state_table import ConversationState
from ..protocol.messages import JsonObject
from .events import DeviceEvents
from .handshake import Handshake

__all__ = ["Notifications", "NotifyingDevice"]

_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
_STATE_CHANGED: Final = "notifications/state_changed"


class NotifyingDevice(Protocol):
    """What `Notifications` needs of the device."""

    @property
    def events(self) -> DeviceEvents:
        """Events of the device."""

    @property
    def notification_handlers(self) -> Mapping[str, Callable[[JsonObject], None]]:
        """Who else handles an admitted notification, by method."""

    def changed(self, *keys: str) -> None:
        """Call the listeners: the device listens, speaks, ..."""

    def notified(self, method: str, params: JsonObject) -> None:
        """Pass a notification on."""


class Notifications:
    """Takes the notifications of one link: what has changed on the device, and what automations get."""

    def __init__(
        self,
        device: NotifyingDevice,
        handshake: Handshake,
        in_conversation: Callable[[], bool],
    ) -> None:
        """`in_conversation` tells whether a conversation is open, whose own state is better."""
        self.state = ConversationState.IDLE
        """What the device does, as last notified."""
        self._device = device
        self._handshake = handshake
        self._in_conversation = in_conversation

    @callback
    def received(self, method: str, params: JsonObject) -> None:
        """Handle a notification."""
        # Before the limit, so that the last change of the tools is not missed.
        if method == _TOOLS_CHANGED:
            self._handshake.list_again()
        if not self._device.events.admit_notification():
            return
        if method == _STATE_CHANGED:
            self._state_changed(params)
        if handler := self._device.notification_handlers.get(method):
            handler(params)
        self._device.notified(method, params)

    @callback
    def _state_changed(self, params: JsonObject) -> None:
        match params:
            # During a conversation, its own state is faster and more reliable.
            case {"state": str(state)} if state in ConversationState and not self._in_conversation():
                self.state = ConversationState(state)
                self._device.changed()
