"""Conditions: whether a device can be reached, and whether an alarm rings."""

from collections.abc import Mapping
from typing import Unpack, override

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.automation import DomainSpec
from homeassistant.helpers.condition import (
    Condition,
    ConditionCheckParams,
    ConditionConfig,
    EntityStateConditionBase,
)
from homeassistant.helpers.target import TargetSelection
from homeassistant.helpers.typing import ConfigType

from ..gateway import running_gateway
from .targets import TARGET_SCHEMA, devices_in, own_satellites


class _ReachableCondition(EntityStateConditionBase):
    """A device can be reached."""

    _domain_specs: Mapping[str, DomainSpec] = {SATELLITE_DOMAIN: DomainSpec(value_source="reachable")}
    _states: set[str | bool] = {True}  # noqa: RUF012 - the base class declares it so

    @override
    def entity_filter(self, entities: set[str]) -> set[str]:
        """Return our satellites among some entities."""
        return own_satellites(self._hass, super().entity_filter(entities))

    @override
    def _should_include(self, _state: State) -> bool:
        """Also take a device on MQTT that is off, and so has no state."""
        return True


class _UnreachableCondition(_ReachableCondition):
    """A device cannot be reached."""

    @override
    def is_valid_state(self, entity_state: State) -> bool:
        """Return whether the attribute is missing or says so."""
        return not super().is_valid_state(entity_state)


class _AlarmRingsCondition(Condition):
    """An alarm rings on a device of the target, or waits there for the device."""

    @override
    @classmethod
    async def async_validate_config(cls, hass: HomeAssistant, config: ConfigType) -> ConfigType:
        validated: ConfigType = TARGET_SCHEMA(config)
        return validated

    def __init__(self, hass: HomeAssistant, config: ConditionConfig) -> None:
        super().__init__(hass, config)
        self._target = TargetSelection(config.target or {})

    @override
    def _async_check(self, **kwargs: Unpack[ConditionCheckParams]) -> bool:
        """Return whether one of the devices rings."""
        gateway = running_gateway(self._hass)
        devices = devices_in(self._hass, self._target)[0]
        return gateway is not None and any(gateway.clock(device).alarms.rings for device in devices)


CONDITIONS: Mapping[str, type[Condition]] = {
    "is_reachable": _ReachableCondition,
    "is_not_reachable": _UnreachableCondition,
    "alarm_rings": _AlarmRingsCondition,
}
