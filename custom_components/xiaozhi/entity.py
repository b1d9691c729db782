"""Base of all entities of a device."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, override

from homeassistant.core import Context, callback
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity import Entity, EntityDescription
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.typing import UNDEFINED

from .const import DOMAIN
from .device.device import Device
from .gateway import XiaozhiConfigEntry
from .rights import check_entity
from .tools.catalogue import STATUS_TOOL
from .tools.entities import Reading, ToolEntity
from .tools.entity_limits import async_admit, async_remove_surplus
from .tools.values import as_flag

# Seconds after which entities that were too many for a day are tried again.
_ADMIT_AGAIN: Final = 3600


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
    def current(self) -> bool:
        """Whether there is a state to show, as far as the device's kind of link can tell."""
        return self.device.available

    @override
    @callback
    def _async_write_ha_state(self) -> None:
        """Write the state, or that the entity is unavailable.

        It is so only while it is written: Home Assistant's actions skip unavailable entities without a word
        to their caller, and one that cannot reach the device is to fail with the reason.
        """
        self._attr_available = self.current
        try:
            super()._async_write_ha_state()
        finally:
            self._attr_available = True

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.add_listener(self._device_changed))

    @callback
    def _device_changed(self) -> None:
        self.async_write_ha_state()


class XiaozhiToolEntity[ToolT: ToolEntity](XiaozhiEntity):
    """An entity that tools of the device make.

    When they are gone or make something else it is removed, and its owner may delete it.
    """

    def __init__(self, device: Device, tool: ToolT, description: EntityDescription) -> None:
        """Prepare the entity `tool` of a device."""
        super().__init__(device, description)
        self.tool = tool
        self._caller: Context | None = None

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device's tools, and have its state read."""
        await super().async_added_to_hass()
        for reading in self._readings():
            if reading is not None and reading.tool != STATUS_TOOL:
                self.async_on_remove(self.device.read_regularly(reading.tool))

    @override
    @callback
    def async_set_context(self, context: Context) -> None:
        """Remember who acts, since what they may do depends on the tool."""
        super().async_set_context(context)
        self._caller = context

    def _readings(self) -> tuple[Reading | None, ...]:
        """Return what its state is read from."""
        return ()

    @override
    @callback
    def _device_changed(self) -> None:
        # It is replaced otherwise.
        if self.device.tools.entities.get(self.tool.key) == self.tool:
            super()._device_changed()

    async def _change(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Call a tool. Raises `Unauthorized` if the user may not, and as `Device.change`."""
        await check_entity(self.hass, self._caller, self.device, tool)
        await self.device.change(tool, arguments)

    async def async_retire(self) -> None:
        """Remove it, unless it is disabled and so was never added."""
        if self.hass is not None:
            await self.async_remove()

    def _flag(self, reading: Reading) -> bool | None:
        return as_flag(self.device.tools.last_value(reading), reading.on_off)

    def _last_argument(self, tool: str, argument: str) -> Any:
        """Return what a setter was last called with, from here or from elsewhere."""
        call = self.device.tools.last_call([tool])
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
    factory: Callable[[Device, ToolT], XiaozhiToolEntity[ToolT]],
) -> None:
    """Add the entities that the tools of each device make, and replace those whose tools have changed."""
    hass, platform = entry.runtime_data.hass, kind.platform or ""

    @callback
    def follow(device: Device) -> None:
        present: dict[str, XiaozhiToolEntity[ToolT]] = {}
        known: Mapping[str, ToolEntity] | None = None
        replacing = asyncio.Lock()
        again = 0.0

        async def replace() -> None:
            async with replacing:
                tools = {key: tool for key, tool in device.tools.entities.items() if isinstance(tool, kind)}
                for key, entity in tuple(present.items()):
                    if tools.get(key) != entity.tool:
                        del present[key]
                        await entity.async_retire()
                admitted = async_admit(hass, device, platform, tools.keys() - present.keys())
                new = {key: factory(device, tool) for key, tool in tools.items() if key in admitted}
                present.update(new)
                if new:
                    async_add_entities(new.values(), config_subentry_id=device.subentry_id)
                async_remove_surplus(hass, device)

        @callback
        def update() -> None:
            nonlocal known, again
            due = device.tools.withheld.get(platform) and hass.loop.time() >= again
            if due or device.tools.entities is not known:
                known = device.tools.entities
                again = hass.loop.time() + _ADMIT_AGAIN
                entry.async_create_task(hass, replace(), "xiaozhi replace entities")

        update()
        device.add_listener(update)

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
