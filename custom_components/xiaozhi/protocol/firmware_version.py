"""Firmware versions and their differences.

Source: the tags of the firmware repository; see the table "Version differences" in the protocol reference.
"""

import re
from typing import Final, NamedTuple, Self, override

SAFE_TEXT_BYTES: Final = 1440
"""A WebSocket text frame of this size was seen to work with firmware that cannot take long ones."""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")
# The device reads a number from each part between dots, and aborts at a part without a digit at its start.
_OFFERED: Final = re.compile(r"\d{1,6}\.\d{1,6}(?:\.\d{1,6})?(?:-[0-9A-Za-z]{1,16})?", re.ASCII)


class FirmwareVersion(NamedTuple):
    """A firmware version; a build suffix such as `-beta` is dropped."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Parse the version at the start of `text`; None if there is none."""
        if not text or not (match := _VERSION.match(text)):
            return None
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch))

    def can_become(self, other: FirmwareVersion) -> bool:
        """Whether a device can change to another version over the air.

        Version 2.0 changed the layout of the flash, which only a cable can write.
        """
        return (self < (2, 0, 0)) == (other < (2, 0, 0))

    @property
    def has_tools(self) -> bool:
        """Whether the device has an MCP server."""
        return self >= (1, 6, 6)

    @property
    def notices_reconnection(self) -> bool:
        """Whether the device can publish again after its MQTT client has reconnected by itself.

        In older versions, every message then failed with an alarm until the device created a new client: at
        its next start, or for the next conversation.
        """
        return self > (1, 7, 5)

    @property
    def takes_long_texts(self) -> bool:
        """Whether the device's buffer holds a WebSocket text frame of 2 kB."""
        return self >= (1, 7, 7)

    @property
    def pings_safe(self) -> bool:
        """Whether the device's stream survives WebSocket pings."""
        return self >= (1, 9, 0)

    @property
    def cuts_speech_at_stop(self) -> bool:
        """Whether `tts stop` drops queued speech, so that it may be sent only after all is played."""
        return (1, 7, 0) <= self < (2, 2, 2)

    @property
    def runs_tools_aside(self) -> bool:
        """Whether tools run in a thread of their own, and `tts start` is handled meanwhile."""
        return (1, 7, 0) <= self < (1, 9, 2) or self == (2, 0, 0)

    @property
    def plays_files(self) -> bool:
        """Whether the device, while it is idle, plays a file on request (`notify`)."""
        return self >= (2, 5, 0)

    @override
    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def is_version(text: str) -> bool:
    """Whether a device survives being offered this version (`Ota::ParseVersion` in `main/ota.cc`)."""
    return _OFFERED.fullmatch(text) is not None
