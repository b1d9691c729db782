"""Firmware versions and their differences.

Source: the tags of the firmware repository; see the table "Version differences" in the protocol reference.
"""

from dataclasses import dataclass
import re
from typing import Final, Self

SAFE_TEXT_BYTES: Final = 1440
"""A WebSocket text frame of this size was seen to work with firmware that cannot take long ones."""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")
# The device reads a number from each part between dots, and aborts at a part without a digit at its start.
_OFFERED: Final = re.compile(r"\d{1,6}\.\d{1,6}(?:\.\d{1,6})?(?:-[0-9A-Za-z]{1,16})?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class FirmwareVersion:
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
        return (self < _V2_0_0) == (other < _V2_0_0)

    @property
    def has_tools(self) -> bool:
        """Whether the device has an MCP server."""
        return self >= _V1_6_6

    @property
    def notices_reconnection(self) -> bool:
        """Whether the device can publish again after its MQTT client has reconnected by itself.

        In older versions, every message then failed with an alarm until the device created a new client: at
        its next start, or for the next conversation.
        """
        return self > _V1_7_5

    @property
    def takes_long_texts(self) -> bool:
        """Whether the device's buffer holds a WebSocket text frame of 2 kB."""
        return self >= _V1_7_7

    @property
    def pings_safe(self) -> bool:
        """Whether the device's stream survives WebSocket pings."""
        return self >= _V1_9_0

    @property
    def cuts_speech_at_stop(self) -> bool:
        """Whether `tts stop` drops queued speech, so that it may be sent only after all is played."""
        return _V1_7_0 <= self < _V2_2_2

    @property
    def runs_tools_aside(self) -> bool:
        """Whether tools run in a thread of their own, and `tts start` is handled meanwhile."""
        return _V1_7_0 <= self < _V1_9_2 or self == _V2_0_0

    @property
    def plays_files(self) -> bool:
        """Whether the device, while it is idle, plays a file on request (`notify`)."""
        return self >= _V2_5_0

    def __str__(self) -> str:
        """Return the version as the device writes it."""
        return f"{self.major}.{self.minor}.{self.patch}"


def is_version(text: str) -> bool:
    """Whether a device survives being offered this version (`Ota::ParseVersion` in `main/ota.cc`)."""
    return _OFFERED.fullmatch(text) is not None


_V1_6_6: Final = FirmwareVersion(1, 6, 6)
_V1_7_0: Final = FirmwareVersion(1, 7, 0)
_V1_7_5: Final = FirmwareVersion(1, 7, 5)
_V1_7_7: Final = FirmwareVersion(1, 7, 7)
_V1_9_0: Final = FirmwareVersion(1, 9, 0)
_V1_9_2: Final = FirmwareVersion(1, 9, 2)
_V2_0_0: Final = FirmwareVersion(2, 0, 0)
_V2_2_2: Final = FirmwareVersion(2, 2, 2)
_V2_5_0: Final = FirmwareVersion(2, 5, 0)
