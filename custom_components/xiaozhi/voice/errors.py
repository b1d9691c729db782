"""What goes wrong in a turn: codes of the pipeline and our own, and what the screen says about them."""

from typing import Final

from homeassistant.core import HomeAssistant

from ..texts import async_text

__all__ = [
    "ANSWERED_ELSEWHERE",
    "ASSISTANT_HANGS",
    "NO_SPEECH",
    "RECOGNITION_HANGS",
    "SILENT_ERRORS",
    "SPEECH_FAILED",
    "SPEECH_HANGS",
    "async_error_text",
]

NO_SPEECH: Final = "no-speech"
SPEECH_FAILED: Final = "speech-failed"
RECOGNITION_HANGS: Final = "stt-timeout"
ASSISTANT_HANGS: Final = "intent-timeout"
SPEECH_HANGS: Final = "tts-timeout"
SILENT_ERRORS: Final = frozenset({NO_SPEECH, "stt-no-text-recognized"})
"""Codes which mean that the user said nothing."""
ANSWERED_ELSEWHERE: Final = "duplicate_wake_up_detected"
"""Code of a turn that a nearer satellite answers."""

_TEXT_OF_ERROR: Final = {
    NO_SPEECH: "voice_nothing_heard",
    "stt-no-text-recognized": "voice_nothing_understood",
    "stt-provider-missing": "voice_no_speech_to_text",
    "stt-provider-unsupported-metadata": "voice_no_speech_to_text",
    "tts-not-supported": "voice_no_text_to_speech",
    RECOGNITION_HANGS: "voice_no_speech_to_text",
    SPEECH_FAILED: "voice_no_text_to_speech",
    SPEECH_HANGS: "voice_no_text_to_speech",
    "intent-agent-not-found": "voice_no_assistant",
    "intent-not-supported": "voice_no_assistant",
    "intent-failed": "voice_no_assistant",
    ASSISTANT_HANGS: "voice_no_assistant",
}
_TEXT_OF_OTHER_ERROR: Final = "voice_failed"


async def async_error_text(hass: HomeAssistant, code: str) -> str:
    """Return what the screen says about an error code, in the language of the house."""
    return await async_text(hass, _TEXT_OF_ERROR.get(code, _TEXT_OF_OTHER_ERROR))
