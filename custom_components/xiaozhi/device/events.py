"""Events of a device: its notifications, and those of its conversations, with who takes them."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
import logging
from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import ATTR_DEVICE_ID, ATTR_NAME
from homeassistant.core import CALLBACK_TYPE, Context, callback
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.signal_type import SignalType

from ..const import DOMAIN
from ..protocol.conversation.conversation import Conversation
from ..protocol.messages import JsonObject
from ..protocol.trace import Trace
from ..protocol.transport.link import Channel
from ..util.text import clean_data, one_line
from ..util.untrusted_json import is_bounded
from .bounds import CONVERSATION_EVENTS, NOTIFICATION_EVENTS, PROGRESS_EVENTS
from .turn_times import TurnTimes

if TYPE_CHECKING:
    from .paired_device import PairedDevice

_LOGGER = logging.getLogger(__name__)

# For attributes, which are stored with every state; the bus event has all params.
_MAX_ATTRIBUTE_PARAMS: Final = 2048
# Enough to distinguish a slow turn from a slow engine.
_LAST_TURNS: Final = 20


class NotificationType(StrEnum):
    """Kinds of notifications."""

    STATE_CHANGED = "state_changed"
    MESSAGE = "message"
    PROGRESS = "progress"
    TOOLS_CHANGED = "tools_changed"
    OTHER = "other"


class ConversationEvent(StrEnum):
    """Kinds of events in a conversation."""

    WAKE_WORD = "wake_word"
    STARTED = "started"
    HEARD = "heard"
    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FAILED = "failed"


# Methods of MCP, except `state_changed`. Stock firmware sends none of them.
_TYPE_OF_METHOD: Final = {
    "notifications/state_changed": NotificationType.STATE_CHANGED,
    "notifications/message": NotificationType.MESSAGE,
    "notifications/progress": NotificationType.PROGRESS,
    "notifications/tools/list_changed": NotificationType.TOOLS_CHANGED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEvent:
    """An event with its attributes."""

    type: StrEnum
    attributes: Mapping[str, Any] = field(hash=False)


EVENT_NOTIFICATION: Final = "xiaozhi_notification"
EVENT_SIGNAL: Final = SignalType["PairedDevice", DeviceEvent](f"{DOMAIN}_event")
"""Sent with each event of any device, for event entities and triggers of automations."""


def notification_event(method: str, params: JsonObject) -> DeviceEvent:
    """Return the event for a notification, without `params` that are too large to store."""
    attributes: dict[str, Any] = {"method": one_line(method)}
    if is_bounded(params, _MAX_ATTRIBUTE_PARAMS):
        attributes["params"] = clean_data(params)
    else:
        attributes["params_too_large"] = True
    return DeviceEvent(type=_TYPE_OF_METHOD.get(method, NotificationType.OTHER), attributes=attributes)


class DeviceEvents:
    """Sends the events of one device, in bounded numbers."""

    def __init__(self, device: PairedDevice) -> None:
        self._device = device
        self._limit_logged = False

    @callback
    def report(self, event: str, context: Context | None = None, **data: str) -> None:
        """Report something in Activity."""
        device = self._device
        named = {ATTR_DEVICE_ID: device.registry_id, ATTR_NAME: device.name, **data}
        device.hass.bus.async_fire(event, named, context=context)

    @callback
    def fire_notification(self, method: str, params: JsonObject, *, published: bool = False) -> bool:
        """Publish a notification unless it is `published`, and send its event; return whether that was sent.

        It is not sent if a whole hour of them would be too many to keep.
        """
        device = self._device
        if not published:
            data = {"device_id": device.registry_id, "method": method, "params": params}
            device.hass.bus.async_fire(EVENT_NOTIFICATION, data)
        event = notification_event(method, params)
        is_progress = event.type is NotificationType.PROGRESS
        if device.bounds.take(PROGRESS_EVENTS if is_progress else NOTIFICATION_EVENTS):
            self._send(event)
            return True
        if not self._limit_logged:
            self._limit_logged = True
            _LOGGER.warning("%s sends too many notifications: its event shows one a minute now", device.name)
        return False

    @callback
    def fire(self, event: StrEnum, text: str | None = None, **attributes: str | float) -> None:
        """Send an event that is no notification; `text` is sent only if the owner allows that.

        Texts are cut to one line.
        """
        # The others are ours, and few.
        if isinstance(event, ConversationEvent) and not self._device.bounds.take(CONVERSATION_EVENTS):
            return
        if text is not None and self._device.settings.share_transcripts:
            attributes["text"] = text
        cleaned = {
            name: one_line(value) if isinstance(value, str) else value for name, value in attributes.items()
        }
        self._send(DeviceEvent(type=event, attributes=cleaned))

    @callback
    def _send(self, event: DeviceEvent) -> None:
        async_dispatcher_send(self._device.hass, EVENT_SIGNAL, self._device, event)


class DeviceConversations:
    """Passes the conversations of one device to its satellite, and keeps the times of the last turns."""

    def __init__(self, events: DeviceEvents) -> None:
        self.events = events
        self.traced: Callable[[Channel], Trace | None] = lambda _: None
        """Returns the trace of a conversation that begins, if it is to be recorded."""
        self._holders: list[Callable[[Conversation], bool]] = []
        self.last_answer = ""
        """The last answer, to be said again; in memory only."""
        self._turns: deque[TurnTimes] = deque(maxlen=_LAST_TURNS)

    @callback
    def hold(self, holder: Callable[[Conversation], bool]) -> CALLBACK_TYPE:
        """Let `holder` take the conversations from now on, or refuse them by returning False.

        Returns a function that gives them back to who took them before.
        """
        self._holders.append(holder)
        return lambda: self._holders.remove(holder)

    @callback
    def begin(self, conversation: Conversation) -> bool:
        """Pass on a conversation that the device has started; return whether it is held."""
        if held := bool(self._holders) and self._holders[-1](conversation):
            self.events.fire(ConversationEvent.STARTED)
        return held

    @callback
    def add_answer(self, text: str, times: TurnTimes) -> None:
        """Take the text of an answer that the user has begun to hear or read, and how long it took."""
        self._turns.append(times)
        self.last_answer = text
        self.events.fire(ConversationEvent.ANSWERED, text, **times.as_dict())

    def describe(self) -> list[dict[str, Any]]:
        """Return the times of the last turns for diagnostics."""
        return [times.as_dict() for times in self._turns]

    @property
    def last_spoken(self) -> TurnTimes:
        """The times of the last turn with a spoken answer; without steps if there was none."""
        spoken = (times for times in reversed(self._turns) if times.response is not None)
        return next(spoken, TurnTimes())
