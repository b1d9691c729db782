"""Binary protocol versions 1, 2 and 3: the header before an Opus packet in a WebSocket frame.

Source: the firmware's `websocket_protocol.cc`.
"""

import struct
from typing import Final

from ..board.crash import DeviceCrashed

__all__ = ["pack", "unpack"]

# version, type, reserved, timestamp in ms, payload size
_HEADER_2: Final = struct.Struct("!HHIII")
# type, reserved, payload size
_HEADER_3: Final = struct.Struct("!BBH")


def pack(version: int, packet: bytes, timestamp: int = 0) -> bytes:
    """Put an Opus packet into a binary frame; unknown versions behave like 1."""
    match version:
        case 2:
            return _HEADER_2.pack(2, 0, 0, timestamp, len(packet)) + packet
        case 3:
            return _HEADER_3.pack(0, 0, len(packet)) + packet
    return packet


def unpack(version: int, frame: bytes) -> bytes:
    """Take the Opus packet out of a binary frame.

    The firmware does not check bounds: where it would read past the frame, this raises `DeviceCrashed`.
    """
    header = {2: _HEADER_2, 3: _HEADER_3}.get(version)
    if header is None:
        return frame
    if len(frame) < header.size:
        raise DeviceCrashed(f"binary frame of {len(frame)} bytes has no header of version {version}")
    size = header.unpack_from(frame)[-1]
    if size > len(frame) - header.size:
        raise DeviceCrashed(f"payload size {size} reads past a binary frame of {len(frame)} bytes")
    return frame[header.size : header.size + size]
