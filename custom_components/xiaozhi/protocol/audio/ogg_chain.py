"""The songs of an Ogg stream: internet radio chains a complete Ogg stream for each (RFC 3533, section 4)."""

from collections.abc import Callable, Iterator
from typing import Final, Protocol

__all__ = ["ByteStream", "OggSong", "is_ogg", "ogg_songs"]

_MAGIC: Final = b"OggS"
_HEADER: Final = 27
_FLAGS_AT: Final = 5
_BEGINS: Final = 0x02


class ByteStream(Protocol):
    """A stream that is read once, from its beginning to its end."""

    name: str

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; nothing at the end."""

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes without taking them; fewer only if the stream ends before."""


class OggSong:
    """One song, as a stream of its own."""

    def __init__(self, name: str, next_page: Callable[[], bytes]) -> None:
        """Read pages from `next_page`, which returns nothing at the end of the song."""
        self.name = name
        self._next_page = next_page
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; nothing at the end."""
        waiting = self._waiting or self._next_page()
        self._waiting = waiting[size:]
        return waiting[:size]


def is_ogg(stream: ByteStream) -> bool:
    """Whether a stream is Ogg."""
    return stream.peek(len(_MAGIC)) == _MAGIC


def ogg_songs(stream: ByteStream) -> Iterator[OggSong]:
    """Yield song after song. Each must be read before the next; what is left of it is skipped."""
    pages = _Pages(stream)
    while pages.start_song():
        yield OggSong(stream.name, pages.take)
        while pages.take():
            pass


class _Pages:
    """Takes page after page, none before it is asked for: more may be long in coming."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._has_data = False
        self._put_back: bytes | None = None

    def start_song(self) -> bool:
        self._has_data = False
        if self._put_back is None:
            self._put_back = _read_page(self._stream)
        return bool(self._put_back)

    def take(self) -> bytes:
        """Return the next page of this song; nothing at its end."""
        page = _read_page(self._stream) if self._put_back is None else self._put_back
        begins = bool(page) and bool(page[_FLAGS_AT] & _BEGINS)
        # All streams of a song begin before its first other page.
        self._put_back = page if not page or (begins and self._has_data) else None
        if self._put_back is not None:
            return b""
        self._has_data = self._has_data or not begins
        return page


def _read_page(stream: ByteStream) -> bytes:
    """Return the next page, behind any damage; nothing at the end of the stream."""
    while (start := stream.peek(_HEADER))[: len(_MAGIC)] != _MAGIC:
        if len(start) < _HEADER:
            return b""
        found = start.find(_MAGIC, 1)
        _read_exactly(stream, found if found > 0 else len(start) - len(_MAGIC) + 1)
    if len(start) < _HEADER:
        return b""
    segments = start[-1]
    head = stream.peek(_HEADER + segments)
    return _read_exactly(stream, _HEADER + segments + sum(head[_HEADER:]))


def _read_exactly(stream: ByteStream, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data
