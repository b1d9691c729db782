"""Why media cannot be played."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from homeassistant.exceptions import HomeAssistantError

from ..const import DOMAIN
from ..protocol.audio.media import MediaError, MediaFault
from ..protocol.audio.playlist import PlaylistError, PlaylistFault

__all__ = ["MediaProblem", "PlaybackError", "media_problem"]


class MediaProblem(StrEnum):
    """What is wrong with the media. The values are translation keys."""

    UNSUPPORTED = "media_unsupported"
    UNREADABLE = "media_unreadable"
    SPEECH_FAILED = "media_speech_failed"
    # The server.
    UNREACHABLE = "media_unreachable"
    UNKNOWN_SERVER = "media_unknown_server"
    BAD_CERTIFICATE = "media_bad_certificate"
    NO_ANSWER = "media_no_answer"
    NO_WEB_SERVER = "media_no_web_server"
    REFUSED = "media_refused"
    TOO_MANY_REDIRECTS = "media_too_many_redirects"
    NO_PARTS = "media_no_parts"
    # What it sends.
    EMPTY = "media_empty"
    NO_AUDIO = "media_no_audio"
    UNDECODABLE = "media_undecodable"
    PLAYLIST_BAD_ENTRY = "media_playlist_bad_entry"
    PLAYLIST_CHANGED = "media_playlist_changed"
    PLAYLIST_EMPTY = "media_playlist_empty"
    PLAYLIST_ENCRYPTED = "media_playlist_encrypted"
    PLAYLIST_NESTED = "media_playlist_nested"
    PLAYLIST_TOO_LARGE = "media_playlist_too_large"
    # While it is played.
    LATE = "media_late"
    STALLED = "media_stalled"
    BROKE_OFF = "media_broke_off"
    STOPPED = "media_stopped"


_PROBLEMS: Final[Mapping[MediaFault | PlaylistFault, MediaProblem]] = {
    MediaFault.EMPTY: MediaProblem.EMPTY,
    MediaFault.NO_AUDIO: MediaProblem.NO_AUDIO,
    MediaFault.UNDECODABLE: MediaProblem.UNDECODABLE,
    PlaylistFault.BAD_ENTRY: MediaProblem.PLAYLIST_BAD_ENTRY,
    PlaylistFault.EMPTY: MediaProblem.PLAYLIST_EMPTY,
    PlaylistFault.ENCRYPTED: MediaProblem.PLAYLIST_ENCRYPTED,
    PlaylistFault.TOO_LARGE: MediaProblem.PLAYLIST_TOO_LARGE,
}


class PlaybackError(HomeAssistantError):
    """Media that cannot be played, or not to their end."""

    def __init__(self, problem: MediaProblem, media: str, **placeholders: str) -> None:
        """Tell about `media`, by a name without secrets."""
        super().__init__(
            translation_domain=DOMAIN,
            translation_key=problem.value,
            translation_placeholders={"media": media, **placeholders},
        )
        self.problem = problem


def media_problem(err: MediaError | PlaylistError) -> MediaProblem:
    """Return the problem that reading media has shown."""
    return _PROBLEMS[err.fault]
