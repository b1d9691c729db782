"""The voice conversations of a device: what takes them, and how long their turns took."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, callback

from ..protocol.conversation.conversation import Conversation
from .events import ConversationEvent, DeviceEvents
from .turn_times import TurnTimes

# Enough to distinguish a slow turn from a slow engine.
_LAST_TURNS: Final = 20


class DeviceConversations:
    """Passes the conversations of one device to its satellite, and keeps the times of the last turns."""

    def __init__(self, events: DeviceEvents) -> None:
        """Notify `events` when a conversation starts and when a turn is answered."""
        self._events = events
        self._holders: list[Callable[[Conversation], bool]] = []
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
        self._events.fire(ConversationEvent.STARTED)
        return bool(self._holders) and self._holders[-1](conversation)

    @callback
    def add_answer(self, text: str, times: TurnTimes) -> None:
        """Take the text of an answer that the user has begun to hear or read, and how long it took."""
        self._turns.append(times)
        self._events.fire(ConversationEvent.ANSWERED, text, **times.as_dict())

    def describe(self) -> list[dict[str, Any]]:
        """Return the times of the last turns for diagnostics."""
        return [times.as_dict() for times in self._turns]

    @property
    def last_spoken(self) -> TurnTimes:
        """The times of the last turn with a spoken answer; without steps if there was none."""
        spoken = (times for times in reversed(self._turns) if times.response is not None)
        return next(spoken, TurnTimes())
