"""The list of firmware in the form of the gateway: that of GitHub, or one of the owner's in its place."""

from homeassistant.helpers.selector import (
    BooleanSelector,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
import voluptuous as vol

from ...forms.gateway_form import GatewayForm
from . import available_firmware
from .available_firmware import CONF_FIRMWARE_RELEASES, async_fetch_releases
from .firmware_image import FirmwareError

_CONF_STOCK_RELEASES = "stock_releases"


async def check(form: GatewayForm) -> None:
    """Test a list. One that is saved already may be down for a while; a repair issue says so."""
    stock = available_firmware.STOCK_RELEASES
    if form.settings.pop(_CONF_STOCK_RELEASES):
        form.settings.setdefault(CONF_FIRMWARE_RELEASES, stock)
    releases = form.settings.get(CONF_FIRMWARE_RELEASES)
    if releases is None or releases == form.known.get(CONF_FIRMWARE_RELEASES):
        return
    try:
        await async_fetch_releases(form.hass, releases)
    except FirmwareError:
        if releases == stock:
            form.errors[_CONF_STOCK_RELEASES] = "no_stock_releases"
        else:
            form.errors[CONF_FIRMWARE_RELEASES] = "no_releases"


def add_fields(form: GatewayForm) -> None:
    """Add the choice of GitHub's list, and the address of one of the owner's to an existing gateway."""
    stock = available_firmware.STOCK_RELEASES
    form.fields[vol.Required(_CONF_STOCK_RELEASES, default=False)] = BooleanSelector()
    if form.entry is not None:
        address = TextSelector(TextSelectorConfig(type=TextSelectorType.URL))
        form.fields[vol.Optional(CONF_FIRMWARE_RELEASES)] = address
        form.placeholders["releases_example"] = stock
    if form.suggested.get(CONF_FIRMWARE_RELEASES) == stock:
        del form.suggested[CONF_FIRMWARE_RELEASES]
        form.suggested[_CONF_STOCK_RELEASES] = True
