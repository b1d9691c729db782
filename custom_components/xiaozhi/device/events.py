"""What happens at a device, as events: its notifications, and what happens in its conversations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, callback

from ..protocol.limits import TokenBucket
from ..protocol.mcp.model import is_bounded
from ..protocol.messages import JsonObject
from ..protocol.text import clean_data, one_line

EVENT_NOTIFICATION: Final = "xiaozhi_notification"

# Enough for what a person does and reads; what comes faster than this for long would only fill the database.
_RATE: Final = 5
_BURST: Final = 20
# The bus event has all that the MCP client lets through; attributes are stored with every state.
_MAX_ATTRIBUTE_PARAMS: Final = 2048
_MAX_ATTRIBUTE_DEPTH: Final = 8


class NotificationType(StrEnum):
    """Kinds of notifications."""

    STATE_CHANGED = "state_changed"
    MESSAGE = "message"
    PROGRESS = "progress"
    TOOLS_CHANGED = "tools_changed"
    OTHER = "other"


class ConversationEvent(StrEnum):
    """What happens in a conversation."""

    WAKE_WORD = "wake_word"
    STARTED = "started"
    HEARD = "heard"
    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FAILED = "failed"


# The methods are those of MCP, apart from `state_changed`: stock firmware sends none of them.
_TYPE_OF_METHOD: Final = {
    "notifications/state_changed": NotificationType.STATE_CHANGED,
    "notifications/message": NotificationType.MESSAGE,
    "notifications/progress": NotificationType.PROGRESS,
    "notifications/tools/list_changed": NotificationType.TOOLS_CHANGED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEvent:
    """Something that has happened, with what is told of it."""

    type: NotificationType | ConversationEvent
    attributes: Mapping[str, Any] = field(hash=False)


def notification_event(method: str, params: JsonObject) -> DeviceEvent:
    """Return the event of a notification; `params` that are too large to be stored are left out."""
    attributes: dict[str, Any] = {"method": one_line(method)}
    if is_bounded(params, size=_MAX_ATTRIBUTE_PARAMS, depth=_MAX_ATTRIBUTE_DEPTH):
        attributes["params"] = clean_data(params)
    else:
        attributes["params_too_large"] = True
    return DeviceEvent(type=_TYPE_OF_METHOD.get(method, NotificationType.OTHER), attributes=attributes)


class DeviceEvents:
    """Tells the event entities of one device what happens, in bounded numbers."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Bound the numbers by a monotonic clock in seconds."""
        self.dropped = 0
        """Events that came too fast."""
        self._clock = clock
        self._listeners: set[Callable[[DeviceEvent], None]] = set()
        self._notifications = TokenBucket(rate=_RATE, burst=_BURST)
        self._conversation_events = TokenBucket(rate=_RATE, burst=_BURST)

    @callback
    def add_listener(self, listener: Callable[[DeviceEvent], None]) -> CALLBACK_TYPE:
        """Call `listener` with every event; returns what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    @callback
    def admit_notification(self) -> bool:
        """Count a notification; False when it is one too many."""
        return self._admit(self._notifications)

    @callback
    def notified(self, method: str, params: JsonObject) -> None:
        """Tell of a notification that was admitted."""
        self._tell(notification_event(method, params))

    @callback
    def happened(self, event: ConversationEvent, **attributes: str | float) -> None:
        """Tell what happens in a conversation; texts are cut to one line."""
        if self._admit(self._conversation_events):
            cleaned = {
                name: one_line(value) if isinstance(value, str) else value
                for name, value in attributes.items()
            }
            self._tell(DeviceEvent(type=event, attributes=cleaned))

    def _admit(self, bucket: TokenBucket) -> bool:
        admitted = bucket.take(self._clock())
        self.dropped += not admitted
        return admitted

    @callback
    def _tell(self, event: DeviceEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)
