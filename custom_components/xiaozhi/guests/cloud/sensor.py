"""Sensors of an access point."""

from datetime import datetime
from typing import Any, Final, override

from homeassistant.components.sensor import SensorDeviceClass, SensorEntity, SensorStateClass
from homeassistant.const import EntityCategory

from .entities import AccessPointEntities, AccessPointEntity


class LastCallSensor(AccessPointEntity, SensorEntity):
    """Time of the cloud's last call of a tool."""

    _key = "last_call"
    _attr_translation_key = "last_call"
    _attr_device_class = SensorDeviceClass.TIMESTAMP

    @property
    @override
    def native_value(self) -> datetime | None:
        return self.point.last_call


class ToolsOfferedSensor(AccessPointEntity, SensorEntity):
    """Number of tools that the cloud can call."""

    _key = "tools_offered"
    _attr_translation_key = "tools_offered"
    _attr_entity_category = EntityCategory.DIAGNOSTIC
    _attr_state_class = SensorStateClass.MEASUREMENT

    @property
    @override
    def native_value(self) -> int | None:
        return None if self.point.offered is None else len(self.point.offered.tools)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        return {} if self.point.offered is None else {"bytes": self.point.offered.size}


ENTITIES: Final = (AccessPointEntities(LastCallSensor, ToolsOfferedSensor),)
