"""Ogg streams of several songs."""

import asyncio
from collections.abc import AsyncIterator

from hypothesis import given, strategies as st

from custom_components.xiaozhi.protocol.audio.media import Tags, decode_media
from custom_components.xiaozhi.protocol.audio.ogg_chain import is_ogg, ogg_songs
from tests.protocol.audio.sounds import make_media, tone

RATE = 24000
SHORT_PAGES = {"page_duration": "20000"}
SONGS = [
    make_media("ogg", "libopus", tone(0.5, RATE), RATE, title=title, options=SHORT_PAGES)
    for title in ("One", "Two", "Three")
]


class Stream:
    """Bytes that are read once."""

    name = ""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes."""
        data, self.data = self.data[:size], self.data[size:]
        return data

    def peek(self, size: int) -> bytes:
        """Return the next bytes."""
        return self.data[:size]


def read_all(data: bytes, size: int = 1000) -> list[bytes]:
    """Return the songs of a stream."""
    songs = []
    for song in ogg_songs(Stream(data)):
        pieces = []
        while piece := song.read(size):
            pieces.append(piece)
        songs.append(b"".join(pieces))
    return songs


def test_each_song_is_a_stream_of_its_own() -> None:
    assert is_ogg(Stream(SONGS[0]))
    assert not is_ogg(Stream(b"ID3"))
    assert read_all(b"".join(SONGS)) == SONGS
    assert read_all(SONGS[0], 1) == SONGS[:1]


def test_the_rest_of_a_song_that_nobody_reads_is_skipped() -> None:
    assert [song.read(4) for song in ogg_songs(Stream(b"".join(SONGS)))] == [b"OggS"] * 3


def test_damage_between_pages_is_skipped_and_half_a_page_ends_the_stream() -> None:
    damaged = b"".join([SONGS[0], b"\x00rubbish Ogg Og O" * 5, SONGS[1]])
    assert read_all(damaged) == SONGS[:2]
    assert read_all(SONGS[0] + SONGS[1][:20]) == SONGS[:1]


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_damage_ends_in_anything_but_an_end(rubbish: bytes, at: int) -> None:
    data = SONGS[0][:at] + rubbish + SONGS[1]
    assert sum(map(len, read_all(data))) <= len(data)


async def test_a_page_is_not_kept_back_until_the_next_one_has_come() -> None:
    # All but the last page of the first song, and then nothing more.
    data = SONGS[0][: SONGS[0].rindex(b"OggS")]

    async def stalling() -> AsyncIterator[bytes]:
        yield data
        await asyncio.Event().wait()

    told: list[Tags] = []
    decoded = decode_media(stalling(), sample_rate=RATE, extension="ogg", on_tags=told.append)
    async with asyncio.timeout(5):
        assert await anext(decoded)
    await decoded.aclose()
    assert [tags.title for tags in told] == ["One"]
