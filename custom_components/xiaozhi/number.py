"""Numbers of a device: volume, screen brightness and others that its tools set, and settings of ours."""

from collections.abc import Iterable
from typing import Final, override

from homeassistant.components.number import NumberDeviceClass, NumberEntity, NumberEntityDescription
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .const import CONF_ANNOUNCEMENT_VOLUME, CONF_FOLLOW_UP_WAIT
from .device.device import Device
from .device.state import SETTINGS
from .entity import (
    XiaozhiEntity,
    XiaozhiToolEntity,
    describe,
    existing,
    follow,
    follow_tools,
)
from .gateway import XiaozhiConfigEntry
from .tools.catalogue import VOLUME_TOOL
from .tools.entity_descriptions import NumberTool

# The device runs one tool at a time.
PARALLEL_UPDATES = 1

_ANNOUNCEMENT_VOLUME: Final = NumberEntityDescription(
    key=CONF_ANNOUNCEMENT_VOLUME,
    translation_key=CONF_ANNOUNCEMENT_VOLUME,
    entity_category=EntityCategory.CONFIG,
    entity_registry_enabled_default=False,
    native_unit_of_measurement=PERCENTAGE,
    native_min_value=0,
    native_max_value=100,
    native_step=1,
)
_FOLLOW_UP_WAIT: Final = NumberEntityDescription(
    key=CONF_FOLLOW_UP_WAIT,
    translation_key=CONF_FOLLOW_UP_WAIT,
    device_class=NumberDeviceClass.DURATION,
    entity_category=EntityCategory.CONFIG,
    native_unit_of_measurement=UnitOfTime.SECONDS,
    native_min_value=3,
    native_max_value=30,
    native_step=1,
)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the follow-up wait of each device, and the numbers that it has tools for."""
    follow(entry, async_add_entities, existing([_FOLLOW_UP_WAIT]), XiaozhiFollowUpWait)
    has_volume = existing([_ANNOUNCEMENT_VOLUME], lambda device, _description: VOLUME_TOOL in device.tools)
    follow(entry, async_add_entities, has_volume, XiaozhiAnnouncementVolume)
    follow_tools(entry, async_add_entities, NumberTool, XiaozhiNumber)


class XiaozhiFollowUpWait(XiaozhiEntity, NumberEntity):
    """How long a device listens after an answer before the conversation ends."""

    @property
    @override
    def follows(self) -> Iterable[str]:
        """Return the keys of what it shows."""
        return (SETTINGS,)

    @property
    @override
    def available(self) -> bool:
        """Return True: the setting is ours, not the device's."""
        return True

    @property
    @override
    def native_value(self) -> int:
        """Return the seconds."""
        return self.device.settings.follow_up_wait

    @override
    async def async_set_native_value(self, value: float) -> None:
        """Store the seconds."""
        self.device.set_option(CONF_FOLLOW_UP_WAIT, int(value))


class XiaozhiAnnouncementVolume(XiaozhiEntity, NumberEntity):
    """How loud a device makes announcements; unknown while the volume is left alone."""

    @property
    @override
    def follows(self) -> Iterable[str]:
        """Return the keys of what it shows."""
        return (SETTINGS,)

    @property
    @override
    def available(self) -> bool:
        """Return True: the setting is ours, not the device's."""
        return True

    @property
    @override
    def native_value(self) -> int | None:
        """Return the percentage."""
        return self.device.settings.announcement_volume or None

    @override
    async def async_set_native_value(self, value: float) -> None:
        """Store the percentage; 0 leaves the volume alone from now on."""
        self.device.set_option(CONF_ANNOUNCEMENT_VOLUME, int(value))


class XiaozhiNumber(XiaozhiToolEntity[NumberTool], NumberEntity):
    """A number of a device."""

    _attr_native_step = 1

    def __init__(self, device: Device, tool: NumberTool) -> None:
        description = describe(NumberEntityDescription, tool, native_unit_of_measurement=tool.unit)
        super().__init__(device, tool, description)

    @property
    @override
    def native_min_value(self) -> float:
        """Return the smallest number that the device takes."""
        return self.tool.setter.minimum

    @property
    @override
    def native_max_value(self) -> float:
        """Return the largest number that the device takes."""
        return self.tool.setter.maximum

    @property
    @override
    def native_value(self) -> float | None:
        """Return the value: as last read, or else as last set."""
        return self._set_to(self.tool.setter, self.tool.state)

    @override
    async def async_set_native_value(self, value: float) -> None:
        """Set the value on the device."""
        await self._change(self.tool.setter.tool, {self.tool.setter.argument: int(value)})
