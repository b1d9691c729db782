"""A strict reader of Ogg Opus: refuses whatever a demuxer may refuse (RFC 3533, RFC 7845)."""

from dataclasses import dataclass
import struct
from typing import Final

from custom_components.xiaozhi.protocol.audio.opus_packet import opus_samples

_HEADER: Final = struct.Struct("<4sBBqIIIB")
_CONTINUED, _BEGIN, _END = 1, 2, 4


@dataclass(frozen=True)
class OggStream:
    """What a whole stream holds."""

    sample_rate: int
    tags: bytes
    packets: list[bytes]
    pages: int
    granule: int


def read_ogg(data: bytes) -> OggStream:
    """Read one logical stream. Fails with an assertion at the first fault."""
    position = number = granule = 0
    serial: int | None = None
    ended = False
    heads: list[bytes] = []
    packets: list[bytes] = []
    while position < len(data):
        assert not ended, "something follows the last page"
        header = _HEADER.unpack_from(data, position)
        magic, version, flags, granule, page_serial, page_number, crc, count = header
        assert (magic, version) == (b"OggS", 0)
        lacing = data[position + _HEADER.size : position + _HEADER.size + count]
        end = position + _HEADER.size + count + sum(lacing)
        page = bytearray(data[position:end])
        page[22:26] = bytes(4)
        assert crc == _crc(page), "checksum"
        assert page_number == number, "page number"
        assert page_serial == (page_serial if serial is None else serial), "serial number"
        assert bool(flags & _BEGIN) == (number == 0), "begin flag"
        assert not flags & _CONTINUED, "a packet spans pages"
        assert lacing[-1] < 255, "a packet is open at the end of a page"
        found = _packets(lacing, data[end - sum(lacing) : end])
        if number < 2:
            assert len(found) == 1, "head and tags have pages of their own"
            assert granule == 0
            heads += found
        else:
            packets += found
            assert granule == sum(opus_samples(packet) or 0 for packet in packets), "granule position"
        serial, ended, position, number = page_serial, bool(flags & _END), end, number + 1
    assert ended, "the last page has no end flag"
    head, tags = heads
    assert head[:8] == b"OpusHead"
    assert len(head) == 19
    assert head[8:10] == bytes((1, 1)), "version 1, mono"
    assert head[18] == 0, "mapping family"
    assert tags[:8] == b"OpusTags"
    assert len(tags) < 255
    assert all(len(packet) <= 2048 for packet in packets)
    return OggStream(struct.unpack_from("<I", head, 12)[0], tags, packets, number, granule)


def _packets(lacing: bytes, body: bytes) -> list[bytes]:
    packets, size, start = [], 0, 0
    for value in lacing:
        size += value
        if value < 255:
            packets.append(body[start : start + size])
            start, size = start + size, 0
    return packets


def _crc(page: bytes | bytearray) -> int:
    """Return the checksum bit by bit, as the specification describes it."""
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ (0x04C11DB7 if crc & 0x80000000 else 0)
        crc &= 0xFFFFFFFF
    return crc
