"""Wake words, fonts and faces of a device: packs that fit its board, and their recovery."""

from typing import Final

from ...const import DOMAIN
from ...device.guest import Guest
from .device_wake_words import WakeWords
from .pack_installation import SENT_PACK
from .pack_recovery import PackRecovery

WAKE_WORDS: Final = Guest(
    package=__name__, parts=[WakeWords, PackRecovery], owned=[SENT_PACK], kept_files=f"{DOMAIN}_models"
)
