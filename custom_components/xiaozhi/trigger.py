"""The triggers of devices, if this version of Home Assistant has what they are made of."""

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
    found, missing = dict(TRIGGERS), _missing
    try:
        for file in await async_files(hass, () if missing else GUESTS, "trigger"):
            found |= file.TRIGGERS
    except (ImportError, AttributeError, TypeError) as err:
        missing = err
    if missing is not None:
        async_report_change(hass, Part.AUTOMATIONS, missing)
    return found
