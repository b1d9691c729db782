"""The part of the application that its tools, updates and message handling use."""

from typing import Protocol

from ..board.profile import ListeningMode
from ..link.transport import Transport
from .state import State


class Control(Protocol):
    """The running application."""

    @property
    def state(self) -> State:
        """The current state; it may not have taken effect yet."""

    @property
    def mode(self) -> ListeningMode:
        """The mode of the current or last conversation."""

    @property
    def transport(self) -> Transport | None:
        """The transport; None before the end of the activation."""

    async def set_state(self, state: State) -> None:
        """Request a state."""

    def close_microphone(self) -> None:
        """Stop recording, and drop what was recorded."""

    async def cancel_announcement(self, reason: str) -> None:
        """End the announcement that is played, if one is."""

    async def end_conversation(self) -> None:
        """Close the audio channel, if it is open."""

    async def reboot(self) -> None:
        """Close the channel and restart a second later. Raises `Restart`."""
