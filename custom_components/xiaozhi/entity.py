"""Base of all entities of a device."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, override

from homeassistant.core import callback
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity import Entity, EntityDescription
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.typing import UNDEFINED

from .const import DOMAIN
from .device import Device
from .gateway import XiaozhiConfigEntry
from .protocol.status import STATUS_TOOL
from .rights import check_entity
from .tool_entities import Reading, ToolEntity
from .tool_values import as_flag


class XiaozhiEntity(Entity):
    """An entity of a device; it is written whenever the device changes."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, device: Device, description: EntityDescription) -> None:
        """Prepare the entity `description` of a device."""
        self.device = device
        self.entity_description = description
        self._attr_unique_id = f"{device.mac}_{description.key}"
        self._attr_device_info = DeviceInfo(identifiers={(DOMAIN, device.mac)})

    @property
    @override
    def available(self) -> bool:
        """Whether the state is current, as far as the device's kind of link can tell."""
        return self.device.available

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.add_listener(self._device_changed))

    @callback
    def _device_changed(self) -> None:
        self.async_write_ha_state()


class XiaozhiToolEntity[ToolT: ToolEntity](XiaozhiEntity):
    """An entity that tools of the device make. When they are gone it goes, and its owner may delete it."""

    def __init__(self, device: Device, tool: ToolT, description: EntityDescription) -> None:
        """Prepare the entity `tool` of a device."""
        super().__init__(device, description)
        self.tool = tool

    @property
    @override
    def available(self) -> bool:
        """Whether the device can be reached and still has the tools."""
        return super().available and self._current is not None

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device's tools, and have its state read."""
        await super().async_added_to_hass()
        for reading in self._readings():
            if reading is not None and reading.tool != STATUS_TOOL:
                self.async_on_remove(self.device.read_regularly(reading.tool))

    def _readings(self) -> tuple[Reading | None, ...]:
        """Return what its state is read from."""
        return ()

    @property
    def _current(self) -> ToolT | None:
        current = self.device.toolbox.entities.get(self.tool.key)
        return current if isinstance(current, type(self.tool)) else None

    @override
    @callback
    def _device_changed(self) -> None:
        if (current := self._current) is None:
            self.hass.async_create_task(self.async_remove())
        else:
            self.tool = current
            super()._device_changed()

    async def _change(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Call a tool. Raises `Unauthorized` if the user may not, and as `Device.change`."""
        await check_entity(self.hass, self._context, self.device, tool)
        await self.device.change(tool, arguments)

    def _flag(self, reading: Reading) -> bool | None:
        return as_flag(self.device.toolbox.value(reading), reading.on_off)

    def _last_argument(self, tool: str, argument: str) -> Any:
        """Return what a setter was last called with, from here or from elsewhere."""
        call = self.device.toolbox.last_call([tool])
        return call.arguments.get(argument) if call else None


def describe[DescriptionT: EntityDescription](
    kind: type[DescriptionT], tool: ToolEntity, **more: Any
) -> DescriptionT:
    """Return Home Assistant's description of an entity that tools make."""
    return kind(
        key=tool.key,
        name=UNDEFINED if tool.name is None else tool.name,
        translation_key=tool.translation_key,
        entity_category=tool.category,
        entity_registry_enabled_default=tool.enabled,
        **more,
    )


@callback
def async_add_tool_entities[ToolT: ToolEntity](
    entry: XiaozhiConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
    kind: type[ToolT],
    factory: Callable[[Device, ToolT], Entity],
) -> None:
    """Add the entities that the tools of each device make, now and whenever there are new ones."""

    @callback
    def follow(device: Device) -> None:
        added: set[str] = set()
        known: Mapping[str, ToolEntity] = {}

        @callback
        def add_missing() -> None:
            nonlocal known
            if device.toolbox.entities is known:
                return
            known = device.toolbox.entities
            tools = [tool for tool in known.values() if isinstance(tool, kind)]
            entities = [factory(device, tool) for tool in tools if tool.key not in added]
            added.clear()
            added.update(tool.key for tool in tools)
            if entities:
                async_add_entities(entities, config_subentry_id=device.subentry_id)

        add_missing()
        device.add_listener(add_missing)

    entry.async_on_unload(entry.runtime_data.listen_for_devices(follow))


@callback
def async_add_device_entities[DescriptionT: EntityDescription](
    entry: XiaozhiConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
    descriptions: Iterable[DescriptionT],
    factory: Callable[[Device, DescriptionT], Entity],
    exists: Callable[[Device, DescriptionT], bool] = lambda _device, _description: True,
) -> None:
    """Add the entities that exist on each device, now and whenever a device or one of its tools appears."""

    @callback
    def follow(device: Device) -> None:
        missing = list(descriptions)

        @callback
        def add_missing() -> None:
            if found := [description for description in missing if exists(device, description)]:
                for description in found:
                    missing.remove(description)
                entities: list[Any] = [factory(device, description) for description in found]
                async_add_entities(entities, config_subentry_id=device.subentry_id)

        add_missing()
        device.add_listener(add_missing)

    entry.async_on_unload(entry.runtime_data.listen_for_devices(follow))
