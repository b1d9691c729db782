"""Firmware versions, and what differs between them.

Source: the tags of the firmware repository; see the table "Version differences" in the protocol reference.
"""

from dataclasses import dataclass
import re
from typing import Final, Self

__all__ = ["SAFE_TEXT_BYTES", "FirmwareVersion", "is_version"]

SAFE_TEXT_BYTES: Final = 1440
"""Of a WebSocket text frame: firmware that does not take long texts was seen to take this."""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")
# The device reads a number from each part between dots, and aborts at a part that begins with none.
_OFFERED: Final = re.compile(r"\d{1,6}\.\d{1,6}(?:\.\d{1,6})?(?:-[0-9A-Za-z]{1,16})?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class FirmwareVersion:
    """A firmware version; a build suffix such as `-beta` is dropped."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Read the version at the start of `text`; None when there is none."""
        if not text or not (match := _VERSION.match(text)):
            return None
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch))

    def can_become(self, other: FirmwareVersion) -> bool:
        """Whether a device can change to another version over the air.

        2.0 has another layout of the flash, which only a cable can write.
        """
        return (self < _V2_0_0) == (other < _V2_0_0)

    @property
    def has_tools(self) -> bool:
        """Whether there is an MCP server on the device."""
        return self >= _V1_6_6

    @property
    def notices_reconnection(self) -> bool:
        """Whether the device can publish again after its MQTT client has reconnected by itself.

        Before, every message of the device then failed, with an alarm for each, until the device made a new
        client: at its next start, or for the next conversation.
        """
        return self > _V1_7_5

    @property
    def takes_long_texts(self) -> bool:
        """Whether a WebSocket text frame of 2 kB does not overflow the device's buffer."""
        return self >= _V1_7_7

    @property
    def pings_safe(self) -> bool:
        """Whether WebSocket pings do not corrupt the device's stream."""
        return self >= _V1_9_0

    @property
    def cuts_speech_at_stop(self) -> bool:
        """Whether `tts stop` drops what is still queued, so that it must wait until all was played."""
        return _V1_7_0 <= self < _V2_2_2

    @property
    def runs_tools_aside(self) -> bool:
        """Whether tools run in a thread of their own, so that `tts start` is handled meanwhile."""
        return _V1_7_0 <= self < _V1_9_2 or self == _V2_0_0

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
