"""Media information in the log of ffmpeg: title, station, length and errors. All of it is untrusted."""

import re
from typing import Final

_MAX_TEXT: Final = 500
_TAG: Final = re.compile(r"\[info\] {4,10}(title|artist|icy-name) *: (.+)", re.IGNORECASE)
_LENGTH: Final = re.compile(r"\[info\]   Duration: (\d{1,6}):(\d\d):(\d\d(?:\.\d+)?)")
_SONG: Final = "[verbose] Metadata update for StreamTitle: "
_ERROR: Final = re.compile(r".{0,200}\[(?:error|fatal)\] (.+)")
_END_OF_INPUT: Final = "[info] Output #"
_BROKEN_OFF: Final = "Stream ends prematurely"
_NEXT_SEGMENT: Final = "] Opening '"
# An address may contain a password or a token.
_ADDRESS: Final = re.compile(r"https?:\S*|file:.*")


class FfmpegLog:
    """Follows the log of one ffmpeg process."""

    def __init__(self) -> None:
        self._tags: dict[str, str] = {}
        self._output = False
        self._error = ""
        self.broken_off = False
        """Whether the connection has broken off."""
        self.song = ""
        """What a radio station plays now."""
        self.seconds: float | None = None
        """Length of the media; None if they are live, or it is unknown."""

    def take(self, line: str) -> bool:
        """Take a line; return whether it changes what is known of the media."""
        if not self._output and (tag := _TAG.match(line)):
            # That of the whole comes first, then those of its parts.
            return self._tags.setdefault(tag[1].lower(), tag[2][:_MAX_TEXT].strip()) != ""
        if not self._output and (length := _LENGTH.match(line)):
            self.seconds = 3600 * int(length[1]) + 60 * int(length[2]) + float(length[3])
            return True
        if line.startswith(_END_OF_INPUT):
            self._output = True
        _, found, song = line.partition(_SONG)
        if found:
            before, self.song = self.song, song[:_MAX_TEXT].strip()
            return self.song != before
        if error := _ERROR.match(line):
            self._error = error[1]
            self.broken_off = self.broken_off or _BROKEN_OFF in error[1]
        elif _NEXT_SEGMENT in line:
            self.broken_off = False
        return False

    @property
    def title(self) -> str:
        """The title that is part of the media."""
        title, artist = self._tags.get("title", ""), self._tags.get("artist", "")
        return f"{artist} - {title}" if artist and title else title

    @property
    def station(self) -> str:
        """Name of the radio station, if it is one."""
        return self._tags.get("icy-name", "")

    @property
    def error(self) -> str:
        """The last error, without addresses, for our log."""
        return _ADDRESS.sub("…", self._error)[:_MAX_TEXT]
