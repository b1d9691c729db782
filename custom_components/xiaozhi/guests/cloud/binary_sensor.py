"""The binary sensor of an access point."""

from typing import Final, override

from homeassistant.components.binary_sensor import BinarySensorDeviceClass, BinarySensorEntity
from homeassistant.const import EntityCategory

from .entities import AccessPointEntities, AccessPointEntity


class ConnectedSensor(AccessPointEntity, BinarySensorEntity):
    """Sensor whether the cloud can call tools."""

    _key = "connected"
    _attr_device_class = BinarySensorDeviceClass.CONNECTIVITY
    _attr_entity_category = EntityCategory.DIAGNOSTIC

    @property
    @override
    def is_on(self) -> bool:
        return self.point.client.connected


ENTITIES: Final = (AccessPointEntities(ConnectedSensor),)
