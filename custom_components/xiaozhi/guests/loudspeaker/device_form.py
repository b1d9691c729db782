"""The choice of another loudspeaker in the form of a device."""

from typing import Final

from homeassistant.const import Platform, UnitOfTime
from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    NumberSelector,
    NumberSelectorConfig,
)
import voluptuous as vol

from ...device.device import Device
from ...forms.device_form import DeviceForm
from .available_players import AvailablePlayers
from .loudspeaker_settings import CONF_LOUDSPEAKER, CONF_LOUDSPEAKER_LEAD

_LEAD: Final = {
    vol.Required(CONF_LOUDSPEAKER_LEAD, default=0.5): NumberSelector(
        NumberSelectorConfig(min=0, max=5, step=0.1, unit_of_measurement=UnitOfTime.SECONDS)
    )
}


def check(form: DeviceForm) -> None:
    """Have a player removed that is missing in the input."""
    form.absent[CONF_LOUDSPEAKER] = None


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add the player and its lead."""
    player = EntitySelectorConfig(domain=Platform.MEDIA_PLAYER)
    if device is not None:
        players = device.part(AvailablePlayers)
        fit = players.fit_for(device)
        player["exclude_entities"] = [each for each in players.listed() if each not in fit]
    form.fields[vol.Optional(CONF_LOUDSPEAKER)] = EntitySelector(player)
    form.rare |= _LEAD
