"""Errors that end turns, of the pipeline or our own, and their texts for the screen."""

from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError

from ..texts.translated import async_text

NO_SPEECH: Final = "no-speech"
SPEECH_FAILED: Final = "speech-failed"
RECOGNITION_HANGS: Final = "stt-timeout"
ASSISTANT_HANGS: Final = "intent-timeout"
SPEECH_HANGS: Final = "tts-timeout"
FAILED: Final = "unknown"
RECOGNITION_FAILED: Final = "stt-stream-failed"
UNSUPPORTED_SPEECH: Final = "stt-provider-unsupported-metadata"
NOT_UNDERSTOOD: Final = "stt-no-text-recognized"
"""Code of a turn in which nothing was understood, such as a noise."""
OWN_ECHO: Final = "own-echo"
"""Code of a turn in which a device has heard only a loudspeaker of ours."""
ANSWERED_ELSEWHERE: Final = "duplicate_wake_up_detected"
"""Code of a turn that a nearer satellite answers."""
MICROPHONE_OFF: Final = "microphone-off"
"""Code of a turn that is not begun, because the owner has switched the microphone off."""

UNHEARD: Final = frozenset({NO_SPEECH, OWN_ECHO, NOT_UNDERSTOOD})
"""Nothing was understood. A turn with any other error, but for one that is answered elsewhere, has failed."""

_TEXT_OF_ERROR: Final = {
    NO_SPEECH: "voice_nothing_heard",
    NOT_UNDERSTOOD: "voice_nothing_understood",
    # No other requested part can be missing in a pipeline.
    "validation-error": "voice_without_speech_to_text",
    "stt-provider-missing": "voice_no_speech_to_text",
    UNSUPPORTED_SPEECH: "voice_no_speech_to_text",
    "tts-not-supported": "voice_no_text_to_speech",
    RECOGNITION_HANGS: "voice_no_speech_to_text",
    SPEECH_FAILED: "voice_no_text_to_speech",
    SPEECH_HANGS: "voice_no_text_to_speech",
    "intent-agent-not-found": "voice_no_assistant",
    "intent-not-supported": "voice_no_assistant",
    "intent-failed": "voice_no_assistant",
    MICROPHONE_OFF: "voice_microphone_off",
    # Since 2026.11: the conversation still has a turn, or belongs to another user.
    "intent-busy": "voice_assistant_busy",
    "intent-unauthorized": "voice_not_allowed",
    ASSISTANT_HANGS: "voice_no_assistant",
}
_TEXT_OF_OTHER_ERROR: Final = "voice_failed"


class TurnError(HomeAssistantError):
    """Ends a turn, with the code of an error of the pipeline or of our own."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


async def async_error_text(hass: HomeAssistant, code: str, language: str) -> str:
    """Return the text of an error code."""
    return await async_text(hass, _TEXT_OF_ERROR.get(code, _TEXT_OF_OTHER_ERROR), language)
