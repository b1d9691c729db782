"""A server's `notify` and its outcome. Source: the firmware's `application.cc`."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ..audio.speaker import Played
from ..board.cjson import JsonObject, find, is_number

_MAX_START: Final = 2**32 - 1


class Outcome(StrEnum):
    """Outcome of an announcement."""

    IGNORED = "ignored"
    PLAYING = "playing"
    PLAYED = "played"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Subtitle:
    """A text and when it is due."""

    start: int
    """Milliseconds of sound from the beginning of the file."""
    text: str


@dataclass(slots=True, kw_only=True)
class Announcement:
    """A `notify` that the device received. Times are seconds of the event loop."""

    message: JsonObject
    received: float
    url: str = ""
    subtitles: list[Subtitle] = field(default_factory=list)
    """Those without fault, in the order in which they are due."""
    outcome: Outcome | None = None
    """None until the main task has got to it."""
    reason: str = ""
    """Why it was ignored or failed, or what cancelled it."""
    began: float | None = None
    """When the device accepted it and began to play the pop-up sound."""
    ended: float | None = None
    read: int = 0
    """Bytes of the body that the device has read."""
    played: list[Played] = field(default_factory=list)
    """The frames of the file; the pop-up sound is not among them."""
    shown: list[tuple[float, str]] = field(default_factory=list)
    """The subtitles that the device has shown."""
    underruns: int = 0
    """How often the sound paused since the data came late."""

    @property
    def pcm(self) -> bytes:
        """The sound of the file: mono, 16 bits, at the loudspeaker's rate."""
        return b"".join(frame.pcm for frame in self.played)

    @property
    def over(self) -> bool:
        """Whether nothing will happen any more."""
        return self.outcome not in {None, Outcome.PLAYING}


def parse_notify(message: JsonObject) -> tuple[str, list[Subtitle]] | str:
    """Return the address and the subtitles; or why the firmware drops the message."""
    url = find(message, "audio_url")
    if not isinstance(url, str) or not url:
        return "audio_url is no text"
    given = find(message, "subtitles")
    if given is None and not any(name.lower() == "subtitles" for name in message):
        given = []
    if not isinstance(given, list):
        return "subtitles is no array"
    subtitles = [subtitle for entry in given if (subtitle := _subtitle(entry)) is not None]
    return url, sorted(subtitles, key=lambda subtitle: subtitle.start)


def _subtitle(entry: object) -> Subtitle | None:
    start, text = find(entry, "start_ms"), find(entry, "text")
    if not is_number(start) or not 0 <= start <= _MAX_START or not isinstance(text, str):
        return None
    return Subtitle(int(start), text)
