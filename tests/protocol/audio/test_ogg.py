"""Ogg Opus, made while the sound arrives, read by a strict reader and by FFmpeg."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
import io

import av
from hypothesis import given, settings, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.messages import DOWNLINK
from tests.protocol.audio.ogg_pages import read_ogg
from tests.protocol.audio.sounds import hiss, level, pitch_level, tone

RATE = DOWNLINK.sample_rate
LAST_PACKET = bytes.fromhex("db03fffefffefffe")


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


async def test_sound_is_encoded_while_it_arrives_and_no_faster_than_it_is_asked_for() -> None:
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
