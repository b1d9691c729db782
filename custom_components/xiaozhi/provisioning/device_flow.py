"""Adds a device to the gateway, and changes its settings."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, override

from homeassistant.config_entries import ConfigSubentryFlow, SubentryFlowContext, SubentryFlowResult
from homeassistant.data_entry_flow import section
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.selector import (
    AssistPipelineSelector,
    BooleanSelector,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
from homeassistant.helpers.translation import async_get_translations
import voluptuous as vol

from ..const import (
    CONF_ASSISTANT_TOOLS,
    CONF_CONVERSATION_STYLE,
    CONF_LINK,
    CONF_SHARE_TRANSCRIPTS,
    CONF_SHOW_ANNOUNCEMENTS,
    CONF_WAKE_WORD_PIPELINES,
    DOMAIN,
)
from ..gateway import Gateway, gateway_of
from ..mcp.may_do import may_do_schema, taken_apart
from ..protocol.mcp.client import Tool
from ..settings import ConversationStyle, DeviceLink, DeviceSettings, GatewaySettings, OfferedLink
from ..tools.assistant import automatic_tools, choosable_tools
from ..tools.risk_rules import risks_of
from .answers import would_change_link
from .pairing_flow import PairingFlow

__all__ = ["DeviceFlow"]

_CONF_RESTART_NOW: Final = "restart_now"

_SCHEMA: Final = vol.Schema(
    {
        vol.Required(CONF_CONVERSATION_STYLE): SelectSelector(
            SelectSelectorConfig(
                options=[style.value for style in ConversationStyle],
                mode=SelectSelectorMode.LIST,
                translation_key=CONF_CONVERSATION_STYLE,
            )
        ),
        vol.Required(CONF_SHARE_TRANSCRIPTS, default=False): BooleanSelector(),
    }
)
_SCHEMA_WITH_LINK: Final = _SCHEMA.extend(
    {
        vol.Required(CONF_LINK, default=DeviceLink.AUTOMATIC.value): SelectSelector(
            SelectSelectorConfig(
                options=[link.value for link in DeviceLink],
                mode=SelectSelectorMode.LIST,
                translation_key="device_link",
            )
        ),
        vol.Required(CONF_SHOW_ANNOUNCEMENTS, default=False): BooleanSelector(),
        vol.Required(_CONF_RESTART_NOW, default=True): BooleanSelector(),
    }
)


class DeviceFlow(PairingFlow[SubentryFlowContext, SubentryFlowResult, tuple[str, str]], ConfigSubentryFlow):
    """Adds a device to the gateway, and changes its settings."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Handle *Add device*."""
        return await self.async_step_code()

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change the settings of a device."""
        entry = self._get_entry()
        subentry = self._get_reconfigure_subentry()
        before = DeviceSettings.from_subentry(subentry)
        gateway = gateway_of(entry)
        device = None if gateway is None else gateway.device(before.mac)
        tools = {} if device is None else device.tools
        if user_input is not None:
            changes = taken_apart(user_input)
            restart_now = changes.pop(_CONF_RESTART_NOW, False)
            data = {**subentry.data, **changes}
            if tools and set(changes.get(CONF_ASSISTANT_TOOLS, ())) == set(automatic_tools(tools)):
                # The automatic choice stays automatic when the device gets other tools.
                data.pop(CONF_ASSISTANT_TOOLS, None)
            result = self.async_update_and_abort(entry, subentry, data=data)
            link = DeviceLink(changes.get(CONF_LINK, before.link))
            if link is not before.link and (
                reason := await _apply_link(gateway, before.mac, link, restart_now=restart_now)
            ):
                return self.async_abort(reason=reason, description_placeholders={"name": subentry.title})
            return result
        choosable = choosable_tools(tools)
        chosen = automatic_tools(tools) if before.assistant_tools is None else before.assistant_tools
        schema = _SCHEMA
        if GatewaySettings.from_entry(entry).link is not OfferedLink.WEBSOCKET:
            schema = _SCHEMA_WITH_LINK
        if choosable:
            schema = schema.extend(await self._tools_schema(tools))
        schema = schema.extend(may_do_schema(device, subentry.data))
        heard = () if device is None else device.state.wake_words
        if words := dict.fromkeys((*heard, *before.wake_word_pipelines)):
            schema = schema.extend(_wake_words_schema(words))
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(
                schema,
                {**subentry.data, CONF_ASSISTANT_TOOLS: [name for name in chosen if name in choosable]},
            ),
            description_placeholders={"name": subentry.title},
        )

    async def _tools_schema(self, tools: Mapping[str, Tool]) -> dict[vol.Marker, Any]:
        texts = await async_get_translations(self.hass, self.hass.config.language, "selector", [DOMAIN])
        reasons = f"component.{DOMAIN}.selector.tool_risk.options."

        def label(name: str) -> str:
            shown = " · ".join(filter(None, (name.removeprefix("self."), tools[name].title)))
            why = [texts.get(reasons + risk, risk) for risk in risks_of(tools[name])]
            return f"{shown} ({', '.join(why)})" if why else shown

        options = [SelectOptionDict(value=name, label=label(name)) for name in choosable_tools(tools)]
        return {
            vol.Optional(CONF_ASSISTANT_TOOLS, default=[]): SelectSelector(
                SelectSelectorConfig(options=options, multiple=True, mode=SelectSelectorMode.DROPDOWN)
            )
        }

    @override
    def _add_device(self, mac: str, name: str, data: Mapping[str, Any], speech: str) -> SubentryFlowResult:
        return self.async_create_entry(
            title=name,
            data=data,
            unique_id=mac,
            description_placeholders={"name": name, "speech": speech},
        )


def _wake_words_schema(words: Iterable[str]) -> dict[vol.Marker, Any]:
    pipelines = vol.Schema({vol.Optional(word): AssistPipelineSelector() for word in words})
    return {vol.Required(CONF_WAKE_WORD_PIPELINES): section(pipelines, {"collapsed": True})}


async def _apply_link(
    gateway: Gateway | None, mac: str, link: DeviceLink, *, restart_now: bool
) -> str | None:
    """Restart a device for its new link if the user wants that. Returns an abort reason, or None."""
    device = None if gateway is None else gateway.device(mac)
    if gateway is None or device is None:
        return "device_restart_yourself"
    if not would_change_link(gateway, device, link):
        return None
    if not restart_now:
        return "device_restart_later"
    try:
        await device.commands.restart()
    except HomeAssistantError:
        return "device_restart_yourself"
    return "device_restarting"
