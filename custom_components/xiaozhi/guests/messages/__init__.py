"""Voice messages: spoken to one device, kept for others, and heard on them."""

from typing import Final

from ...const import DOMAIN
from ...device.guest import MAC, Guest
from .kept_messages import KeptMessages
from .voice_message import MESSAGES

VOICE_MESSAGES: Final = Guest(
    package=__name__, parts=[KeptMessages], owned=[MESSAGES], kept_files=f"{DOMAIN}_messages/{MAC}"
)
