"""The part *What it may do* of the form of a device."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
from homeassistant.helpers.translation import async_get_translations
import voluptuous as vol

from ..const import CONF_ASSISTANT_TOOLS, DOMAIN
from ..device.device import Device
from ..protocol.mcp.tool import Tool
from ..settings import DeviceSettings
from ..texts.translated import known_text, stock_tool_words
from ..tools.assistant_choice import choosable_tools, default_choice
from ..tools.tool_names import readable_name
from ..tools.tool_risks import risks_of

_SECTION: Final = "permissions"
SECTION_RARE: Final = "rare"
# A list also shows the unchosen options, but cannot be searched.
_LONGEST_LIST: Final = 24


async def permissions_schema(
    hass: HomeAssistant, device: Device | None, settings: DeviceSettings, of_guests: Mapping[vol.Marker, Any]
) -> dict[vol.Marker, Any]:
    """Return the section for a device with these settings; empty if it needs none."""
    fields: dict[vol.Marker, Any] = {}
    if device is not None and (labels := await _tool_labels(hass, device.tools)):
        chosen = settings.assistant_tools
        wanted = default_choice(device.tools) if chosen is None else chosen
        suggested = [name for name in wanted if name in labels]
        # No default: an empty list is a choice, too.
        marker = vol.Optional(CONF_ASSISTANT_TOOLS, default=[], description={"suggested_value": suggested})
        fields[marker] = multiple_choice(labels)
    fields |= of_guests
    if not fields:
        return {}
    return {vol.Optional(_SECTION): section(vol.Schema(fields), {"collapsed": True})}


def merged(data: Mapping[str, Any], user_input: Mapping[str, Any], device: Device | None) -> dict[str, Any]:
    """Return the settings of a device with the input, whose sections are flattened."""
    changes = dict(user_input)
    changes |= changes.pop(_SECTION, {}) | changes.pop(SECTION_RARE, {})
    settings = {**data, **changes}
    chosen = changes.get(CONF_ASSISTANT_TOOLS)
    if device is not None and chosen is not None and set(chosen) == set(default_choice(device.tools)):
        # The automatic choice stays automatic when the device gets other tools.
        del settings[CONF_ASSISTANT_TOOLS]
    return settings


async def _tool_labels(hass: HomeAssistant, tools: Mapping[str, Tool]) -> dict[str, str]:
    texts = await async_get_translations(hass, hass.config.language, "selector", [DOMAIN])
    reasons = f"component.{DOMAIN}.selector.tool_risk.options."

    def label(name: str) -> str:
        words = stock_tool_words(hass, name) or tools[name].title
        shown = f"{words} · {name.removeprefix('self.')}" if words else readable_name(name)
        why = ", ".join(texts.get(reasons + risk, risk) for risk in risks_of(tools[name]))
        return f"{shown} ({known_text(hass, 'tool_off_at_first', reasons=why)})" if why else shown

    return {name: label(name) for name in choosable_tools(tools)}


def multiple_choice(labels: Mapping[str, str]) -> SelectSelector:
    """Return a field with a list of all options, or with a search where they are many."""
    options = [SelectOptionDict(value=value, label=label) for value, label in labels.items()]
    mode = SelectSelectorMode.LIST if len(options) <= _LONGEST_LIST else SelectSelectorMode.DROPDOWN
    return SelectSelector(SelectSelectorConfig(options=options, multiple=True, mode=mode))
