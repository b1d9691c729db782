"""Requests in words: alarms, voice messages, *Do not disturb*, the microphone, and what a device can do."""

from typing import Final

from ...device.guest import Guest

REQUESTS: Final = Guest(package=__name__)
