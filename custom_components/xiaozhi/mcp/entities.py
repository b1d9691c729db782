"""Entities of a device's resources: sensors and images, off until the owner wants them."""

from collections.abc import Callable, Iterable
from datetime import datetime
import hashlib
import json
import math
from typing import Any, Final, override

from homeassistant.components.image import ImageEntity, ImageEntityDescription
from homeassistant.components.sensor import SensorEntity, SensorEntityDescription
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity import EntityDescription
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..device.device import Device
from ..device.state import AVAILABLE, RESOURCES
from ..entity import XiaozhiEntity
from ..gateway import XiaozhiConfigEntry
from ..protocol.limits import TokenBucket
from ..protocol.mcp.client import Resource, ResourceContents
from ..protocol.mcp.model import is_bounded
from ..protocol.text import clean_data, one_line
from ..protocol.untrusted_json import parse_json

__all__ = ["ResourceImage", "ResourceSensor", "async_add_resource_entities"]

_PREFIX: Final = "resource_"
_MAX_ENTITIES: Final = 32
# A device whose list of resources keeps changing would fill the registry.
_NEW_PER_DAY: Final = 64
_MAX_STATE: Final = 255
_MAX_ATTRIBUTE: Final = 2048
_MAX_DEPTH: Final = 8
_IMAGE_TYPES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_TEXT_TYPES: Final = frozenset({"application/json", "text/plain", "text/json"})

type Value = str | int | float | None


class ResourceEntity(XiaozhiEntity):
    """An entity that shows a resource. It is read while the entity is enabled only."""

    _description: type[EntityDescription]

    def __init__(self, device: Device, resource: Resource) -> None:
        super().__init__(
            device,
            self._description(
                key=key_of(resource), name=resource.shown, entity_registry_enabled_default=False
            ),
        )
        self.resource = resource
        self._content: ResourceContents | None = None

    @property
    @override
    def current(self) -> bool:
        """Whether there is a content to show."""
        return super().current and self._content is not None

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the resource."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.resources.follow(self.resource.uri))

    @property
    @override
    def follows(self) -> Iterable[str]:
        """Return the keys of what it shows."""
        return (AVAILABLE, RESOURCES)

    @override
    @callback
    def device_changed(self) -> None:
        """Take the content."""
        contents = self.device.resources.contents.get(self.resource.uri, ())
        content = next(iter(contents), None)
        if content != self._content:
            self._content = content
            self._changed(content)
        super().device_changed()

    @callback
    def _changed(self, content: ResourceContents | None) -> None:
        """Show another content."""


class ResourceSensor(ResourceEntity, SensorEntity):
    """A resource that holds a number, a flag, a short text or small JSON."""

    _description = SensorEntityDescription

    @staticmethod
    def accepts(resource: Resource) -> bool:
        """Whether a resource is made into such an entity."""
        return resource.mime_type in _TEXT_TYPES

    @override
    @callback
    def _changed(self, content: ResourceContents | None) -> None:
        value, data = read_value("" if content is None else content.text or "")
        self._attr_native_value = value
        self._attr_extra_state_attributes = {"uri": self.resource.uri} | (
            {} if data is None else {"data": data}
        )


class ResourceImage(ResourceEntity, ImageEntity):
    """A resource that holds a picture."""

    _description = ImageEntityDescription

    def __init__(self, hass: HomeAssistant, device: Device, resource: Resource) -> None:
        ResourceEntity.__init__(self, device, resource)
        ImageEntity.__init__(self, hass)
        self._taken: datetime | None = None

    @staticmethod
    def accepts(resource: Resource) -> bool:
        """Whether a resource is made into such an entity; a drawing with scripts is not."""
        return resource.mime_type in _IMAGE_TYPES

    @property
    @override
    def image_last_updated(self) -> datetime | None:
        """When the picture came."""
        return self._taken

    @override
    async def async_image(self) -> bytes | None:
        """Return the picture."""
        return None if self._content is None else self._content.data

    @override
    @callback
    def _changed(self, content: ResourceContents | None) -> None:
        if content is not None and content.mime_type in _IMAGE_TYPES:
            self._attr_content_type = content.mime_type
            self._taken = dt_util.utcnow()


def key_of(resource: Resource) -> str:
    """Return what distinguishes the entity of a resource: its URI may be long, and holds anything."""
    return _PREFIX + hashlib.sha256(resource.uri.encode()).hexdigest()[:16]


def read_value(text: str) -> tuple[Value, Any]:
    """Return the state for a text, and its data if it is an object or a list."""
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    match value:
        case bool():
            return ("on" if value else "off"), None
        case int() | float() if is_bounded(value, size=64, depth=1) and math.isfinite(value):
            return value, None
        case str():
            return one_line(value, _MAX_STATE), None
        case list() | dict() if is_bounded(value, size=_MAX_ATTRIBUTE, depth=_MAX_DEPTH):
            inner = value.get("value", value.get("state")) if isinstance(value, dict) else None
            if isinstance(inner, list | dict | None):
                return len(value), clean_data(value)
            return read_value(json.dumps(inner))[0], clean_data(value)
    return None, None


@callback
def async_add_resource_entities(
    entry: XiaozhiConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
    platform: str,
    accepts: Callable[[Resource], bool],
    factory: Callable[[Device, Resource], ResourceEntity],
) -> None:
    """Add the entities of the resources of each device, and remove them with their resources."""

    @callback
    def follow(device: Device) -> None:
        _Adder(entry, async_add_entities, platform, accepts, factory, device)

    entry.async_on_unload(entry.runtime_data.listen_for_devices(follow))


class _Adder:
    """Adds and removes the entities of one platform for the resources of one device."""

    def __init__(
        self,
        entry: XiaozhiConfigEntry,
        async_add_entities: AddConfigEntryEntitiesCallback,
        platform: str,
        accepts: Callable[[Resource], bool],
        factory: Callable[[Device, Resource], ResourceEntity],
        device: Device,
    ) -> None:
        self._entry = entry
        self._add = async_add_entities
        self._platform = platform
        self._accepts = accepts
        self._factory = factory
        self._known: tuple[Resource, ...] = ()
        self._present: dict[str, ResourceEntity] = {}
        self._new = TokenBucket(rate=_NEW_PER_DAY / 86400, burst=_NEW_PER_DAY)
        self._device = device
        device.listen(["offers"], self._offers_changed)
        self._offers_changed()

    @callback
    def _offers_changed(self) -> None:
        """Follow the list of resources."""
        device = self._device
        if device.state.offers.resources is self._known:
            return
        self._known = device.state.offers.resources
        wanted = {key_of(each): each for each in self._known if self._accepts(each)}
        for key in self._present.keys() - wanted.keys():
            self._remove(self._present.pop(key))
        new = []
        for key, resource in wanted.items():
            if key not in self._present and len(self._present) < _MAX_ENTITIES and self._admits(device, key):
                self._present[key] = self._factory(device, resource)
                new.append(self._present[key])
        if new:
            self._add(new, config_subentry_id=device.subentry_id)

    def _admits(self, device: Device, key: str) -> bool:
        registry = er.async_get(device.hass)
        known = registry.async_get_entity_id(self._platform, DOMAIN, f"{device.mac}_{key}") is not None
        return known or self._new.take(device.hass.loop.time())

    @callback
    def _remove(self, entity: ResourceEntity) -> None:
        registry, unique_id = er.async_get(entity.device.hass), entity.unique_id or ""
        entity_id = registry.async_get_entity_id(self._platform, DOMAIN, unique_id)
        known = registry.async_get(entity_id) if entity_id else None
        if known is not None and known.disabled_by is er.RegistryEntryDisabler.INTEGRATION:
            # Nobody has wanted it. Without a config entry, it is forgotten after a month.
            registry.async_update_entity(known.entity_id, config_entry_id=None, config_subentry_id=None)
            registry.async_remove(known.entity_id)
        elif entity.hass is not None:
            self._entry.async_create_task(
                entity.device.hass, entity.async_remove(), "xiaozhi remove resource"
            )
