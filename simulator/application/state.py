"""The device's states and their legal transitions. Source: the firmware's `device_state_machine.cc`."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """A state of the firmware."""

    UNKNOWN = "unknown"
    """Switched off, or crashed."""
    STARTING = "starting"
    WIFI_CONFIGURING = "wifi_configuring"
    ACTIVATING = "activating"
    UPGRADING = "upgrading"
    IDLE = "idle"
    CONNECTING = "connecting"
    LISTENING = "listening"
    SPEAKING = "speaking"
    NOTIFYING = "notifying"
    """Plays an announcement; in firmware since 2.5.0."""


_LEGAL: Final = {
    State.UNKNOWN: {State.STARTING},
    State.STARTING: {State.WIFI_CONFIGURING, State.ACTIVATING},
    State.WIFI_CONFIGURING: {State.ACTIVATING},
    State.ACTIVATING: {State.UPGRADING, State.IDLE, State.WIFI_CONFIGURING},
    State.UPGRADING: {State.IDLE, State.ACTIVATING},
    State.IDLE: {
        State.CONNECTING,
        State.LISTENING,
        State.SPEAKING,
        State.ACTIVATING,
        State.UPGRADING,
        State.WIFI_CONFIGURING,
        State.NOTIFYING,
    },
    State.CONNECTING: {State.IDLE, State.LISTENING},
    State.LISTENING: {State.SPEAKING, State.IDLE},
    State.SPEAKING: {State.LISTENING, State.IDLE},
    State.NOTIFYING: {State.IDLE},
}


class StateMachine:
    """Holds the state; `changed` is called at once on every change."""

    def __init__(self, *, validated: bool, changed: Callable[[State], None]) -> None:
        """Start in `unknown`. Firmware before 2.1.0 is not `validated`: every transition is legal."""
        self.state = State.UNKNOWN
        self._validated = validated
        self._changed = changed

    def request(self, state: State) -> bool:
        """Go to `state`. Return False if nothing changed: the same state, or an illegal transition."""
        if state is self.state or (self._validated and state not in _LEGAL[self.state]):
            return False
        self.state = state
        self._changed(state)
        return True
