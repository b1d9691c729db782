"""Ogg Opus as the device reads it: one mono stream. Source: the firmware's `ogg_demuxer.cc`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .opus import OpusError, packet_duration

_CAPTURE: Final = b"OggS"
_HEADER: Final = 27
_MAX_PACKET: Final = 2048
_MAX_DURATION: Final = 120
_RATES: Final = frozenset({8000, 12000, 16000, 24000, 48000})
_OTHER_RATE: Final = 48000
_HEAD_BYTES: Final = 19


class OggError(Exception):
    """A stream that the device refuses."""


@dataclass(frozen=True, slots=True)
class OggPacket:
    """A packet of sound."""

    payload: bytes
    rate: int
    """Hz at which the device decodes it."""
    duration: int
    """Milliseconds, from its header."""


class OggDemuxer:
    """Cuts a stream into packets; it does not look at check sums, serial numbers or positions."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._in_page = False
        self._lacing = b""
        self._segment = 0
        self._packet = bytearray()
        self._rate = 0
        self._head = False
        self._tags = False
        self._packets = 0

    def feed(self, data: bytes) -> Iterator[OggPacket]:
        """Take bytes and return the packets that are complete with them. Raises `OggError`."""
        self._data += data
        while self._in_page or self._read_page_header():
            while self._segment < len(self._lacing):
                size = self._lacing[self._segment]
                if len(self._data) < size:
                    return
                if (packet := self._read_segment(size)) is not None:
                    yield packet
            self._in_page = False

    def finish(self) -> None:
        """Note the end of the input. Raises `OggError` if the stream is not complete."""
        if not self._packets:
            raise OggError("there is no audio packet")
        if self._in_page or self._data or self._packet:
            raise OggError("it ends inside a page or packet")

    def _read_page_header(self) -> bool:
        if not self._find_capture() or len(self._data) < _HEADER:
            return False
        count = self._data[26]
        if self._data[4] != 0:
            raise OggError(f"version {self._data[4]} of Ogg")
        if len(self._data) < _HEADER + count:
            return False
        self._lacing, self._segment = bytes(self._data[_HEADER : _HEADER + count]), 0
        del self._data[: _HEADER + count]
        self._in_page = True
        return True

    def _find_capture(self) -> bool:
        """Skip bytes before a page; up to three may be its beginning."""
        start = self._data.find(_CAPTURE)
        del self._data[: max(0, len(self._data) - len(_CAPTURE) + 1) if start < 0 else start]
        return start >= 0

    def _read_segment(self, size: int) -> OggPacket | None:
        """Return the packet that ends with this segment, if it is one of sound."""
        if len(self._packet) + size > _MAX_PACKET:
            raise OggError(f"a packet of more than {_MAX_PACKET} bytes")
        self._packet += self._data[:size]
        del self._data[:size]
        self._segment += 1
        if size == 255:
            return None
        packet = bytes(self._packet)
        self._packet.clear()
        return self._completed(packet)

    def _completed(self, packet: bytes) -> OggPacket | None:
        if not packet:
            return None
        if not self._head and packet.startswith(b"OpusHead"):
            self._read_head(packet)
        elif not self._tags and packet.startswith(b"OpusTags"):
            self._tags = True
        elif self._head and self._tags:
            self._packets += 1
            return OggPacket(packet, self._rate, _duration(packet))
        return None

    def _read_head(self, packet: bytes) -> None:
        if len(packet) < _HEAD_BYTES:
            raise OggError("a head that is too short")
        channels, rate = packet[9], int.from_bytes(packet[12:16], "little")
        if channels != 1:
            raise OggError(f"{channels} channels")
        self._head = True
        self._rate = rate if rate in _RATES else _OTHER_RATE


def _duration(packet: bytes) -> int:
    """Return whole milliseconds. Raises `OggError`."""
    try:
        duration = packet_duration(packet)
    except OpusError as err:
        raise OggError(str(err)) from err
    if not 0 < duration <= _MAX_DURATION or duration != int(duration):
        raise OggError(f"a packet of {duration:g} ms")
    return int(duration)
