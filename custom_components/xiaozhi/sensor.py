"""Sensors of a device."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, override

from homeassistant.components.sensor import (
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.const import PERCENTAGE, STATE_ON, EntityCategory, Platform, UnitOfTemperature, UnitOfTime
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util import dt as dt_util

from .const import DOMAIN, MANUFACTURER
from .device.device import Device
from .device.state import AVAILABLE, RESPONSE, part_key
from .entity import (
    DescribedEntities,
    EntitySource,
    ToolEntities,
    XiaozhiOccasionalEntity,
    XiaozhiToolEntity,
    entities_from,
)
from .gateway import Gateway, XiaozhiConfigEntry
from .protocol.conversation.state_table import ConversationState
from .protocol.device_status import NETWORK_TYPES, SIGNALS
from .tools.answer_values import as_attributes, as_number, as_text
from .tools.stock_tools import CATALOGUE
from .tools.tool_entities import Reading, SensorTool
from .voice.patience import describe

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiSensorDescription(SensorEntityDescription):
    """Describes a sensor."""

    entity_category: EntityCategory | None = EntityCategory.DIAGNOSTIC
    value: Callable[[Device], str | float | datetime | None]
    follows: tuple[str, ...]
    """Keys that it follows, as for `DeviceRecord.listen`."""
    exists: Callable[[Device], bool] | None = None
    """Whether a device has the sensor; without this, those with a value have it."""
    hidden_without_value: bool = False
    attributes: Callable[[Device], dict[str, Any]] = lambda _: {}
    """Values of the parts of the state."""


def _has_ip(device: Device) -> bool:
    """Whether the address is known, and no tool has a sensor for it."""
    shown_by_tool = any(tool.translation_key == "ip" for tool in device.tools.entities.values())
    return bool(device.tools) and not shown_by_tool and device.state.address is not None


def _always(_device: Device) -> bool:
    return True


SENSORS: Final = (
    XiaozhiSensorDescription(
        key="conversation",
        translation_key="conversation",
        device_class=SensorDeviceClass.ENUM,
        options=[state.value for state in ConversationState],
        # The satellite says nearly the same, and each change is a line in the logbook.
        entity_registry_enabled_default=False,
        value=lambda device: device.state.conversation if device.state.link else None,
        follows=(AVAILABLE, "conversation", "link"),
        exists=_always,
    ),
    XiaozhiSensorDescription(
        key="last_contact",
        translation_key="last_contact",
        device_class=SensorDeviceClass.TIMESTAMP,
        entity_registry_enabled_default=False,
        value=lambda device: device.state.last_contact,
        follows=("last_contact",),
        exists=_always,
    ),
    XiaozhiSensorDescription(
        key="response_time",
        translation_key="response_time",
        device_class=SensorDeviceClass.DURATION,
        entity_registry_enabled_default=False,
        state_class=SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=UnitOfTime.SECONDS,
        suggested_display_precision=2,
        value=lambda device: device.conversations.last_spoken.response,
        follows=(RESPONSE,),
        exists=_always,
        attributes=lambda device: device.conversations.last_spoken.parts() | describe(device.state.pauses),
    ),
    XiaozhiSensorDescription(
        key="battery",
        device_class=SensorDeviceClass.BATTERY,
        state_class=SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=PERCENTAGE,
        value=lambda device: device.state.status.battery_level,
        follows=(AVAILABLE, part_key("status", "battery_level")),
    ),
    XiaozhiSensorDescription(
        key="chip_temperature",
        translation_key="chip_temperature",
        device_class=SensorDeviceClass.TEMPERATURE,
        entity_registry_enabled_default=False,
        state_class=SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=UnitOfTemperature.CELSIUS,
        suggested_display_precision=0,
        value=lambda device: device.state.status.chip_temperature,
        follows=(AVAILABLE, part_key("status", "chip_temperature")),
    ),
    XiaozhiSensorDescription(
        key="signal",
        translation_key="signal",
        device_class=SensorDeviceClass.ENUM,
        # It changes with each second poll, and each change is a line in the logbook.
        entity_registry_enabled_default=False,
        options=[*SIGNALS],
        value=lambda device: device.state.status.signal,
        follows=(AVAILABLE, part_key("status", "signal")),
    ),
    XiaozhiSensorDescription(
        key="network",
        translation_key="network",
        device_class=SensorDeviceClass.ENUM,
        entity_registry_enabled_default=False,
        options=[*NETWORK_TYPES],
        value=lambda device: device.state.status.network_type,
        follows=(AVAILABLE, part_key("status", "network_type")),
    ),
    XiaozhiSensorDescription(
        key="ssid",
        translation_key="ssid",
        entity_registry_enabled_default=False,
        value=lambda device: device.state.status.ssid,
        follows=(AVAILABLE, part_key("status", "ssid")),
    ),
    XiaozhiSensorDescription(
        key="ip",
        translation_key="ip",
        entity_registry_enabled_default=False,
        value=lambda device: device.state.address,
        follows=(AVAILABLE, "ip", part_key("status", "ip")),
        exists=_has_ip,
    ),
)


class XiaozhiSensor(XiaozhiOccasionalEntity, SensorEntity):
    """A sensor of a device."""

    entity_description: XiaozhiSensorDescription

    def __init__(self, gateway: Gateway, device: Device, description: XiaozhiSensorDescription) -> None:
        super().__init__(gateway, device, description)
        self.follows = description.follows

    @override
    @classmethod
    def exists(cls, device: Device, description: XiaozhiSensorDescription) -> bool:
        exists = description.exists
        return description.value(device) is not None if exists is None else exists(device)

    @property
    @override
    def is_of_use(self) -> bool:
        return bool(self.native_value) or not self.entity_description.hidden_without_value

    @property
    @override
    def native_value(self) -> str | float | datetime | None:
        return self.entity_description.value(self.device)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        return self.entity_description.attributes(self.device)


class XiaozhiToolSensor(XiaozhiToolEntity[SensorTool], SensorEntity):
    """A sensor that shows the answer of a tool."""

    def __init__(self, gateway: Gateway, device: Device, tool: SensorTool) -> None:
        super().__init__(gateway, device, tool)
        self._attr_device_class = SensorDeviceClass(tool.device_class) if tool.device_class else None
        self._attr_native_unit_of_measurement = tool.unit
        self._attr_options = [*tool.options] if tool.options else None

    @property
    @override
    def native_value(self) -> str | int | float | None:
        answer = self.device.tools.last_value(self.tool.state)
        if self.tool.unit is not None or self.tool.measured:
            return as_number(answer)
        value = as_text(answer)
        return value if self.options is None or value in self.options else None

    @property
    @override
    def state_class(self) -> SensorStateClass | None:
        """Return the state class of a number, which is shown as a curve, and not in the logbook."""
        is_number = self.tool.measured or self.tool.unit or isinstance(self.native_value, int | float)
        return SensorStateClass.MEASUREMENT if is_number else None

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return all parts of the answer, except where each is a sensor."""
        if self.tool.state.member is not None and self.tool.state.tool not in CATALOGUE:
            return {}
        return as_attributes(self.device.tools.last_value(Reading(tool=self.tool.state.tool)))


@dataclass(frozen=True, kw_only=True)
class GatewaySensorDescription(SensorEntityDescription):
    """Describes a sensor of the gateway: how many of its devices are so."""

    entity_category: EntityCategory | None = EntityCategory.DIAGNOSTIC
    state_class: SensorStateClass | None = SensorStateClass.MEASUREMENT
    counts: Callable[[Device], bool]
    names_others: bool = False
    """Whether its attribute names the devices that are not so."""


def _is_behind(device: Device) -> bool:
    """Whether *Firmware* of a device offers a newer one."""
    entity_id = er.async_get(device.hass).async_get_entity_id(
        Platform.UPDATE, DOMAIN, f"{device.mac}_firmware"
    )
    return entity_id is not None and device.hass.states.is_state(entity_id, STATE_ON)


def _is_silent(device: Device) -> bool:
    """Whether a device was not heard of for a day, or never."""
    last = device.state.last_contact
    return not device.state.present and (last is None or dt_util.utcnow() - last > timedelta(days=1))


GATEWAY_SENSORS: Final = (
    GatewaySensorDescription(
        key="devices_connected",
        translation_key="devices_connected",
        counts=lambda device: device.state.present,
        names_others=True,
    ),
    GatewaySensorDescription(key="devices_behind", translation_key="devices_behind", counts=_is_behind),
    GatewaySensorDescription(key="devices_silent", translation_key="devices_silent", counts=_is_silent),
)


class GatewaySensor(SensorEntity):
    """A number of devices of the gateway. It is read every 30 seconds: time alone may change it."""

    _attr_has_entity_name = True
    entity_description: GatewaySensorDescription

    def __init__(self, gateway: Gateway, description: GatewaySensorDescription) -> None:
        self.entity_description = description
        self._gateway = gateway
        self._attr_unique_id = f"{gateway.entry.entry_id}_{description.key}"
        # So that the gateway has a page, which is linked from that of the integration.
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, gateway.entry.entry_id)},
            entry_type=DeviceEntryType.SERVICE,
            manufacturer=MANUFACTURER,
            name=gateway.entry.title,
        )

    @property
    @override
    def native_value(self) -> int:
        return sum(map(self.entity_description.counts, self._gateway.devices.values()))

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return the devices that an owner would look for."""
        description = self.entity_description
        named = (
            device.name
            for device in self._gateway.devices.values()
            if description.counts(device) is not description.names_others
        )
        return {"not_connected" if description.names_others else "devices": sorted(named)}


class _GatewaySensors(EntitySource):
    """The sensors of the gateway itself."""

    @override
    def follow(self, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback) -> None:
        async_add_entities(GatewaySensor(entry.runtime_data, description) for description in GATEWAY_SENSORS)


async_setup_entry = entities_from(
    _GatewaySensors(), DescribedEntities(XiaozhiSensor, SENSORS), ToolEntities(XiaozhiToolSensor, SensorTool)
)
