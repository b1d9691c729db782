"""A XiaoZhi device in Python, faithful to the stock firmware, as a library and a command.

It shares no code with the integration, which is tested against it.
"""

from .application.announcement import Announcement, Outcome, Subtitle
from .application.state import State
from .board.crash import DeviceCrashed
from .board.nvs import Nvs
from .board.pace import Pace
from .board.profile import BOARDS, Board, ListeningMode, Profile, get_profile
from .board.recorder import Event, Screen
from .conversation import Conversation, ConversationError, converse
from .device import SimulatedDevice
from .firmware.image import build_image
from .link.impairment import UdpImpairment
from .link.misbehave import Misbehaviour

__all__ = [
    "BOARDS",
    "Announcement",
    "Board",
    "Conversation",
    "ConversationError",
    "DeviceCrashed",
    "Event",
    "ListeningMode",
    "Misbehaviour",
    "Nvs",
    "Outcome",
    "Pace",
    "Profile",
    "Screen",
    "SimulatedDevice",
    "State",
    "Subtitle",
    "UdpImpairment",
    "build_image",
    "converse",
    "get_profile",
]
