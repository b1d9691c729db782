"""Ogg Opus, made while the sound arrives, read by a strict reader and by FFmpeg."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
import io
import struct
from typing import Final

import av
from hypothesis import given, settings, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.audio.opus_codec import opus_samples, resampled
from custom_components.xiaozhi.protocol.messages import DOWNLINK
from tests.protocol.audio.sounds import hiss, level, pitch_level, tone

RATE = DOWNLINK.sample_rate
LAST_PACKET = bytes.fromhex("db03fffefffefffe")
_HEADER: Final = struct.Struct("<4sBBqIIIB")
_CONTINUED, _BEGIN, _END = 1, 2, 4


@dataclass(frozen=True)
class OggStream:
    """What a whole stream holds."""

    sample_rate: int
    packets: list[bytes]
    pages: int


def read_ogg(data: bytes) -> OggStream:
    """Read one stream. Fails at the first fault: whatever a demuxer may refuse (RFC 3533, RFC 7845)."""
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
    return OggStream(struct.unpack_from("<I", head, 12)[0], packets, number)


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


async def encoded(pieces: Iterable[bytes], encoder: OggOpusEncoder | None = None) -> list[bytes]:
    """Return the pages, as they come."""

    async def speech() -> AsyncGenerator[bytes]:
        for piece in pieces:
            yield piece

    return [pages async for pages in (encoder or OggOpusEncoder()).encode_all(speech())]


def decoded(file: bytes) -> bytes:
    """Decode a file with FFmpeg to PCM of 48 kHz."""
    with av.open(io.BytesIO(file)) as container:
        resampler = av.AudioResampler(format="s16", layout="mono")
        frames = [new for frame in container.decode(audio=0) for new in resampler.resample(frame)]
        return b"".join(bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(0, 9000), max_size=12))
async def test_any_sound_gives_a_strictly_correct_file_of_equal_packets(sizes: list[int]) -> None:
    encoder = OggOpusEncoder()
    sound = hiss(5, RATE)
    position, pieces = 0, []
    for size in sizes:
        pieces.append(sound[position : position + size])
        position += size
    stream = read_ogg(b"".join(await encoded(pieces, encoder)))
    assert stream.sample_rate == 24000
    assert stream.packets[-1] == LAST_PACKET
    frames = position / (2 * DOWNLINK.frame_samples)
    assert frames < len(stream.packets) <= frames + 3
    assert encoder.seconds == pytest.approx(len(stream.packets) * 0.06)
    # One page for each packet, so that none waits for another.
    assert stream.pages == len(stream.packets) + 2


async def test_the_sound_comes_out_as_it_went_in_to_its_end() -> None:
    pcm = decoded(b"".join(await encoded([tone(1.0, RATE)])))
    assert pitch_level(pcm[2 * 4800 : 2 * 43200], 48000, 440) == pytest.approx(8000, rel=0.1)
    assert level(pcm[2 * 46500 : 2 * 47900]) > 4000
    assert level(pcm[2 * 49500 :]) < 300


async def test_a_page_is_out_when_one_more_packet_is_there() -> None:
    pages = await encoded([tone(0.06, RATE)] * 20)
    assert [page.count(b"OggS") for page in pages[:-1]] == [2, *[1] * (len(pages) - 2)]


async def test_sound_is_encoded_while_it_arrives_and_no_faster_than_asked_for() -> None:
    taken = 0

    async def speak() -> AsyncGenerator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield tone(0.24, RATE)

    async with aclosing(speak()) as speech, aclosing(OggOpusEncoder().encode_all(speech)) as pages:
        for expected in range(1, 6):
            assert b"OggS" in await anext(pages)
            assert taken == expected


def test_a_recording_becomes_a_file_of_its_length_and_sound() -> None:
    """Half a MiB is enough for a minute of anything."""
    sound = hiss(15, 16000)
    raised = resampled(sound, 16000, RATE)
    assert len(raised) == pytest.approx(1.5 * len(sound), rel=0.001)
    file = OggOpusEncoder().encode_whole(raised)
    assert len(read_ogg(file).packets) == pytest.approx(15 / 0.06, abs=3)
    assert len(file) < 512 * 1024 * 15 / 60
    sound = decoded(OggOpusEncoder().encode_whole(resampled(tone(1.0, 16000), 16000, RATE)))
    assert pitch_level(sound[2 * 4800 : 2 * 43200], 48000, 440) == pytest.approx(8000, rel=0.1)
