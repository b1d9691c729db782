"""Adds an access point, and changes it."""

from collections.abc import Collection, Mapping, Sequence
import logging
from typing import Any, Final

from homeassistant.config_entries import (
    SOURCE_RECONFIGURE,
    ConfigSubentry,
    ConfigSubentryFlow,
    SubentryFlowResult,
)
from homeassistant.const import CONF_LLM_HASS_API, CONF_NAME, CONF_URL
from homeassistant.helpers import llm
from homeassistant.helpers.selector import BooleanSelector, TextSelector, TextSelectorConfig, TextSelectorType
from homeassistant.util import dt as dt_util
from homeassistant.util.ssl import get_default_context
import voluptuous as vol

from ...forms.device_permissions import multiple_choice
from ...protocol.access_point.address import AccessPointAddress, AddressError
from ...protocol.access_point.dialling import DialError, check_address
from ...protocol.access_point.tools import ToolList
from ...texts.translated import async_text
from ...util.text import plain_name
from .access_point import CONF_QUESTIONS_ONLY, SUBENTRY_ACCESS_POINT, access_point_subentries
from .house_tools import (
    HouseTool,
    async_house,
    automatic_tools,
    offerable_apis,
    offered_tools,
    proposed_tools,
)

_LOGGER = logging.getLogger(__name__)

_CONF_TOOLS: Final = "tools"
_URL: Final = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD))
_DEFAULTS: Final[Mapping[str, Any]] = {CONF_LLM_HASS_API: [llm.LLM_API_ASSIST], CONF_QUESTIONS_ONLY: False}


class AccessPointFlow(ConfigSubentryFlow):
    """Asks for the address, then for what is offered there."""

    _address: AccessPointAddress
    _name: str
    _data: dict[str, Any]
    # The access point that is changed; None for a new one.
    _known: ConfigSubentry | None = None

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for name and address, of a new access point or of a known one, and test the address.

        Without a new address, the old one stays.
        """
        if self.source == SOURCE_RECONFIGURE:
            self._known = self._get_reconfigure_subentry()
        known, title = self._known, self._known.title if self._known else ""
        errors: dict[str, str] = {}
        placeholders = {"code": "", "other": "", "name": plain_name(title)}
        name = title or await async_text(self.hass, "access_point_default_name")
        if user_input is not None:
            before = known.data if known else {}
            url = user_input.get(CONF_URL) or before.get(CONF_URL, "")
            errors = await self._take_address(url, placeholders)
            if not errors and (same := self._subentry_of(self._address)) is not None and same is not known:
                if known is None:
                    # The cloud makes a new address whenever its page is opened.
                    data = {**same.data, CONF_URL: self._address.url}
                    self.hass.config_entries.async_update_subentry(self._get_entry(), same, data=data)
                    return self.async_abort(
                        reason="address_updated", description_placeholders={"name": plain_name(same.title)}
                    )
                errors = {CONF_URL: "agent_known"}
                placeholders["other"] = plain_name(same.title)
            if not errors:
                self._name = user_input[CONF_NAME].strip() or title or self._address.host
                self._data = {**_DEFAULTS, **before}
                return await self.async_step_offer()
            name = user_input[CONF_NAME]
        # A known address is a password, and not shown; one that was just typed is not typed again.
        typed = {"suggested_value": (user_input or {}).get(CONF_URL)}
        url = (vol.Required if known is None else vol.Optional)(CONF_URL, description=typed)
        return self.async_show_form(
            step_id="user" if known is None else "reconfigure",
            data_schema=vol.Schema(
                {vol.Required(CONF_NAME, description={"suggested_value": name}): TextSelector(), url: _URL}
            ),
            errors=errors,
            description_placeholders=placeholders,
        )

    async_step_reconfigure = async_step_user

    async def async_step_offer(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show what the address contains, and ask which APIs are offered."""
        errors: dict[str, str] = {}
        if user_input is not None:
            if user_input[CONF_LLM_HASS_API]:
                self._data |= user_input
                return await self.async_step_tools()
            errors = {CONF_LLM_HASS_API: "no_api"}
        return await self._show_offer(user_input or self._data, errors)

    async def _show_offer(self, suggested: Mapping[str, Any], errors: dict[str, str]) -> SubentryFlowResult:
        apis = offerable_apis(self.hass)
        placeholders = {
            "assist": plain_name(apis.get(llm.LLM_API_ASSIST, "")),
            **await self._address_placeholders(),
        }
        # A missing API is shown as well, so that it can be removed.
        apis = {**{api: api for api in self._data[CONF_LLM_HASS_API]}, **apis}
        schema = vol.Schema(
            {
                vol.Required(CONF_LLM_HASS_API): multiple_choice(apis),
                vol.Required(CONF_QUESTIONS_ONLY): BooleanSelector(),
            }
        )
        return self.async_show_form(
            step_id="offer",
            data_schema=self.add_suggested_values_to_schema(schema, suggested),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask which tools are offered, with the size of each."""
        tools, missing = await async_house(self.hass, self._data[CONF_LLM_HASS_API], None)
        if not offerable_apis(self.hass).keys().isdisjoint(missing):
            return await self._show_offer(self._data, {CONF_LLM_HASS_API: "api_failed"})
        questions_only = self._data[CONF_QUESTIONS_ONLY]
        possible = offered_tools(tools, [tool.name for tool in tools], questions_only=questions_only)
        automatic = automatic_tools(possible)
        if user_input is not None:
            chosen = user_input.get(_CONF_TOOLS, [])
            self._data[_CONF_TOOLS] = chosen
            if set(chosen) == set(automatic):
                # The automatic choice stays automatic when the house gets other tools.
                del self._data[_CONF_TOOLS]
            self._data[CONF_URL] = self._address.url
            stored: dict[str, Any] = {
                "title": self._name,
                "data": self._data,
                "unique_id": self._address.identity,
            }
            if self._known is None:
                return self.async_create_entry(**stored)
            return self.async_update_and_abort(self._get_entry(), self._known, **stored)
        before = self._data.get(_CONF_TOOLS)
        wanted = set(proposed_tools(possible) if before is None else before)
        chosen = [tool.name for tool in possible if tool.names & wanted]
        listed, options = await self.hass.async_add_executor_job(_sizes, possible, chosen)
        schema = vol.Schema({vol.Optional(_CONF_TOOLS, default=[]): multiple_choice(options)})
        return self.async_show_form(
            step_id="tools",
            data_schema=self.add_suggested_values_to_schema(schema, {_CONF_TOOLS: chosen}),
            description_placeholders={
                "count": str(len(listed.tools)),
                "kilobytes": f"{listed.size / 1000:.1f}",
            },
            last_step=True,
        )

    async def _take_address(self, text: str, placeholders: dict[str, str]) -> dict[str, str]:
        """Read and test an address. Returns errors for the form, with their details in `placeholders`."""
        try:
            self._address = AccessPointAddress.parse(text)
        except AddressError as err:
            return {CONF_URL: err.problem.value}
        if (known := self._subentry_of(self._address)) is not None and known.data[CONF_URL] == text.strip():
            # It is in use: a self-hosted server would throw the connection out for the test.
            return {}
        try:
            await check_address(self._address, get_default_context())
        except DialError as err:
            _LOGGER.debug("%s cannot be used: %s", self._address, err.detail)
            placeholders["code"] = "?" if err.status is None else str(err.status)
            return {CONF_URL: err.problem.value}
        return {}

    def _subentry_of(self, address: AccessPointAddress) -> ConfigSubentry | None:
        """Return the access point of the same agent."""
        known = access_point_subentries(self._get_entry()).values()
        return next((point for point in known if point.unique_id == address.identity), None)

    async def _address_placeholders(self) -> Mapping[str, str]:
        address = self._address
        expires = address.expires
        return {
            "host": plain_name(address.host),
            "agent": plain_name(address.agent)
            if address.agent
            else await async_text(self.hass, "access_point_untold"),
            "expires": await async_text(self.hass, "access_point_untold")
            if expires is None
            else dt_util.as_local(expires).date().isoformat(),
            "encryption": await async_text(
                self.hass, "access_point_encrypted" if address.secure else "access_point_readable"
            ),
        }


def _sizes(tools: Sequence[HouseTool], chosen: Collection[str]) -> tuple[ToolList, dict[str, str]]:
    options = {tool.name: f"{tool.label} ({ToolList.of([tool]).size} B)" for tool in tools}
    return ToolList.of([tool for tool in tools if tool.name in chosen]), options


SUBENTRIES: Final = {SUBENTRY_ACCESS_POINT: AccessPointFlow}
