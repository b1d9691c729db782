"""The loudspeaker that the owner has chosen."""

from dataclasses import dataclass
from typing import Final

import voluptuous as vol

from ...settings import stored

CONF_LOUDSPEAKER: Final = "loudspeaker"
CONF_LOUDSPEAKER_LEAD: Final = "loudspeaker_lead"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoudspeakerSettings:
    """The loudspeaker of a device."""

    loudspeaker: str | None = stored(vol.Maybe(str))
    """Entity id of the media player that speaks in its place."""
    loudspeaker_lead: float = stored(vol.All(vol.Coerce(float), vol.Range(min=0, max=5)), 0.5)
    """Seconds from the moment at which that player fetches the sound until it is heard."""
