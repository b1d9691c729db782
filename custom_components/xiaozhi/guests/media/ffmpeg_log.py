"""Media information in the log of ffmpeg: title, station, length and errors. All of it is untrusted."""

from ipaddress import ip_address
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
_CONNECTION: Final = re.compile(
    r"\[tcp @ \w{1,20}] \[verbose] (Starting|Successfully)[ a-z]{1,30} ([0-9a-f.:]{2,45})[% ]"
)
# Enough for the variants of a station and the first parts of each.
_MAX_OPENED: Final = 60
# An address may contain a password or a token.
_ADDRESS: Final = re.compile(r"https?:\S*|file:.*")


class FfmpegLog:
    """Follows the log of one ffmpeg process."""

    def __init__(self) -> None:
        self._tags: dict[str, str] = {}
        self._output = False
        self._error = ""
        self._public: bool | None = None
        """Whether the media come from the internet."""
        self._opened = 0
        """Parts that were opened since there was sound."""
        self.refused = False
        """Whether the media reach into the home network from outside, or open much without a sound."""
        self.broken_off = False
        """Whether the connection has broken off."""
        self.song = ""
        """Title that a radio station plays now."""
        self.seconds: float | None = None
        """Length of the media; None if they are live, or it is unknown."""

    def heard(self) -> None:
        """Note that there is sound."""
        self._opened = 0

    def take(self, line: str) -> bool:
        """Take a line; return whether it changes the facts about the media."""
        if self.refused:
            return False
        if not self._output and (tag := _TAG.match(line)):
            # The title of the whole comes first, then those of its parts.
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
        self._follow_input(line)
        return False

    def _follow_input(self, line: str) -> None:
        if error := _ERROR.match(line):
            self._error = error[1]
            self.broken_off = self.broken_off or _BROKEN_OFF in error[1]
        elif _NEXT_SEGMENT in line:
            self.broken_off = False
            self._opened += 1
            if self._opened > _MAX_OPENED:
                self._refuse("the playlist has no sound")
        elif connection := _CONNECTION.match(line):
            public = is_public(connection[2])
            if self._public and not public:
                self._refuse("a server on the internet leads into the home network")
            elif self._public is None and connection[1] == "Successfully":
                self._public = public

    def _refuse(self, reason: str) -> None:
        self.refused, self._error = True, reason

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


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet."""
    try:
        return ip_address(address).is_global
    except ValueError:
        return False
