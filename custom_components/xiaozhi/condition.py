"""The conditions of devices, if this version of Home Assistant has what they are made of."""

from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant

from .trigger import async_with_guests

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
    return await async_with_guests(hass, CONDITIONS, _missing, "condition")
