"""Why a device has not said what it was to say."""

import logging

from homeassistant.exceptions import HomeAssistantError

from ...const import DOMAIN
from ...device.device import Device
from ...protocol.audio.media import MediaError
from ...protocol.text import one_line

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
    """Return the error for what the source of a sound raised, which may be anything, and log it."""
    if isinstance(err, UnaskedError):
        return err
    if not isinstance(err, MediaError | HomeAssistantError):
        _LOGGER.error("A sound for %s could not be made", device.name, exc_info=err)
    reason = one_line(str(err)) or type(err).__name__
    return unasked_error(SoundError, "unasked_no_sound", device, reason=reason)
