"""Base of all entities of a device."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, override
from weakref import WeakKeyDictionary

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.core import CALLBACK_TYPE, Context, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity import Entity, EntityDescription
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.typing import UNDEFINED

from .device.call_log import logged_call
from .device.device import Device
from .device.state import AVAILABLE, ENTITIES, STATUS_READ, answer_key, call_key, status_key
from .gateway import XiaozhiConfigEntry
from .lean_entity import LeanEntity
from .rights import check_entity
from .tools.catalogue import STATUS_TOOL
from .tools.entities import Call, Choice, Reading, Setter, ToolEntity
from .tools.entity_limits import async_admit, async_forget_merged, async_remove_surplus
from .tools.values import as_flag, as_number

# Seconds until entities over the daily limit are tried again.
_RETRY: Final = 3600
# Whether a device has an entity depends on these.
_SHOW_WHAT_EXISTS: Final = (ENTITIES, "tools", "status", "link", "ip", "timers", "listens_while_speaking")


class XiaozhiEntity(LeanEntity):
    """An entity of a device. Its state is written whenever something that it shows has changed."""

    _attr_has_entity_name = True
    _attr_should_poll = False
    _writing = False
    _caller: Context | None = None

    def __init__(self, device: Device, description: EntityDescription) -> None:
        self.device = device
        self.entity_description = description

    @property
    @override
    def unique_id(self) -> str:
        """Return the device's MAC with the kind of the entity."""
        return f"{self.device.mac}_{self.entity_description.key}"

    @property
    @override
    def device_info(self) -> DeviceInfo:
        """Return what says to which device it belongs."""
        return self.device.info

    @property
    def follows(self) -> Iterable[str]:
        """Keys of what the entity shows, as for `Device.listen`."""
        return (AVAILABLE,)

    @property
    def current(self) -> bool:
        """Whether there is a state to show."""
        return self.device.available

    @property
    @override
    def available(self) -> bool:
        """Return whether there is a state to show; always True for actions.

        Home Assistant's actions silently skip unavailable entities. Here, an action that cannot reach the
        device fails with the reason.
        """
        return self.current if self._writing else True

    @override
    @callback
    def _async_write_ha_state(self) -> None:
        self._writing = True
        try:
            super()._async_write_ha_state()
        finally:
            self._writing = False

    @override
    @callback
    def async_set_context(self, context: Context) -> None:
        """Remember the caller: for the logbook, and since the rights needed depend on the tool."""
        super().async_set_context(context)
        self._caller = context

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.listen(self.follows, self.device_changed))

    @callback
    def device_changed(self) -> None:
        """Write the state."""
        self.async_write_ha_state()


class XiaozhiToolEntity[ToolT: ToolEntity](XiaozhiEntity):
    """An entity made from tools of the device; it is removed when they are gone or make another entity."""

    def __init__(self, device: Device, tool: ToolT, description: EntityDescription) -> None:
        super().__init__(device, description)
        self.tool = tool
        self._readings = tool.readings

    @override
    def get_initial_entity_options(self) -> er.EntityOptionsType | None:
        """Return the options at first: assistants get what has a risk only if the owner exposes it."""
        options = super().get_initial_entity_options()
        if not self.tool.guarded:
            return options
        return {**(options or {}), CONVERSATION_DOMAIN: {"should_expose": False}}

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device, and have the entity's state read regularly."""
        await super().async_added_to_hass()
        for reading in self._readings:
            if reading.tool != STATUS_TOOL:
                self.async_on_remove(self.device.commands.read_regularly(reading.tool))

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only what was last called."""
        return self.tool.follows_calls and not self._readings

    @property
    @override
    def follows(self) -> Iterable[str]:
        """Return the keys of what is read, and of the calls that its state depends on."""
        calls = map(call_key, self.tool.tools) if self.tool.follows_calls else ()
        return {AVAILABLE, *map(_key, self._readings), *calls}

    @override
    @callback
    def device_changed(self) -> None:
        """Write the state, unless the entity is about to be replaced."""
        if self.device.tools.entities.get(self.tool.key) == self.tool:
            super().device_changed()

    async def _change(self, tool: str, arguments: Mapping[str, Any], *, only_attribute: bool = False) -> None:
        """Call a tool. Raises `Unauthorized`, and as `DeviceCommands.change`.

        Of a change of the state, Home Assistant writes a line into the logbook; with `only_attribute`, we do.
        """
        await check_entity(self.hass, self._caller, self.device, tool)
        with logged_call(self.device, tool, self._caller, only_failures=not only_attribute):
            await self.device.commands.change(tool, arguments)

    async def _call(self, call: Call, *, only_attribute: bool = False) -> None:
        """Make a call. Raises as `_change`."""
        await self._change(call.tool, call.arguments, only_attribute=only_attribute)

    async def async_retire(self) -> None:
        """Remove the entity, unless it is disabled and so was never added."""
        if self.hass is not None:
            await self.async_remove()

    def _flag(self, reading: Reading) -> bool | None:
        told = as_flag(self.device.tools.last_value(reading), reading.on_off)
        return None if told is None else told is not reading.negated

    def _last_of(self, yes: Call, no: Call) -> bool | None:
        """Return whether `yes` was the last call of the two, by this entity or by others."""
        last = self.device.tools.last_call([yes.tool, no.tool])
        return True if last == yes else False if last == no else None

    def _is_switched_on(self, state: Reading | None, on: Call, off: Call) -> bool | None:
        """Return whether something is on: as last read, or where that says nothing, as last switched."""
        if state is not None and (told := self._flag(state)) is not None:
            return told
        return self._last_of(on, off)

    def _last_argument(self, tool: str, argument: str) -> Any:
        """Return the argument of the last call of a setter, by this entity or by others."""
        call = self.device.tools.last_call([tool])
        return call.arguments.get(argument) if call else None

    def _chosen(self, choice: Choice, reading: Reading | None) -> str | None:
        """Return the option of a choice: as last read, or else as last set."""
        if reading is not None:
            return choice.option_of(self.device.tools.last_value(reading))
        return choice.option_of(self._last_argument(choice.tool, choice.argument))

    def _set_to(self, setter: Setter, reading: Reading | None) -> int | float | None:
        """Return the value of a setter: as last read, or else as last set."""
        if reading is not None:
            return as_number(self.device.tools.last_value(reading))
        return as_number(self._last_argument(setter.tool, setter.argument))


def _key(reading: Reading) -> str:
    """Return the key of what is read."""
    return status_key(reading.member or "") if reading.tool == STATUS_TOOL else answer_key(reading.tool)


def describe[DescriptionT: EntityDescription](
    kind: type[DescriptionT], tool: ToolEntity, **more: Any
) -> DescriptionT:
    """Return Home Assistant's description of an entity made from tools."""
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
    """Add the entities made from the tools of each device, and replace them when the tools change."""
    adder = _ToolEntityAdder(entry, async_add_entities, kind, factory)
    entry.async_on_unload(entry.runtime_data.listen_for_devices(adder.follow))


@callback
def async_add_device_entities[DescriptionT: EntityDescription](
    entry: XiaozhiConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
    descriptions: Iterable[DescriptionT],
    factory: Callable[[Device, DescriptionT], Entity],
    exists: Callable[[Device, DescriptionT], bool] = lambda _device, _description: True,
) -> None:
    """Add the entities that exist on each device, now and whenever a device or one of its tools appears."""
    adder = _DeviceEntityAdder(async_add_entities, tuple(descriptions), factory, exists)
    entry.async_on_unload(entry.runtime_data.listen_for_devices(adder.follow))


class _ToolEntities[ToolT: ToolEntity]:
    """The entities of one platform made from the tools of one device."""

    __slots__ = ("known", "present", "replacing", "retry_at")

    def __init__(self) -> None:
        self.present: dict[str, XiaozhiToolEntity[ToolT]] = {}
        self.known: Mapping[str, ToolEntity] | None = None
        """The entities of all platforms at the last look."""
        self.replacing = asyncio.Lock()
        self.retry_at = 0.0
        """When entities over the limit are tried again, by the event loop's clock."""


class _ToolEntityAdder[ToolT: ToolEntity]:
    """Adds and replaces the entities of one platform made from tools, for all devices."""

    def __init__(
        self,
        entry: XiaozhiConfigEntry,
        async_add_entities: AddConfigEntryEntitiesCallback,
        kind: type[ToolT],
        factory: Callable[[Device, ToolT], XiaozhiToolEntity[ToolT]],
    ) -> None:
        self._hass = entry.runtime_data.hass
        self._entry = entry
        self._add = async_add_entities
        self._kind = kind
        self._platform = kind.platform or ""
        self._factory = factory
        self._entities = WeakKeyDictionary[Device, _ToolEntities[ToolT]]()

    @callback
    def follow(self, device: Device) -> None:
        self._entities[device] = _ToolEntities()
        look = partial(self._look, device)
        look()
        # The status is read every minute: entities over the limit are tried again then.
        device.listen([ENTITIES, STATUS_READ], look)

    @callback
    def _look(self, device: Device) -> None:
        entities, now = self._entities[device], self._hass.loop.time()
        due = device.tools.withheld.get(self._platform) and now >= entities.retry_at
        if due or device.tools.entities is not entities.known:
            entities.known = device.tools.entities
            entities.retry_at = now + _RETRY
            self._entry.async_create_task(
                self._hass, self._replace(device, entities), "xiaozhi replace entities"
            )

    async def _replace(self, device: Device, entities: _ToolEntities[ToolT]) -> None:
        present = entities.present
        async with entities.replacing:
            made = device.tools.entities.items()
            tools = {key: tool for key, tool in made if isinstance(tool, self._kind)}
            for key, entity in tuple(present.items()):
                if tools.get(key) != entity.tool:
                    del present[key]
                    await entity.async_retire()
            admitted = async_admit(self._hass, device, self._platform, tools.keys() - present.keys())
            new = {key: self._factory(device, tool) for key, tool in tools.items() if key in admitted}
            present.update(new)
            if new:
                self._add(new.values(), config_subentry_id=device.subentry_id)
            async_forget_merged(self._hass, device, self._platform)
            async_remove_surplus(self._hass, device)


class _DeviceEntityAdder[DescriptionT: EntityDescription]:
    """Adds the other entities of one platform, for all devices; each is followed until it has them all."""

    def __init__(
        self,
        async_add_entities: AddConfigEntryEntitiesCallback,
        descriptions: tuple[DescriptionT, ...],
        factory: Callable[[Device, DescriptionT], Entity],
        exists: Callable[[Device, DescriptionT], bool],
    ) -> None:
        self._add = async_add_entities
        self._descriptions = descriptions
        self._factory = factory
        self._exists = exists
        self._missing = WeakKeyDictionary[Device, tuple[DescriptionT, ...]]()
        self._unlisten = WeakKeyDictionary[Device, CALLBACK_TYPE]()

    @callback
    def follow(self, device: Device) -> None:
        self._missing[device] = self._descriptions
        self._unlisten[device] = device.listen(_SHOW_WHAT_EXISTS, partial(self._look, device))
        self._look(device)

    @callback
    def _look(self, device: Device) -> None:
        missing = self._missing[device]
        if not (found := [description for description in missing if self._exists(device, description)]):
            return
        self._missing[device] = tuple(description for description in missing if description not in found)
        if not self._missing[device]:
            self._unlisten.pop(device)()
        entities: list[Any] = [self._factory(device, description) for description in found]
        self._add(entities, config_subentry_id=device.subentry_id)
