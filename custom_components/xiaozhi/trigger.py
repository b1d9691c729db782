"""The triggers of devices, if this version of Home Assistant has what they are made of."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant

from .device.guest import async_files
from .guests import GUESTS
from .texts.issues import Part, async_report_change

if TYPE_CHECKING:
    from homeassistant.helpers.trigger import Trigger

_missing: Exception | None = None
try:
    from .actions.triggers import TRIGGERS
except (ImportError, AttributeError, TypeError) as err:
    # Home Assistant skips intents, logbook and diagnostics, too, where it cannot import this file.
    TRIGGERS, _missing = {}, err


async def async_get_triggers(hass: HomeAssistant) -> dict[str, type[Trigger]]:
    """Return the triggers by their names, with those of guests."""
    return await async_with_guests(hass, TRIGGERS, _missing, "trigger")


async def async_with_guests[KindT](
    hass: HomeAssistant, own: Mapping[str, KindT], missing: Exception | None, kind: str
) -> dict[str, KindT]:
    """Return triggers or conditions, with those of guests; none, and a report, for what is `missing`."""
    found = dict(own)
    try:
        for file in await async_files(hass, () if missing else GUESTS, kind):
            found |= getattr(file, f"{kind.upper()}S")
    except (ImportError, AttributeError, TypeError) as err:
        missing = err
    if missing is not None:
        async_report_change(hass, Part.AUTOMATIONS, missing)
    return found
