"""Conditions: whether a device can be reached."""

from collections.abc import Mapping
from typing import override

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.core import State
from homeassistant.helpers.automation import DomainSpec
from homeassistant.helpers.condition import Condition, EntityStateConditionBase

from .targets import own_satellites


class _ReachableCondition(EntityStateConditionBase):
    """A device can be reached."""

    _domain_specs: Mapping[str, DomainSpec] = {SATELLITE_DOMAIN: DomainSpec(value_source="reachable")}
    _states: set[str | bool] = {True}  # noqa: RUF012 - the base class declares it so

    @override
    def entity_filter(self, entities: set[str]) -> set[str]:
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


CONDITIONS: Mapping[str, type[Condition]] = {
    "is_reachable": _ReachableCondition,
    "is_not_reachable": _UnreachableCondition,
}
