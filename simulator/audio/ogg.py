"""Ogg Opus as the device reads it: one mono stream. Source: the firmware's `ogg_demuxer.cc`."""

from collections.abc import Iterator
from dataclasses import dataclass
import struct
from typing import Final

from ..board.profile import OggReader
from .opus import OpusError, packet_duration

__all__ = ["OggDemuxer", "OggError", "OggPacket"]

_CAPTURE: Final = b"OggS"
_HEADER: Final = 27
_MAX_PACKET: Final = 2048
_MAX_DURATION: Final = 120
_RATES: Final = frozenset({8000, 12000, 16000, 24000, 48000})
_OTHER_RATE: Final = 48000
_HEAD_BYTES: Final = 19
_CONTINUED: Final = 1
_FIRST: Final = 2
_LAST: Final = 4
_NO_GRANULE: Final = 2**64 - 1
_SAMPLES_PER_MS: Final = 48
# Durations of packets that the strict reader accepts: those that the decoder can decode.
_DECODABLE: Final = frozenset({5, 10, 20, 40, 60, 80, 100, 120})


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


@dataclass(frozen=True, slots=True)
class _Page:
    flags: int
    granule: int
    serial: int
    sequence: int
    checksum: int
    header: bytes


class OggDemuxer:
    """Cuts a stream into packets."""

    def __init__(self, reader: OggReader) -> None:
        """Begin before the first page."""
        self._reader = reader
        self._data = bytearray()
        self._page: _Page | None = None
        self._lacing = b""
        self._segment = 0
        self._packet = bytearray()
        self._open = False
        """Whether the packet goes on in the next segment."""
        self._rate = 0
        self._head = False
        self._tags = False
        self._packets = 0
        self._checks = _StrictChecks() if reader is OggReader.STRICT else None

    def feed(self, data: bytes) -> Iterator[OggPacket]:
        """Take bytes and return the packets that are complete with them. Raises `OggError`."""
        self._data += data
        while True:
            if self._page is None:
                if not self._read_page_header():
                    return
            elif self._segment < len(self._lacing):
                size = self._lacing[self._segment]
                # The old reader looks for the end of a packet only when more bytes follow.
                needed = 1 if size == 0 and self._reader is OggReader.OLD else size
                if len(self._data) < needed:
                    return
                packet = self._read_segment(size)
                if packet is None:
                    continue
                if self._checks is None:
                    yield packet
                else:
                    self._checks.held.append(packet)
            else:
                if self._checks is not None:
                    yield from self._checks.end_page(self._page, open_packet=self._open)
                self._page = None

    def finish(self) -> None:
        """Note the end of the input. Raises `OggError` if the stream is not complete."""
        if not self._packets:
            raise OggError("there is no audio packet")
        if self._page is not None or self._data or self._packet:
            raise OggError("it ends inside a page or packet")
        if self._checks is not None:
            self._checks.finish()

    def _read_page_header(self) -> bool:
        if not self._find_capture() or len(self._data) < _HEADER:
            return False
        count = self._data[26]
        if self._data[4] != 0:
            raise OggError(f"version {self._data[4]} of Ogg")
        if len(self._data) < _HEADER + count:
            return False
        header = bytes(self._data[: _HEADER + count])
        del self._data[: _HEADER + count]
        _, flags, granule, serial, sequence, checksum = struct.unpack_from("<BBQIII", header, 4)
        self._page = _Page(flags, granule, serial, sequence, checksum, header)
        self._lacing, self._segment = header[_HEADER:], 0
        if self._checks is not None:
            self._checks.begin_page(self._page, tags=self._tags, head=self._head, open_packet=self._open)
        return True

    def _find_capture(self) -> bool:
        """Skip bytes before a page, which the strict reader refuses; up to three may be its beginning."""
        if self._checks is not None and not _CAPTURE.startswith(self._data[: len(_CAPTURE)]):
            raise OggError("bytes that belong to no page")
        start = self._data.find(_CAPTURE)
        del self._data[: max(0, len(self._data) - len(_CAPTURE) + 1) if start < 0 else start]
        return start >= 0

    def _read_segment(self, size: int) -> OggPacket | None:
        """Return the packet that ends with this segment, if it is one of sound."""
        if len(self._packet) + size > _MAX_PACKET:
            raise OggError(f"a packet of more than {_MAX_PACKET} bytes")
        body = bytes(self._data[:size])
        del self._data[:size]
        if self._checks is not None:
            self._checks.body(body)
        self._packet += body
        self._segment += 1
        self._open = size == 255
        if self._open:
            return None
        packet = bytes(self._packet)
        self._packet.clear()
        return self._completed(packet)

    def _completed(self, packet: bytes) -> OggPacket | None:
        if self._checks is not None:
            self._checks.completed(packet, tags=self._tags, head=self._head)
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


class _StrictChecks:
    """The checks that only the strict reader makes, page by page, before any packet of a page is played."""

    def __init__(self) -> None:
        self.held: list[OggPacket] = []
        """The packets of the page, until it is known to be correct."""
        self._serial: int | None = None
        self._sequence = 0
        self._ended = False
        self._granule: int | None = None
        self._pre_skip = 0
        self._checksum = 0
        self._completed = 0
        self._stage = "head"
        """Which part of the stream the page began with."""
        self._has_tags = False

    def begin_page(self, page: _Page, *, head: bool, tags: bool, open_packet: bool) -> None:
        first = self._serial is None
        if self._ended:
            raise OggError("a page after the end of the stream")
        if bool(page.flags & _FIRST) != first:
            raise OggError("another stream" if page.flags & _FIRST else "a stream without its first page")
        if not first and page.serial != self._serial:
            raise OggError("another serial number")
        if page.sequence != self._sequence:
            raise OggError(f"page {page.sequence} where {self._sequence} is due")
        if bool(page.flags & _CONTINUED) != open_packet:
            raise OggError("a wrong flag for a continued packet")
        self._serial = page.serial
        self._sequence += 1
        self._stage = "audio" if tags else "tags" if head else "head"
        self._completed = 0
        self._has_tags = False
        self._checksum = _crc(0, page.header[:22] + bytes(4) + page.header[26:])

    def body(self, data: bytes) -> None:
        self._checksum = _crc(self._checksum, data)

    def completed(self, packet: bytes, *, head: bool, tags: bool) -> None:
        self._completed += 1
        if not head:
            if len(packet) != _HEAD_BYTES or not packet.startswith(b"OpusHead\x01") or packet[18]:
                raise OggError("a head of another form than the device reads")
            self._pre_skip = int.from_bytes(packet[10:12], "little")
        elif not tags:
            _check_tags(packet)
            self._has_tags = True
        elif not packet:
            raise OggError("an empty packet")
        elif (duration := _duration(packet)) not in _DECODABLE:
            raise OggError(f"a packet of {duration} ms")

    def end_page(self, page: _Page, *, open_packet: bool) -> list[OggPacket]:
        """Return the packets of the page."""
        if self._checksum != page.checksum:
            raise OggError("a wrong check sum")
        last = bool(page.flags & _LAST)
        if self._stage == "head" or self._has_tags:
            if self._completed != 1 or open_packet or page.granule:
                raise OggError("head or tags share a page, or have a position")
        elif self._completed == 0:
            if last or page.granule != _NO_GRANULE:
                raise OggError("a position on a page that ends no packet")
        else:
            self._check_granule(page.granule, sum(packet.duration for packet in self.held), last=last)
        self._ended = last
        held, self.held = self.held, []
        return held

    def _check_granule(self, granule: int, milliseconds: int, *, last: bool) -> None:
        samples = milliseconds * _SAMPLES_PER_MS
        before, self._granule = self._granule, granule
        if before is None:
            wrong = granule < (self._pre_skip if last else samples)
        elif last:
            wrong = not max(before, self._pre_skip) <= granule <= before + samples
        else:
            wrong = granule < before + samples
        if wrong or granule == _NO_GRANULE:
            raise OggError(f"position {granule} after {before} and {samples} samples")

    def finish(self) -> None:
        if not self._ended:
            raise OggError("it has no last page")


def _check_tags(packet: bytes) -> None:
    try:
        if not packet.startswith(b"OpusTags"):
            raise OggError("no tags after the head")
        position = 12 + struct.unpack_from("<I", packet, 8)[0]
        count = struct.unpack_from("<I", packet, position)[0]
        position += 4
        for _ in range(min(count, len(packet))):
            position += 4 + struct.unpack_from("<I", packet, position)[0]
    except struct.error as err:
        raise OggError("tags that are cut off") from err
    if position > len(packet):
        raise OggError("tags that are cut off")


def _duration(packet: bytes) -> int:
    """Return whole milliseconds. Raises `OggError`."""
    try:
        duration = packet_duration(packet)
    except OpusError as err:
        raise OggError(str(err)) from err
    if not 0 < duration <= _MAX_DURATION or duration != int(duration):
        raise OggError(f"a packet of {duration:g} ms")
    return int(duration)


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1) ^ (0x04C11DB7 if value & 0x80000000 else 0)
        table.append(value & 0xFFFFFFFF)
    return tuple(table)


_CRC: Final = _crc_table()


def _crc(value: int, data: bytes) -> int:
    for byte in data:
        value = (value << 8 & 0xFFFFFFFF) ^ _CRC[value >> 24 ^ byte]
    return value
