"""A voice message that is kept."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

import voluptuous as vol

from ...device.owned import Owned
from ...settings import MOMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceMessage:
    """A message in somebody's own voice that nobody has heard yet. Its sound is in a file."""

    sender: str
    """Name of the room, or else of the device, in which it was spoken."""
    sent: datetime
    cut_off: bool = False
    """Whether its end is missing."""

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """Read the stored form. Raises if it is damaged."""
        return cls(
            sender=vol.Schema(str)(stored["sender"]),
            sent=vol.Schema(MOMENT)(stored["sent"]),
            cut_off=stored.get("cut_off") is True,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"sender": self.sender, "sent": self.sent.isoformat(), "cut_off": self.cut_off}


MESSAGES: Final = Owned(key="messages", read=VoiceMessage.from_dict, write=VoiceMessage.as_dict)
"""Messages that are kept for a device until somebody hears them, the oldest first."""
