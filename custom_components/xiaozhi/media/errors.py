"""Why media cannot be played."""

from enum import StrEnum

from homeassistant.exceptions import HomeAssistantError

from ..const import DOMAIN
from ..protocol.text import one_line

__all__ = ["MediaProblem", "PlaybackError"]

_MAX_REASON = 200


class MediaProblem(StrEnum):
    """What is wrong with the media. The values are translation keys."""

    UNSUPPORTED = "media_unsupported"
    UNREACHABLE = "media_unreachable"
    REFUSED = "media_refused"
    NO_AUDIO = "media_no_audio"
    NO_PLAYLIST = "media_no_playlist"
    SPEECH_FAILED = "media_speech_failed"
    STALLED = "media_stalled"
    BROKE_OFF = "media_broke_off"
    STOPPED = "media_stopped"


class PlaybackError(HomeAssistantError):
    """Media that cannot be played, or not to their end."""

    def __init__(self, problem: MediaProblem, media: str, reason: str = "") -> None:
        """Tell about `media`, by a name without secrets. The reason is in English, and untrusted."""
        super().__init__(
            translation_domain=DOMAIN,
            translation_key=problem.value,
            translation_placeholders={"media": media, "reason": one_line(reason, _MAX_REASON)},
        )
        self.problem = problem
