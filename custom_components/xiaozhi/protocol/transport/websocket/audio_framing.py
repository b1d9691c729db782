"""The framing of audio packets on a WebSocket, by the device's hello and its first packet.

Source: the firmware's `main/protocols/protocol.h`. Version 1 is the bare Opus packet. Programs exist that
name another version and send bare packets, which the project's reference server takes.
"""

from struct import Struct
from typing import Final

from ...audio.opus_codec import opus_samples

_AUDIO: Final = 0
# Headers of versions 2 and 3; the last field is the size of the packet.
_HEADERS: Final = {
    2: (Struct(">HHIII"), (2, _AUDIO, 0, 0)),
    3: (Struct(">BBH"), (_AUDIO, 0)),
}
# Fields with the kind of the packet. The others are reserved, or the time.
_KIND: Final = {2: 2, 3: 1}


class FramingError(ValueError):
    """A first packet that is neither framed according to the hello nor a bare Opus packet."""


class AudioFraming:
    """Frames and unframes the packets of one connection: bare, until its first packet shows a header."""

    def __init__(self, version: int) -> None:
        """`version` is that of the device's hello."""
        self._version = version
        self._framed: bool | None = None if version in _HEADERS else False

    def unpack(self, frame: bytes) -> bytes | None:
        """Return the packet in a binary message; None if its header does not fit. Raises `FramingError`."""
        if self._framed is False or (self._framed is None and not frame):
            return frame
        packet = self._without_header(frame)
        if self._framed is None:
            self._framed = packet is not None
            if packet is None and opus_samples(frame) is None:
                raise FramingError(
                    f"audio that is neither framed as in version {self._version} nor bare Opus"
                )
        return packet if self._framed else frame

    def pack(self, packet: bytes) -> bytes:
        """Return the binary message that carries a packet to the device."""
        if not self._framed:
            return packet
        header, fields = _HEADERS[self._version]
        return header.pack(*fields, len(packet)) + packet

    def _without_header(self, frame: bytes) -> bytes | None:
        header, expected = _HEADERS[self._version]
        if len(frame) < header.size:
            return None
        *fields, size = header.unpack_from(frame)
        kind = slice(_KIND[self._version])
        fits = tuple(fields[kind]) == expected[kind] and size == len(frame) - header.size
        return frame[header.size :] if fits else None
