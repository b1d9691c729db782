"""Base of all entities of a device, and the sources that add and remove them."""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Final, override

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity import Entity, EntityDescription
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback, async_get_current_platform

from .actions.rights import check_entity
from .const import DOMAIN
from .device.call_log import logged_call
from .device.device import Device
from .device.guest import async_files
from .device.registered_entities import prepare_entries, refused_keys
from .device.state import AVAILABLE, SETTINGS, part_key
from .gateway import Gateway, XiaozhiConfigEntry
from .tools.answer_values import as_flag
from .tools.stock_tools import STATUS_TOOL
from .tools.tool_entities import Call, OptionSetter, Reading, Setter, ToolEntity

# Keys on which the existence of entities depends.
_SHOW_WHAT_EXISTS: Final = ("tools", "status", "link", "ip", "board", "listens_while_speaking")


class XiaozhiEntity(Entity):
    """An entity of a device. Its state is written whenever something that it shows has changed."""

    _attr_has_entity_name = True
    _attr_should_poll = False
    follows: Collection[str] = (AVAILABLE,)
    """Keys that the entity follows, as for `DeviceRecord.listen`. Without `AVAILABLE`, always available."""
    stays: ClassVar[bool] = True
    """Whether it stays once it was added, and has no value while nothing is known."""
    _caller: Context | None = None

    def __init__(self, gateway: Gateway, device: Device, described: EntityDescription | ToolEntity) -> None:
        self.gateway = gateway
        self.device = device
        self._attr_unique_id = f"{device.mac}_{described.key}"
        self._attr_device_info = device.info
        if not isinstance(described, ToolEntity):
            self.entity_description = described

    @classmethod
    def exists(cls, device: Device, description: Any) -> bool:
        """Whether a device is to get the entity of a description."""
        return True

    @property
    @override
    def available(self) -> bool:
        """Whether the state of the device counts as current, if that matters."""
        return AVAILABLE not in self.follows or self.device.state.available

    @override
    @callback
    def async_set_context(self, context: Context) -> None:
        """Remember the caller: for the logbook, and since the rights needed depend on the tool."""
        super().async_set_context(context)
        self._caller = context

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(self.device.record.listen(self.follows, self.device_changed))

    @callback
    def device_changed(self) -> None:
        """Write the state."""
        self.async_write_ha_state()


class XiaozhiOccasionalEntity(XiaozhiEntity):
    """An entity that is hidden on pages while it is of no use.

    A choice of the owner is kept: hidden for good, shown until the next change.
    """

    _is_shown: bool | None = None

    @property
    @abstractmethod
    def is_of_use(self) -> bool:
        """Whether the entity shows or does something now."""

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self._show()

    @override
    @callback
    def device_changed(self) -> None:
        self._show()
        super().device_changed()

    @callback
    def _show(self) -> None:
        is_of_use, entry = self.is_of_use, self.registry_entry
        if self._is_shown is is_of_use or entry is None:
            return
        self._is_shown = is_of_use
        hider = None if is_of_use else er.RegistryEntryHider.INTEGRATION
        if entry.hidden_by not in (hider, er.RegistryEntryHider.USER):
            er.async_get(self.hass).async_update_entity(self.entity_id, hidden_by=hider)


class XiaozhiSettingEntity(XiaozhiEntity):
    """An entity of a setting of ours, which is available without the device."""

    follows: Collection[str] = (SETTINGS,)


class XiaozhiToolEntity[ToolT: ToolEntity](XiaozhiEntity):
    """An entity made from tools of the device; it is removed when they are gone or make another entity."""

    def __init__(self, gateway: Gateway, device: Device, tool: ToolT) -> None:
        super().__init__(gateway, device, tool)
        self.tool = tool
        if tool.name is not None:
            self._attr_name = tool.name
        self._attr_translation_key = tool.translation_key
        self._attr_device_class = tool.device_class
        self._attr_entity_category = tool.category
        self._attr_entity_registry_enabled_default = tool.enabled
        self._readings = tool.readings
        # Of its readings, and of the calls that its state depends on.
        calls = (part_key("calls", each) for each in tool.tools) if tool.follows_calls else ()
        self.follows = (AVAILABLE, *map(_key, self._readings), *calls)

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        for reading in self._readings:
            if reading.tool != STATUS_TOOL:
                self.async_on_remove(self.device.commands.read_regularly(reading.tool))

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only that of the last call."""
        return self.tool.follows_calls and not self._readings

    @override
    @callback
    def device_changed(self) -> None:
        """Write the state, unless the entity is about to be replaced."""
        if self.device.tools.entities.get(self.tool.key) == self.tool:
            super().device_changed()

    async def _change(self, tool: str, arguments: Mapping[str, Any], *, only_attribute: bool = False) -> None:
        """Call a tool, and log that if it changes `only_attribute`. Raises as `check_entity` and `change`."""
        await check_entity(self.hass, self._caller, self.device, tool)
        with logged_call(self.device, tool, self._caller, only_failures=not only_attribute):
            await self.device.commands.change(tool, arguments)

    async def _call(self, call: Call) -> None:
        await self._change(call.tool, call.arguments)

    def _flag(self, reading: Reading) -> bool | None:
        return as_flag(self.device.tools.last_value(reading), reading.on_off)

    def _value(self, reading: Reading | None, setter: Setter | OptionSetter) -> Any:
        """Return a value: as last read, or else as last set, by this entity or by others."""
        if reading is not None:
            return self.device.tools.last_value(reading)
        call = self.device.tools.last_call([setter.tool])
        return call.arguments.get(setter.argument) if call else None


def _key(reading: Reading) -> str:
    if reading.tool == STATUS_TOOL:
        return part_key("status", reading.member or "")
    return part_key("answers", reading.tool)


type SetUpEntry = Callable[
    [HomeAssistant, XiaozhiConfigEntry, AddConfigEntryEntitiesCallback], Awaitable[None]
]


def entities_from(*sources: EntitySource) -> SetUpEntry:
    """Return the set-up of a platform: entities from these sources and from guests, now and later."""

    async def async_setup_entry(
        hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
    ) -> None:
        guests, platform = entry.runtime_data.guests, async_get_current_platform().domain
        added = [file.ENTITIES for file in await async_files(hass, guests, platform)]
        for source in chain(sources, *added):
            source.follow(entry, async_add_entities)

    return async_setup_entry


class EntitySource(ABC):
    """Entities of a platform: those that exist, and those that are to come."""

    @abstractmethod
    def follow(self, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback) -> None:
        """Add the entities, until the entry is unloaded."""


class DeviceEntities[SpecT](EntitySource):
    """Entities of each device: now, and when one of the `keys` of its record changes."""

    keys: Iterable[str] = _SHOW_WHAT_EXISTS

    @abstractmethod
    def wanted(self, device: Device) -> Mapping[str, SpecT]:
        """Return the entities that a device is to have now, by key; one that has changed is replaced."""

    @abstractmethod
    def create(self, gateway: Gateway, device: Device, spec: SpecT) -> Entity:
        """Create an entity."""

    def prepare_registry(self, device: Device, wanted: Mapping[str, SpecT]) -> None:
        """Prepare the entity registry for the wanted entities, before new ones are added."""

    @override
    def follow(self, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback) -> None:
        @callback
        def begin(device: Device) -> None:
            kept = _KeptEntities(self, entry, async_add_entities, device)
            # Late entities would clash with those of the next set-up.
            device.until_closed(device.record.listen(self.keys, kept.update))
            kept.update()

        entry.async_on_unload(entry.runtime_data.listen_for_devices(begin))


class DescribedEntities[DescriptionT: EntityDescription](DeviceEntities[DescriptionT]):
    """The entities of one class that `exist` on a device, or have done so."""

    def __init__(
        self,
        kind: type[XiaozhiEntity],
        descriptions: Iterable[DescriptionT],
        keys: Iterable[str] = _SHOW_WHAT_EXISTS,
    ) -> None:
        self._kind = kind
        self._descriptions = descriptions
        self.keys = keys
        self._domain = ""

    @override
    def follow(self, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback) -> None:
        self._domain = async_get_current_platform().domain
        super().follow(entry, async_add_entities)

    @override
    def wanted(self, device: Device) -> dict[str, DescriptionT]:
        kind, registered = self._kind, er.async_get(device.hass).async_get_entity_id
        return {
            each.key: each
            for each in self._descriptions
            if kind.exists(device, each)
            or (kind.stays and registered(self._domain, DOMAIN, f"{device.mac}_{each.key}"))
        }

    @override
    def create(self, gateway: Gateway, device: Device, spec: DescriptionT) -> Entity:
        return self._kind(gateway, device, spec)


class ToolEntities[ToolT: ToolEntity](DeviceEntities[ToolT]):
    """The entities of one class that are made from the tools of each device."""

    keys = ("tools",)

    def __init__(self, kind: type[XiaozhiToolEntity[ToolT]], tool_kind: type[ToolT]) -> None:
        self._kind = kind
        self._tool_kind = tool_kind

    @override
    def wanted(self, device: Device) -> dict[str, ToolT]:
        refused = refused_keys(device)
        return {
            key: tool
            for key, tool in device.tools.entities.items()
            if isinstance(tool, self._tool_kind) and key not in refused
        }

    @override
    def create(self, gateway: Gateway, device: Device, spec: ToolT) -> Entity:
        return self._kind(gateway, device, spec)

    @override
    def prepare_registry(self, device: Device, wanted: Mapping[str, ToolT]) -> None:
        prepare_entries(device, self._tool_kind.platform, wanted)


@dataclass(slots=True)
class _KeptEntities[SpecT]:
    source: DeviceEntities[SpecT]
    entry: XiaozhiConfigEntry
    add: AddConfigEntryEntitiesCallback
    device: Device
    last_wanted: Mapping[str, SpecT] | None = None
    entities: dict[str, tuple[SpecT, Entity]] = field(default_factory=dict)
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @callback
    def update(self) -> None:
        """Add and remove entities, if others are wanted than before."""
        wanted = self.source.wanted(self.device)
        if wanted != self.last_wanted:
            self.last_wanted = wanted
            self.entry.async_create_task(self.device.hass, self._change(), "xiaozhi change entities")

    async def _change(self) -> None:
        async with self.changing:
            source, device, gateway = self.source, self.device, self.entry.runtime_data
            wanted = source.wanted(device)
            for key, (spec, entity) in tuple(self.entities.items()):
                if key not in wanted or wanted[key] != spec:
                    del self.entities[key]
                    # A disabled entity was never added.
                    if entity.hass is not None:
                        await entity.async_remove()
            async with gateway.adding_entities:
                source.prepare_registry(device, wanted)
                new = {
                    key: (spec, source.create(gateway, device, spec))
                    for key, spec in wanted.items()
                    if key not in self.entities
                }
                self.entities |= new
                # Deleted while others were added?
                if new and device.subentry_id in self.entry.subentries:
                    self.add((entity for _, entity in new.values()), config_subentry_id=device.subentry_id)
                    # At a start, those of all devices are added; sound is sent meanwhile.
                    if self.entry.state is ConfigEntryState.SETUP_IN_PROGRESS:
                        await asyncio.sleep(0)
