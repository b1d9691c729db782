"""Playlists: M3U and PLS, as internet radio uses them, and those of HTTP Live Streaming (RFC 8216)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from math import isfinite
import re
from typing import Final
from urllib.parse import urljoin, urlsplit

__all__ = [
    "ByteRange",
    "HlsPlaylist",
    "HlsVariants",
    "PlaylistEntry",
    "PlaylistError",
    "PlaylistFault",
    "Resource",
    "Segment",
    "SongList",
    "is_playlist",
    "parse_playlist",
]

_MAX_ENTRIES: Final = 2000
# Seconds, of a segment.
_LONGEST: Final = 3600.0
# More brings nothing on a small mono loudspeaker.
_BEST_BANDWIDTH: Final = 160_000
_HLS: Final = "#EXT-X-"
_BEGINNINGS: Final = (b"#EXTM3U", b"[playlist]", b"[Playlist]", b"[PLAYLIST]")
_MEDIA_TYPES: Final = frozenset(
    {
        "application/vnd.apple.mpegurl",
        "application/x-mpegurl",
        "audio/mpegurl",
        "audio/x-mpegurl",
        "audio/x-scpls",
        "application/pls+xml",
    }
)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_ATTRIBUTE: Final = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^,]*)')
_PLS_ENTRY: Final = re.compile(r"(File|Title|Length)(\d{1,4})\s*=\s*(.*)", re.IGNORECASE)
_PICTURE_CODECS: Final = ("avc", "hvc", "hev", "av01", "vp0", "dvh")


class PlaylistFault(Enum):
    """What is wrong with a playlist."""

    BAD_ENTRY = auto()
    """An entry is not an http or https address."""
    EMPTY = auto()
    ENCRYPTED = auto()
    TOO_LARGE = auto()


class PlaylistError(Exception):
    """A playlist that cannot be played."""

    def __init__(self, fault: PlaylistFault) -> None:
        super().__init__(fault.name)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class PlaylistEntry:
    """One song or station."""

    address: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class SongList:
    """Songs or stations."""

    entries: tuple[PlaylistEntry, ...]


@dataclass(frozen=True, slots=True)
class HlsVariants:
    """The same in several qualities."""

    best: str
    """Address of the playlist that suits a small mono loudspeaker."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a file, in bytes."""

    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A file or a part of one."""

    address: str
    part: ByteRange | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Some seconds of a stream."""

    resource: Resource
    seconds: float
    head: Resource | None = None
    """What a decoder needs before it, once."""
    breaks: bool = False
    """Whether a new stream begins with it."""


@dataclass(frozen=True, slots=True)
class HlsPlaylist:
    """A stream in segments."""

    segments: tuple[Segment, ...]
    first_number: int
    target: float
    """Upper bound of a segment's seconds."""
    complete: bool
    """Whether no segments will follow."""


type Playlist = SongList | HlsVariants | HlsPlaylist


def is_playlist(media_type: str, address: str, beginning: bytes) -> bool:
    """Whether a file is a playlist, by its type, its address and its first bytes."""
    if beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_BEGINNINGS):
        return True
    named = urlsplit(address).path.lower().endswith((".m3u", ".m3u8", ".pls"))
    if media_type.lower() not in _MEDIA_TYPES and not named:
        return False
    # Some servers call a stream of sound by the type or name of its playlist.
    return bool(beginning) and _CONTROL.search(beginning) is None


def parse_playlist(text: str, address: str) -> Playlist:
    """Read the playlist that was found at an address. Raises `PlaylistError`."""
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    lines = [line for line in lines if line]
    if lines and lines[0].lower() == "[playlist]":
        return SongList(tuple(_pls_entries(lines, address)))
    if not any(line.startswith(_HLS) for line in lines):
        return SongList(tuple(_m3u_entries(lines, address)))
    if any(line.startswith("#EXT-X-STREAM-INF") for line in lines):
        return _parse_variants(lines, address)
    return _HlsParser(address).parse(lines)


def _resolve(address: str, base: str) -> str:
    """Return the address of an entry. Raises `PlaylistError` if it is not http or https."""
    try:
        resolved = urljoin(base, address)
        if urlsplit(resolved).scheme in ("http", "https") and urlsplit(resolved).hostname:
            return resolved
    except ValueError:
        pass
    raise PlaylistError(PlaylistFault.BAD_ENTRY)


def _pls_entries(lines: list[str], address: str) -> Iterator[PlaylistEntry]:
    files: dict[int, str] = {}
    titles: dict[int, str] = {}
    for line in lines:
        if match := _PLS_ENTRY.fullmatch(line):
            kind, number, value = match[1].lower(), int(match[2]), match[3]
            if kind == "file":
                files[number] = value
            elif kind == "title":
                titles[number] = value
    for number in sorted(files)[:_MAX_ENTRIES]:
        yield PlaylistEntry(_resolve(files[number], address), titles.get(number, ""))


def _m3u_entries(lines: list[str], address: str) -> Iterator[PlaylistEntry]:
    title = ""
    count = 0
    for line in lines:
        if line.startswith("#EXTINF:"):
            title = line.partition(",")[2].strip()
        elif not line.startswith("#"):
            yield PlaylistEntry(_resolve(line, address), title)
            title = ""
            count += 1
            if count == _MAX_ENTRIES:
                return


def _attributes(line: str) -> Mapping[str, str]:
    return {match[1]: match[2].strip('"') for match in _ATTRIBUTE.finditer(line.partition(":")[2])}


def _parse_variants(lines: list[str], address: str) -> HlsVariants:
    voices: dict[str, str] = {}
    variants: list[tuple[bool, int, Mapping[str, str], str]] = []
    waiting: Mapping[str, str] | None = None
    for line in lines:
        if line.startswith("#EXT-X-MEDIA:"):
            media = _attributes(line)
            if media.get("TYPE") == "AUDIO" and "URI" in media:
                group = media.get("GROUP-ID", "")
                if group not in voices or media.get("DEFAULT") == "YES":
                    voices[group] = media["URI"]
        elif line.startswith("#EXT-X-STREAM-INF:"):
            waiting = _attributes(line)
        elif not line.startswith("#") and waiting is not None and len(variants) < _MAX_ENTRIES:
            has_pictures = "RESOLUTION" in waiting or any(
                codec in waiting.get("CODECS", "") for codec in _PICTURE_CODECS
            )
            variants.append((has_pictures, _whole(waiting.get("BANDWIDTH", "")), waiting, line))
            waiting = None
    if not variants:
        raise PlaylistError(PlaylistFault.EMPTY)
    # Sound alone, of the best quality that can be heard; or else the smallest.
    _, _, chosen, found = min(
        variants, key=lambda variant: (variant[0], variant[1] > _BEST_BANDWIDTH, _distance(*variant[:2]))
    )
    return HlsVariants(_resolve(voices.get(chosen.get("AUDIO", ""), found), address))


def _distance(has_pictures: bool, bandwidth: int) -> int:
    if has_pictures or bandwidth > _BEST_BANDWIDTH:
        return bandwidth
    return _BEST_BANDWIDTH - bandwidth


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), _LONGEST) if isfinite(seconds) else 0.0


@dataclass
class _HlsParser:
    """Reads a media playlist line by line."""

    address: str
    segments: list[Segment] = field(default_factory=list)
    first_number: int = 0
    target: float = 10.0
    complete: bool = False
    _seconds: float = 0.0
    _part: str | None = None
    _part_end: int = 0
    _head: Resource | None = None
    _breaks: bool = False

    def parse(self, lines: list[str]) -> HlsPlaylist:
        for line in lines:
            if not line.startswith("#"):
                self._add(line)
                if len(self.segments) == _MAX_ENTRIES:
                    break
            else:
                self._take(line)
        return HlsPlaylist(tuple(self.segments), self.first_number, self.target, self.complete)

    def _take(self, line: str) -> None:
        tag, _, value = line.partition(":")
        match tag:
            case "#EXTINF":
                self._seconds = _seconds(value.partition(",")[0])
            case "#EXT-X-TARGETDURATION":
                self.target = max(_seconds(value), 1.0)
            case "#EXT-X-MEDIA-SEQUENCE":
                self.first_number = _whole(value)
            case "#EXT-X-ENDLIST":
                self.complete = True
            case "#EXT-X-DISCONTINUITY":
                self._breaks = True
            case "#EXT-X-BYTERANGE":
                self._part = value
            case "#EXT-X-MAP":
                self._head = self._read_head(_attributes(line))
            case "#EXT-X-KEY" if _attributes(line).get("METHOD") != "NONE":
                raise PlaylistError(PlaylistFault.ENCRYPTED)

    def _add(self, line: str) -> None:
        part = None
        if self._part is not None:
            part = _byte_range(self._part, self._part_end)
            self._part_end = part.start + part.length
        self.segments.append(
            Segment(Resource(_resolve(line, self.address), part), self._seconds, self._head, self._breaks)
        )
        self._part, self._breaks, self._seconds = None, False, 0.0

    def _read_head(self, attributes: Mapping[str, str]) -> Resource:
        part = attributes.get("BYTERANGE")
        return Resource(
            _resolve(attributes.get("URI", ""), self.address), None if part is None else _byte_range(part, 0)
        )


def _byte_range(text: str, start: int) -> ByteRange:
    length, _, offset = text.partition("@")
    return ByteRange(_whole(offset) if offset else start, _whole(length))
