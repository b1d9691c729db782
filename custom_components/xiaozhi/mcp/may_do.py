"""The part *What it may do* of the form of a device."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import (
    BooleanSelector,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
import voluptuous as vol

from ..const import CONF_ASK_AI, CONF_ASK_PEOPLE, CONF_ASSISTANT_RESOURCES, CONF_LOOK_AT_PHOTOS
from ..device.device import Device
from ..tools.catalogue import PHOTO_TOOL

__all__ = ["CONF_MAY_DO", "may_do_schema", "taken_apart"]

CONF_MAY_DO: Final = "may_do"


def may_do_schema(device: Device | None, data: Mapping[str, Any]) -> dict[vol.Marker, Any]:
    """Return the section for a device with these settings; empty if it can do nothing of the kind."""
    fields: dict[vol.Marker, Any] = {}
    extended = device is not None and device.state.capabilities.extended
    offered = {} if device is None else {each.uri: each for each in device.state.offers.resources}
    options = [
        SelectOptionDict(value=uri, label=f"{resource.shown} ({uri})")
        for uri, resource in offered.items()
        if not resource.user_only
    ]
    if options:
        chosen = [uri for uri in data.get(CONF_ASSISTANT_RESOURCES, ()) if uri in offered]
        fields[vol.Optional(CONF_ASSISTANT_RESOURCES, default=chosen)] = SelectSelector(
            SelectSelectorConfig(options=options, multiple=True, mode=SelectSelectorMode.DROPDOWN)
        )
    for key in (CONF_ASK_AI, CONF_ASK_PEOPLE):
        if extended or data.get(key):
            fields[vol.Optional(key, default=data.get(key, False))] = BooleanSelector()
    if device is not None and PHOTO_TOOL in device.tools:
        default = data.get(CONF_LOOK_AT_PHOTOS, True)
        fields[vol.Optional(CONF_LOOK_AT_PHOTOS, default=default)] = BooleanSelector()
    if not fields:
        return {}
    return {vol.Optional(CONF_MAY_DO): section(vol.Schema(fields), {"collapsed": True})}


def taken_apart(user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was filled in, without the section."""
    plain = dict(user_input)
    may_do: dict[str, Any] = plain.pop(CONF_MAY_DO, {})
    return plain | may_do
