"""Requests in words: alarms, voice messages, *Do not disturb*, the microphone, and what a device can do."""

from typing import Final

from ...device.guest import Guest
from .stop_words import Ringing, StopWords

REQUESTS: Final = Guest(package=__name__, parts=[Ringing], gateway_parts=[StopWords])
