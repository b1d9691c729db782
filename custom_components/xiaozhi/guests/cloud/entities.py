"""Entities of an access point."""

from typing import ClassVar, override

from homeassistant.core import callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from ...entity import EntitySource
from ...gateway import XiaozhiConfigEntry
from ...protocol.access_point.dispatcher import CallRecord
from .access_point import AccessPoint
from .access_points import AccessPoints


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
        await super().async_added_to_hass()
        self.async_on_remove(async_dispatcher_connect(self.hass, self.point.signal, self._point_changed))

    @callback
    def _point_changed(self, record: CallRecord | None) -> None:
        self.async_write_ha_state()


class AccessPointEntities(EntitySource):
    """The entities of these classes, which every access point has."""

    def __init__(self, *kinds: type[AccessPointEntity]) -> None:
        self._kinds = kinds

    @override
    def follow(self, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback) -> None:
        @callback
        def add(point: AccessPoint) -> None:
            entities = [kind(point) for kind in self._kinds]
            async_add_entities(entities, config_subentry_id=point.subentry_id)

        entry.async_on_unload(entry.runtime_data.part(AccessPoints).listen(add))
