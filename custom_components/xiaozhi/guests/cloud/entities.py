"""Entities of an access point."""

from datetime import datetime
from typing import Any, ClassVar, override

from homeassistant.components.binary_sensor import BinarySensorDeviceClass, BinarySensorEntity
from homeassistant.components.button import ButtonEntity
from homeassistant.components.event import EventEntity
from homeassistant.components.sensor import SensorDeviceClass, SensorEntity, SensorStateClass
from homeassistant.const import EntityCategory
from homeassistant.core import callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity import Entity

from ...protocol.access_point.dispatcher import CallOutcome, CallRecord
from .access_point import AccessPoint


class AccessPointEntity(Entity):
    """An entity of an access point. Its state is written whenever the access point changes."""

    _attr_has_entity_name = True
    _attr_should_poll = False
    _key: ClassVar[str]

    def __init__(self, point: AccessPoint) -> None:
        self.point = point
        self._attr_unique_id = f"{point.subentry_id}_{self._key}"
        self._attr_device_info = point.info

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the access point."""
        await super().async_added_to_hass()
        self.async_on_remove(async_dispatcher_connect(self.hass, self.point.signal, self._point_changed))

    @callback
    def _point_changed(self, record: CallRecord | None) -> None:
        """Write the state, after a call that was answered or another change."""
        self.async_write_ha_state()


class ConnectedSensor(AccessPointEntity, BinarySensorEntity):
    """Sensor whether the cloud can call tools."""

    _key = "connected"
    _attr_device_class = BinarySensorDeviceClass.CONNECTIVITY
    _attr_entity_category = EntityCategory.DIAGNOSTIC

    @property
    @override
    def is_on(self) -> bool:
        return self.point.client.connected


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


class ReconnectButton(AccessPointEntity, ButtonEntity):
    """Connects again at once."""

    _key = "reconnect"
    _attr_translation_key = "reconnect"
    _attr_entity_category = EntityCategory.CONFIG

    @override
    async def async_press(self) -> None:
        await self.point.client.reconnect()


class ToolCalledEvent(AccessPointEntity, EventEntity):
    """A call of a tool, with how it ended."""

    _key = "tool_called"
    _attr_translation_key = "tool_called"
    _attr_event_types = [outcome.value for outcome in CallOutcome]  # noqa: RUF012 - as its base class has it

    @override
    @callback
    def _point_changed(self, record: CallRecord | None) -> None:
        """Take a call as an event."""
        if record is not None:
            self._trigger_event(record.outcome, {"tool": record.tool, "milliseconds": record.milliseconds})
        super()._point_changed(record)
