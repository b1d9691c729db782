"""Triggers: events of a device, and its reachability."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Final, override

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.const import ATTR_DEVICE_ID, ATTR_ENTITY_ID, CONF_FOR, CONF_OPTIONS
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, State, callback
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.automation import DomainSpec
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.target import (
    TargetSelection,
    TargetStateChangedData,
    async_track_target_selector_state_change_event,
)
from homeassistant.helpers.trigger import (
    EntityTargetStateTriggerBase,
    Trigger,
    TriggerActionRunner,
    TriggerConfig,
    TriggerNotTriggeredReporter,
)
from homeassistant.helpers.typing import ConfigType
import voluptuous as vol

from ..const import DOMAIN
from ..device.events import EVENT_NOTIFICATION, EVENT_SIGNAL, ConversationEvent, DeviceEvent
from ..device.paired_device import PairedDevice
from ..gateway import find_device
from .targets import TARGET_SCHEMA, devices_in, own_satellites

# Not for each short gap of a Wi-Fi, nor when the integration is reloaded.
_UNREACHABLE_SCHEMA: Final = TARGET_SCHEMA.extend(
    {vol.Optional(CONF_OPTIONS, default={}): {vol.Optional(CONF_FOR, default=60): cv.positive_time_period}}
)

_CONF_METHOD: Final = "method"
_NOTIFICATION_SCHEMA: Final = TARGET_SCHEMA.extend(
    {vol.Optional(CONF_OPTIONS, default={}): {vol.Optional(_CONF_METHOD): cv.string}}
)


class _TargetTrigger(Trigger):
    """Something that happens on a device of the target. It needs no event entity, which few devices have."""

    _schema: ClassVar = TARGET_SCHEMA

    @override
    @classmethod
    async def async_validate_config(cls, hass: HomeAssistant, config: ConfigType) -> ConfigType:
        validated: ConfigType = cls._schema(config)
        return validated

    def __init__(self, hass: HomeAssistant, config: TriggerConfig) -> None:
        super().__init__(hass, config)
        self._selector = config.target or {}
        self._target = TargetSelection(self._selector)
        self._key = config.key.removeprefix(f"{DOMAIN}.")
        self._options = config.options or {}

    def _is_meant(self, device: PairedDevice) -> bool:
        return device in devices_in(self._hass, self._target)[0]


class EventTrigger(_TargetTrigger):
    """An event of a device."""

    kinds: ClassVar[Mapping[str, StrEnum]]
    """By the keys of the triggers."""

    @callback
    def _is_wanted(self, event: DeviceEvent) -> bool:
        return event.type is self.kinds[self._key]

    @override
    async def async_attach_runner(
        self, run_action: TriggerActionRunner, did_not_trigger: TriggerNotTriggeredReporter | None = None
    ) -> CALLBACK_TYPE:
        @callback
        def happened(device: PairedDevice, event: DeviceEvent) -> None:
            if self._is_wanted(event) and self._is_meant(device):
                variables = {"device_id": device.registry_id, "data": dict(event.attributes)}
                run_action(variables, f"{self._key} of {device.name}")

        return async_dispatcher_connect(self._hass, EVENT_SIGNAL, happened)


class _ConversationTrigger(EventTrigger):
    """An event of a conversation."""

    kinds: ClassVar = {
        "woken": ConversationEvent.WAKE_WORD,
        "conversation_started": ConversationEvent.STARTED,
        "answered": ConversationEvent.ANSWERED,
        "interrupted": ConversationEvent.INTERRUPTED,
        "conversation_failed": ConversationEvent.FAILED,
        "conversation_ended": ConversationEvent.ENDED,
    }


class _NotificationTrigger(_TargetTrigger):
    """A notification, also one beyond the bounds of the event entity."""

    _schema = _NOTIFICATION_SCHEMA

    @override
    async def async_attach_runner(
        self, run_action: TriggerActionRunner, did_not_trigger: TriggerNotTriggeredReporter | None = None
    ) -> CALLBACK_TYPE:
        method = self._options.get(_CONF_METHOD)

        @callback
        def notified(event: Event[Mapping[str, Any]]) -> None:
            device = find_device(self._hass, event.data[ATTR_DEVICE_ID] or "")
            if device is not None and self._is_meant(device) and method in (None, event.data[_CONF_METHOD]):
                variables = {"device_id": device.registry_id, "data": {**event.data}}
                run_action(variables, f"notification of {device.name}", event.context)

        return self._hass.bus.async_listen(EVENT_NOTIFICATION, notified)


class _ReachableTrigger(EntityTargetStateTriggerBase):
    """A device can be reached again."""

    _domain_specs: Mapping[str, DomainSpec] = {SATELLITE_DOMAIN: DomainSpec(value_source="reachable")}
    # A device on MQTT that is off has no state.
    _excluded_from_states: ClassVar[frozenset[str]] = frozenset()
    # The attribute is a boolean, and compared with this.
    _to_states: set[Any] = {True}  # noqa: RUF012 - the base class declares it so

    @override
    def entity_filter(self, entities: set[str]) -> set[str]:
        return own_satellites(self._hass, super().entity_filter(entities))


class _UnreachableTrigger(_TargetTrigger):
    """A device cannot be reached any more.

    A device on MQTT is then unavailable, which the base of the trigger above ignores.
    """

    _schema = _UNREACHABLE_SCHEMA

    @override
    async def async_attach_runner(
        self, run_action: TriggerActionRunner, did_not_trigger: TriggerNotTriggeredReporter | None = None
    ) -> CALLBACK_TYPE:
        waiting: dict[str, CALLBACK_TYPE] = {}

        @callback
        def changed(change: TargetStateChangedData) -> None:
            event = change.state_change_event
            entity_id = event.data["entity_id"]

            @callback
            def away(_now: datetime) -> None:
                del waiting[entity_id]
                # It may have been deleted or renamed.
                if self._hass.states.get(entity_id) is not None:
                    run_action({ATTR_ENTITY_ID: entity_id}, f"{entity_id} away", event.context)

            if _is_reachable(event.data["new_state"]):
                waiting.pop(entity_id, lambda: None)()
            elif _is_reachable(event.data["old_state"]):
                waiting[entity_id] = async_call_later(self._hass, self._options[CONF_FOR], away)

        stop = await async_track_target_selector_state_change_event(
            self._hass, self._selector, changed, partial(own_satellites, self._hass)
        )

        @callback
        def end() -> None:
            for unsubscribe in (stop, *waiting.values()):
                unsubscribe()

        return end


def _is_reachable(state: State | None) -> bool:
    return state is not None and state.attributes.get("reachable") is True


TRIGGERS: Mapping[str, type[Trigger]] = {
    **dict.fromkeys(_ConversationTrigger.kinds, _ConversationTrigger),
    "notification": _NotificationTrigger,
    "reachable": _ReachableTrigger,
    "unreachable": _UnreachableTrigger,
}
