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
        self._voice: Callable[[Conversation], None] | None = None
        self._refused: Callable[[], None] | None = None
        self._turns: deque[TurnTimes] = deque(maxlen=_LAST_TURNS)

    @callback
    def set_voice(self, voice: Callable[[Conversation], None]) -> CALLBACK_TYPE:
        """Let `voice` hold the conversations. Returns a function that ends this."""
        self._voice = voice

        @callback
        def end() -> None:
            self._voice = None

        return end

    @callback
    def refuse(self, refused: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `refused` for each conversation, and pass none on. Returns a function that ends this."""
        self._refused = refused

        @callback
        def end() -> None:
            if self._refused is refused:
                self._refused = None

        return end

    @callback
    def begin(self, conversation: Conversation) -> bool:
        """Pass on a conversation that the device has started; return whether it is held."""
        self._events.fire(ConversationEvent.STARTED)
        if self._refused is not None:
            self._refused()
            return False
        if self._voice is None:
            return False
        self._voice(conversation)
        return True

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
