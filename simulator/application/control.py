"""What the parts of the application ask of the whole."""

from typing import Protocol

from ..board.profile import ListeningMode
from ..link.transport import Transport
from .state import State

__all__ = ["Control"]


class Control(Protocol):
    """The firmware while it runs."""

    @property
    def state(self) -> State:
        """The state; its effects may still be to come."""

    @property
    def mode(self) -> ListeningMode:
        """The mode of the conversation, or of the last one."""

    @property
    def transport(self) -> Transport | None:
        """The transport; None before the activation is done."""

    async def set_state(self, state: State) -> None:
        """Request a state."""

    async def end_conversation(self) -> None:
        """Close the audio channel, if it is open."""

    async def reboot(self) -> None:
        """Close the channel and restart a second later. Raises `Restart`."""
