"""The binary framing of audio on a WebSocket: protocol versions 1, 2 and 3, the same in both directions.

Source: the firmware's `main/protocols/websocket_protocol.cc` and `main/protocols/protocol.h`. The device
does not check the bounds of received frames: only `pack` prevents wrong sizes.
"""

import struct
from typing import Final

# Speech takes a few hundred bytes a packet; 4000 is 120 ms at 266 kbit/s.
MAX_PACKET_BYTES: Final = 4000

_OPUS: Final = 0
# version, type, reserved, timestamp in ms, payload size
_HEADER_2: Final = struct.Struct("!HHIII")
# type, reserved, payload size
_HEADER_3: Final = struct.Struct("!BBH")


class FramingError(ValueError):
    """A binary frame that does not hold one Opus packet."""


def framing_version(text: str) -> int:
    """Read a `Protocol-Version` header; as in the firmware, everything except 2 and 3 means 1."""
    return {"2": 2, "3": 3}.get(text.strip(), 1)


def pack(version: int, packet: bytes, timestamp_ms: int = 0) -> bytes:
    """Frame one Opus packet for the device; an unknown version is like 1, as in the firmware.

    `timestamp_ms` exists only in version 2. Raises `FramingError` when the packet is too large.
    """
    if len(packet) > MAX_PACKET_BYTES:
        raise FramingError(_too_large(len(packet)))
    match version:
        case 2:
            return _HEADER_2.pack(2, _OPUS, 0, timestamp_ms & 0xFFFFFFFF, len(packet)) + packet
        case 3:
            return _HEADER_3.pack(_OPUS, 0, len(packet)) + packet
    return packet


def unpack(version: int, frame: bytes) -> bytes:
    """Return the Opus packet in a frame from the device, empty for silence; an unknown version is like 1.

    Raises `FramingError` when the header is cut off, announces another size than there is or another type
    than audio, or when the packet is too large.
    """
    match version:
        case 2:
            packet = _unpack_2(frame)
        case 3:
            packet = _unpack_3(frame)
        case _:
            packet = frame
    if len(packet) > MAX_PACKET_BYTES:
        raise FramingError(_too_large(len(packet)))
    return packet


def _unpack_2(frame: bytes) -> bytes:
    if len(frame) < _HEADER_2.size:
        raise FramingError(f"frame of {len(frame)} bytes is shorter than its header")
    version, kind, _reserved, _timestamp, size = _HEADER_2.unpack_from(frame)
    if version != 2:
        raise FramingError(f"frame of version {version} on a connection of version 2")
    return _payload(frame[_HEADER_2.size :], kind, size)


def _unpack_3(frame: bytes) -> bytes:
    if len(frame) < _HEADER_3.size:
        raise FramingError(f"frame of {len(frame)} bytes is shorter than its header")
    kind, _reserved, size = _HEADER_3.unpack_from(frame)
    return _payload(frame[_HEADER_3.size :], kind, size)


def _payload(payload: bytes, kind: int, size: int) -> bytes:
    if kind != _OPUS:
        raise FramingError(f"frame of type {kind} is not audio")
    if size != len(payload):
        raise FramingError(f"frame announces {size} bytes and holds {len(payload)}")
    return payload


def _too_large(size: int) -> str:
    return f"packet of {size} bytes is over the limit of {MAX_PACKET_BYTES}"
