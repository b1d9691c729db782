"""Why a device has not said what it was to say."""

from collections.abc import Mapping
import logging
from typing import Final

from homeassistant.exceptions import HomeAssistantError

from ...const import DOMAIN
from ...device.device import Device
from ...media.errors import PlaybackError
from ...protocol.audio.media import MediaError, MediaFault
from ...protocol.text import one_line
from ...texts.translated import TextError

__all__ = [
    "InterruptedSpeechError",
    "NotTakenError",
    "OutOfReachError",
    "ReplacedError",
    "SoundError",
    "StoppedError",
    "UnaskedError",
    "sound_error",
    "unasked_error",
]

_LOGGER = logging.getLogger(__name__)

_KEYS: Final[Mapping[MediaFault, str]] = {
    MediaFault.EMPTY: "unasked_empty",
    MediaFault.NO_AUDIO: "unasked_undecodable",
    MediaFault.UNDECODABLE: "unasked_undecodable",
}


class UnaskedError(HomeAssistantError):
    """It was not said, or not to its end."""


class OutOfReachError(UnaskedError):
    """Nothing can make the device speak now."""


class NotTakenError(UnaskedError):
    """The device has not asked for the sound."""


class InterruptedSpeechError(UnaskedError):
    """Its user or a fault has ended it."""


class ReplacedError(UnaskedError):
    """It has given way to something else."""


class SoundError(UnaskedError):
    """The sound could not be made."""


class StoppedError(UnaskedError):
    """The gateway is being stopped, or the device was removed."""


def unasked_error[ErrorT: UnaskedError](
    kind: type[ErrorT], key: str, device: Device, **placeholders: str
) -> ErrorT:
    """Return an error about a device for the user."""
    return kind(
        translation_domain=DOMAIN,
        translation_key=key,
        translation_placeholders={"name": device.name, **placeholders},
    )


def sound_error(err: BaseException, device: Device) -> UnaskedError:
    """Return the error for what the source of a sound raised, which may be anything."""
    match err:
        case UnaskedError():
            return err
        case PlaybackError(translation_key=str(key), translation_placeholders=placeholders):
            return SoundError(
                translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
            )
        case TextError():
            return unasked_error(SoundError, err.key, device, **err.placeholders)
        case MediaError():
            return unasked_error(SoundError, _KEYS[err.fault], device)
        case HomeAssistantError():
            _LOGGER.warning("A sound for %s could not be made: %s", device.name, one_line(str(err)))
        case _:
            _LOGGER.error("A sound for %s could not be made", device.name, exc_info=err)
    return unasked_error(SoundError, "unasked_speech_failed", device)
