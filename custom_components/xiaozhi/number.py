"""Numbers of a device: volume, screen brightness and others that its tools set, and settings of ours."""

from typing import Final, override

from homeassistant.components.number import (
    NumberDeviceClass,
    NumberEntity,
    NumberEntityDescription,
    NumberMode,
)
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfTime

from .const import CONF_ANNOUNCEMENT_VOLUME, CONF_FOLLOW_UP_WAIT
from .device.device import Device
from .entity import DescribedEntities, ToolEntities, XiaozhiSettingEntity, XiaozhiToolEntity, entities_from
from .gateway import Gateway
from .tools.answer_values import as_number
from .tools.stock_tools import VOLUME_TOOL
from .tools.tool_entities import NumberTool

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0


SETTING_NUMBERS: Final = (
    NumberEntityDescription(
        key=CONF_FOLLOW_UP_WAIT,
        translation_key=CONF_FOLLOW_UP_WAIT,
        device_class=NumberDeviceClass.DURATION,
        entity_category=EntityCategory.CONFIG,
        entity_registry_enabled_default=False,
        native_unit_of_measurement=UnitOfTime.SECONDS,
        native_min_value=3,
        native_max_value=30,
        native_step=1,
        mode=NumberMode.BOX,
    ),
    # Unknown while the volume is left alone.
    NumberEntityDescription(
        key=CONF_ANNOUNCEMENT_VOLUME,
        translation_key=CONF_ANNOUNCEMENT_VOLUME,
        entity_category=EntityCategory.CONFIG,
        entity_registry_enabled_default=False,
        native_unit_of_measurement=PERCENTAGE,
        native_min_value=0,
        native_max_value=100,
        native_step=1,
    ),
)


class XiaozhiSettingNumber(XiaozhiSettingEntity, NumberEntity):
    """A setting of a device, by its key."""

    @override
    @classmethod
    def exists(cls, device: Device, description: NumberEntityDescription) -> bool:
        return description.key != CONF_ANNOUNCEMENT_VOLUME or VOLUME_TOOL in device.tools

    @property
    @override
    def native_value(self) -> int | None:
        value: int | None = getattr(self.device.settings, self.entity_description.key)
        return value

    @override
    async def async_set_native_value(self, value: float) -> None:
        self.device.set_option(self.entity_description.key, int(value))


class XiaozhiNumber(XiaozhiToolEntity[NumberTool], NumberEntity):
    """A number of a device."""

    _attr_native_step = 1

    def __init__(self, gateway: Gateway, device: Device, tool: NumberTool) -> None:
        super().__init__(gateway, device, tool)
        self._attr_native_unit_of_measurement = tool.unit
        self._attr_native_min_value = tool.setter.minimum
        self._attr_native_max_value = tool.setter.maximum

    @property
    @override
    def native_value(self) -> float | None:
        """Return the value: as last read, or else as last set."""
        return as_number(self._value(self.tool.state, self.tool.setter))

    @override
    async def async_set_native_value(self, value: float) -> None:
        await self._change(self.tool.setter.tool, {self.tool.setter.argument: int(value)})


async_setup_entry = entities_from(
    DescribedEntities(XiaozhiSettingNumber, SETTING_NUMBERS), ToolEntities(XiaozhiNumber, NumberTool)
)
