"""The conditions of devices, if this version of Home Assistant has what they are made of."""

from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant

from .device.guest import async_files
from .guests import GUESTS
from .texts.issues import Part, async_report_change

if TYPE_CHECKING:
    from homeassistant.helpers.condition import Condition

_missing: Exception | None = None
try:
    from .actions.conditions import CONDITIONS
except (ImportError, AttributeError, TypeError) as err:
    # Home Assistant skips intents, logbook and diagnostics, too, where it cannot import this file.
    CONDITIONS, _missing = {}, err


async def async_get_conditions(hass: HomeAssistant) -> dict[str, type[Condition]]:
    """Return the conditions by their names, with those of guests."""
    found, missing = dict(CONDITIONS), _missing
    try:
        for file in await async_files(hass, () if missing else GUESTS, "condition"):
            found |= file.CONDITIONS
    except (ImportError, AttributeError, TypeError) as err:
        missing = err
    if missing is not None:
        async_report_change(hass, Part.AUTOMATIONS, missing)
    return found
