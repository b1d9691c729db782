"""Choices: what the tools of a device take, and which pipeline and voice detection it uses."""

from typing import override

from homeassistant.components.assist_pipeline import AssistPipelineSelect, VadSensitivitySelect
from homeassistant.components.select import SelectEntity, SelectEntityDescription
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .const import DOMAIN
from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import Reading, SelectTool
from .tools.values import main_value

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the choices of each device."""
    async_add_tool_entities(entry, async_add_entities, SelectTool, XiaozhiSelect)

    @callback
    def add_assist_selects(device: Device) -> None:
        async_add_entities(
            [XiaozhiPipelineSelect(hass, device), XiaozhiVadSensitivitySelect(hass, device)],
            config_subentry_id=device.subentry_id,
        )

    entry.async_on_unload(entry.runtime_data.listen_for_devices(add_assist_selects))


class XiaozhiSelect(XiaozhiToolEntity[SelectTool], SelectEntity):
    """A choice that a tool of the device takes."""

    def __init__(self, device: Device, tool: SelectTool) -> None:
        """Prepare the choice `tool` of a device."""
        super().__init__(device, tool, describe(SelectEntityDescription, tool))

    @override
    def _readings(self) -> tuple[Reading | None, ...]:
        return (self.tool.state,)

    @property
    @override
    def options(self) -> list[str]:
        """Return what can be chosen."""
        return [*self.tool.options]

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether only what was last chosen is known."""
        return self.tool.state is None and not self.tool.momentary

    @property
    @override
    def current_option(self) -> str | None:
        """Return the choice as last read, or as last made if the device does not tell it.

        Something that is done is no state afterwards; so is a theme that the owner made.
        """
        if self.tool.momentary:
            return None
        if self.tool.state is not None:
            value = main_value(self.device.tools.last_value(self.tool.state))
        else:
            value = self._last_argument(self.tool.tool, self.tool.argument)
        return value if value in self.tool.options else None

    @override
    async def async_select_option(self, option: str) -> None:
        """Set the choice on the device, or have it done."""
        await self._change(self.tool.tool, {self.tool.argument: option})


class XiaozhiPipelineSelect(AssistPipelineSelect):
    """Which Assist pipeline answers."""

    _attr_has_entity_name = True

    def __init__(self, hass: HomeAssistant, device: Device) -> None:
        """Prepare the choice for a device."""
        super().__init__(hass, DOMAIN, device.mac)
        self._attr_device_info = device.info


class XiaozhiVadSensitivitySelect(VadSensitivitySelect):
    """How soon speech counts as ended."""

    _attr_has_entity_name = True

    def __init__(self, hass: HomeAssistant, device: Device) -> None:
        """Prepare the choice for a device."""
        super().__init__(hass, device.mac)
        self._attr_device_info = device.info
