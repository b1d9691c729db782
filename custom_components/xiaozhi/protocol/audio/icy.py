"""The titles that internet radio sends between its sound (SHOUTcast, Icecast: `Icy-MetaData: 1`)."""

from collections.abc import Callable
import re
from typing import Final

__all__ = ["IcyTitles"]

# A length byte counts blocks of so many bytes.
_BLOCK: Final = 16
_TITLE: Final = re.compile(r"StreamTitle='(.*?)'(?:;|\0|$)", re.DOTALL)


class IcyTitles:
    """Takes the titles out of a stream that has one after each `interval` bytes of sound."""

    def __init__(self, interval: int, on_title: Callable[[str], None]) -> None:
        """Call `on_title` with each title, which is untrusted."""
        self._interval = interval
        self._on_title = on_title
        self._sound_left = interval
        self._title_left: int | None = None
        """Bytes that are missing of a title; None while its length is not known."""
        self._title = bytearray()

    def take(self, data: bytes) -> bytes:
        """Return the sound in a piece of the stream."""
        sound = bytearray()
        at = 0
        while at < len(data):
            if self._sound_left:
                piece = data[at : at + self._sound_left]
                sound += piece
                at += len(piece)
                self._sound_left -= len(piece)
            elif self._title_left is None:
                self._title_left = _BLOCK * data[at]
                at += 1
                self._finish_title()
            else:
                piece = data[at : at + self._title_left]
                self._title += piece
                at += len(piece)
                self._title_left -= len(piece)
                self._finish_title()
        return bytes(sound)

    def _finish_title(self) -> None:
        if self._title_left:
            return
        if match := _TITLE.search(_decode(bytes(self._title))):
            self._on_title(match[1])
        self._title.clear()
        self._title_left = None
        self._sound_left = self._interval


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
