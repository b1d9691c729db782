"""A XiaoZhi device in Python, faithful to the stock firmware, as a library and a command.

It shares no code with the integration: it is what the integration is tested against.
"""

from .conversation import Conversation, ConversationError, converse
from .crash import DeviceCrashed
from .device import SimulatedDevice
from .firmware import build_image
from .misbehave import Misbehaviour
from .nvs import Nvs
from .pace import Pace
from .profile import BOARDS, Board, Profile, get_profile
from .record import Event, Screen
from .state import ListeningMode, State
from .weather import UdpWeather

__all__ = [
    "BOARDS",
    "Board",
    "Conversation",
    "ConversationError",
    "DeviceCrashed",
    "Event",
    "ListeningMode",
    "Misbehaviour",
    "Nvs",
    "Pace",
    "Profile",
    "Screen",
    "SimulatedDevice",
    "State",
    "UdpWeather",
    "build_image",
    "converse",
    "get_profile",
]
