"""Recorded conversations, for fault reports."""

from typing import Final

from ...device.guest import Guest
from .conversation_recorder import ConversationRecorder

RECORDINGS: Final = Guest(package=__name__, parts=[ConversationRecorder])
