"""The action that puts wake words, fonts and faces on a device."""

from typing import Final

from homeassistant.const import CONF_URL
from homeassistant.core import ServiceCall
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.action import Action, check_arguments_of, on_each
from ...actions.targets import require_tool
from ...device.call_log import logged_call
from ...device.device import Device
from ...tools.stock_tools import ASSETS_TOOL


async def _set_assets(call: ServiceCall) -> None:
    async def set_one(device: Device) -> None:
        require_tool(device, ASSETS_TOOL)
        arguments = check_arguments_of(device, ASSETS_TOOL, {"url": call.data[CONF_URL]})
        with logged_call(device, ASSETS_TOOL, call.context):
            await device.commands.change(ASSETS_TOOL, arguments)

    await on_each(call, set_one)


ACTIONS: Final = {"set_assets": Action(run=_set_assets, fields={vol.Required(CONF_URL): cv.url}, admin=True)}
