"""A voice message that is kept."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from ...device.owned import Owned
from ...settings import MOMENT, from_stored, stored


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceMessage:
    """A message in somebody's own voice that nobody has heard yet. Its sound is in a file."""

    sender: str = stored(str)
    """Name of the room, or else of the device, in which it was spoken."""
    sent: datetime = stored(MOMENT)
    cut_off: bool = stored(bool, False)
    """Whether its end is missing."""


MESSAGES: Final = Owned(key="messages", read=partial(from_stored, VoiceMessage))
"""Messages that are kept for a device until somebody hears them, the oldest first."""
