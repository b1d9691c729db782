"""Voice messages: spoken to one device, kept for others, and heard on them."""

from typing import Final

from ...device.guest import Guest
from .kept_messages import KeptMessages, async_forget_messages
from .voice_message import MESSAGES

VOICE_MESSAGES: Final = Guest(
    package=__name__, parts=[KeptMessages], owned=[MESSAGES], forget=async_forget_messages
)
