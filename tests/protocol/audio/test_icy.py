"""Titles between the sound of internet radio."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.icy import IcyTitles


def titled(title: bytes) -> bytes:
    """Return what stands between two pieces of sound."""
    blocks = -(-len(title) // 16)
    return bytes([blocks]) + title.ljust(16 * blocks, b"\0")


@given(st.integers(1, 40), st.integers(1, 50), st.binary(max_size=200))
def test_the_sound_comes_out_whole_with_any_interval_and_any_pieces(
    interval: int, piece: int, sound: bytes
) -> None:
    stream = b"".join(
        sound[at : at + interval] + (titled(b"StreamTitle='A';") if at % 3 == 0 else b"\0")
        for at in range(0, len(sound), interval)
    )
    titles: list[str] = []
    icy = IcyTitles(interval, titles.append)
    taken = b"".join(icy.take(stream[at : at + piece]) for at in range(0, len(stream), piece))
    assert taken[: len(sound)] == sound
    assert set(titles) <= {"A"}


@pytest.mark.parametrize(
    ("sent", "title"),
    [
        (b"StreamTitle='Miles Davis - So What';StreamUrl='';", "Miles Davis - So What"),
        (b"StreamTitle='It's me; or not';", "It's me; or not"),
        (b"StreamTitle='Bj\xc3\xb6rk'", "Björk"),
        (b"StreamTitle='Bj\xf6rk';", "Björk"),
        (b"StreamTitle='';", ""),
    ],
)
def test_a_title_is_read_in_both_usual_encodings(sent: bytes, title: str) -> None:
    titles: list[str] = []
    assert IcyTitles(2, titles.append).take(b"ab" + titled(sent) + b"cd") == b"abcd"
    assert titles == [title]


def test_other_news_are_no_title() -> None:
    titles: list[str] = []
    IcyTitles(1, titles.append).take(b"a" + titled(b"StreamUrl='http://radio.example';") + b"b\0")
    assert titles == []
