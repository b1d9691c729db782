"""Sets up the gateway, and adds devices from their discovery cards."""

from collections.abc import Mapping, Set as AbstractSet
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, override

from homeassistant.config_entries import (
    SOURCE_RECONFIGURE,
    SOURCE_USER,
    ConfigEntry,
    ConfigEntryState,
    ConfigFlow,
    ConfigFlowContext,
    ConfigFlowResult,
    ConfigSubentry,
    ConfigSubentryFlow,
    FlowType,
    SubentryFlowContext,
)
from homeassistant.const import CONF_HOST, CONF_MAC, CONF_PASSWORD, CONF_USERNAME
from homeassistant.core import callback
from homeassistant.helpers.device_registry import format_mac
from homeassistant.helpers.service_info.dhcp import DhcpServiceInfo
from homeassistant.helpers.typing import DiscoveryInfoType

from .const import (
    CONF_ADDRESS,
    CONF_BROKER,
    CONF_LINK,
    DOMAIN,
    ENTRY_VERSION,
    GATEWAY_UNIQUE_ID,
    SUBENTRY_DEVICE,
)
from .device.guest import async_files
from .device.link_settings import AUTO_SUBSCRIBE_TOPIC
from .forms.device_form import DeviceFlow
from .forms.gateway_form import (
    ACCOUNT_SCHEMA,
    BROKER_SCHEMA,
    WARNINGS,
    GatewayForm,
    broker_errors,
    cleaned_broker,
)
from .forms.pairing_form import PairingFlow, address_placeholders, async_https_hint
from .gateway import gateway_of
from .guests import GUESTS
from .provisioning.check_in_address import found_host
from .settings import OfferedLink, device_subentries, gateway_entry
from .texts.translated import async_text
from .util.text import plain_name


class _DeviceFlow(DeviceFlow):
    guests = GUESTS


# Home Assistant imports this file outside of the event loop.
_SUBENTRIES: Final[dict[str, type[ConfigSubentryFlow]]] = {SUBENTRY_DEVICE: _DeviceFlow}
for _guest in GUESTS:
    if "config_flow" in _guest.files:
        _SUBENTRIES.update(import_module(f"{_guest.package}.config_flow").SUBENTRIES)


class XiaozhiConfigFlow(PairingFlow[ConfigFlowContext, ConfigFlowResult, str], ConfigFlow, domain=DOMAIN):
    """Sets up the one gateway; with a gateway, adds devices to it."""

    VERSION = ENTRY_VERSION

    _settings: dict[str, Any]
    _shown: AbstractSet[tuple[str, str]] = frozenset()
    """The fields with errors when the form was shown, and what was in them."""

    @classmethod
    @callback
    @override
    def async_get_supported_subentry_types(
        cls, config_entry: ConfigEntry
    ) -> dict[str, type[ConfigSubentryFlow]]:
        """Return the types of subentries: devices, and those of guests."""
        return _SUBENTRIES

    @override
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Handle *Add integration*: a gateway the first time, the address for devices from then on."""
        if gateway_entry(self.hass) is not None:
            return await self.async_show_address()
        await self.async_set_unique_id(GATEWAY_UNIQUE_ID, raise_on_progress=False)
        return await self.async_step_gateway()

    @override
    async def async_step_dhcp(self, discovery_info: DhcpServiceInfo) -> ConfigFlowResult:
        """Handle a device seen on the network: offer to set up the gateway unless there is one."""
        if (entry := gateway_entry(self.hass)) is not None:
            paired = format_mac(discovery_info.macaddress) in device_subentries(entry)
            return self.async_abort(reason="already_configured" if paired else "points_elsewhere")
        await self.async_set_unique_id(GATEWAY_UNIQUE_ID)
        self._abort_if_unique_id_configured()
        self.context["title_placeholders"] = {"name": discovery_info.hostname}
        return await self.async_step_gateway()

    @override
    async def async_step_integration_discovery(self, discovery_info: DiscoveryInfoType) -> ConfigFlowResult:
        """Handle a device that has checked in at the gateway and shows a code."""
        mac: str = discovery_info[CONF_MAC]
        await self.async_set_unique_id(mac)
        self._abort_if_unique_id_configured()
        self._card = self._gateway().discovery.registry.get(mac)
        if self._card is None:
            return self.async_abort(reason="not_waiting")
        self.context["title_placeholders"] = {"name": self._card.label}
        return await self.async_step_code()

    async def async_step_gateway(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the settings of the gateway, a new one or the known one, and test them."""
        known = self._get_reconfigure_entry() if self.source == SOURCE_RECONFIGURE else None
        form = GatewayForm(self.hass, known)
        files = await async_files(self.hass, GUESTS, "gateway_form")
        if user_input is not None:
            form.take(user_input)
            await form.check()
            for check in (file.check for file in files if hasattr(file, "check")):
                await check(form)
            self._settings = form.settings
            if self._passes(form.errors, form.settings):
                return await self._continue()
        form.suggested = {**(form.settings or form.known)}
        for file in files:
            file.add_fields(form)
        if known is None:
            form.placeholders["problem"] = await async_https_hint(self.hass)
        else:
            form.placeholders |= await address_placeholders(self.hass, known.data.get(CONF_ADDRESS))
        form.placeholders["found"] = found_host(self.hass) or await async_text(self.hass, "no_address_found")
        return self.async_show_form(
            step_id="gateway" if known is None else "reconfigure",
            data_schema=self.add_suggested_values_to_schema(form.schema(), form.suggested),
            errors=form.errors,
            description_placeholders=form.placeholders,
        )

    async_step_reconfigure = async_step_gateway

    async def async_step_broker(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the owner's broker, and test it."""
        errors: dict[str, str] = {}
        known: Mapping[str, Any] = {}
        if self.source == SOURCE_RECONFIGURE:
            known = self._get_reconfigure_entry().data.get(CONF_BROKER, {})
        if user_input is not None:
            broker = cleaned_broker(user_input, known)
            errors = await broker_errors(self.hass, broker, self._settings.get(CONF_ADDRESS), known)
            if self._passes(errors, broker):
                self._settings[CONF_BROKER] = broker
                return await self._continue()
        suggested = {key: value for key, value in known.items() if key != CONF_PASSWORD}
        return self.async_show_form(
            step_id="reconfigure_broker" if known else "broker",
            data_schema=self.add_suggested_values_to_schema(BROKER_SCHEMA, user_input or suggested),
            errors=errors,
            description_placeholders={"subscribe_topic": AUTO_SUBSCRIBE_TOPIC},
        )

    async_step_reconfigure_broker = async_step_broker

    @override
    async def async_on_create_entry(self, result: ConfigFlowResult) -> ConfigFlowResult:
        """Go on with *Add device*, which shows the address, now that the gateway runs."""
        entry = result["result"]
        if entry.unique_id == GATEWAY_UNIQUE_ID and gateway_of(entry) is not None:
            form = await self.hass.config_entries.subentries.async_init(
                (entry.entry_id, SUBENTRY_DEVICE), context=SubentryFlowContext(source=SOURCE_USER)
            )
            result["next_flow"] = (FlowType.CONFIG_SUBENTRIES_FLOW, form["flow_id"])
        return result

    async def async_step_reauth(self, entry_data: Mapping[str, Any]) -> ConfigFlowResult:
        """Handle a broker that refuses the stored password."""
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for user name and password of the broker, and test them."""
        entry = self._get_reauth_entry()
        known: dict[str, Any] = entry.data[CONF_BROKER]
        errors: dict[str, str] = {}
        if user_input is not None:
            broker = cleaned_broker({**known, CONF_USERNAME: "", CONF_PASSWORD: "", **user_input}, {})
            # Only the account is new. What was once accepted of the rest is not warned of again.
            errors = await broker_errors(self.hass, broker, entry.data.get(CONF_ADDRESS), broker)
            if not errors:
                result = self.async_update_and_abort(
                    entry, data_updates={CONF_BROKER: broker}, reason="broker_accepted"
                )
                self.hass.config_entries.async_schedule_reload(entry.entry_id)
                return result
            errors = {
                field if field in (CONF_USERNAME, CONF_PASSWORD) else "base": error
                for field, error in errors.items()
            }
        return self.async_show_form(
            step_id="reauth_confirm",
            data_schema=self.add_suggested_values_to_schema(
                ACCOUNT_SCHEMA, user_input or {CONF_USERNAME: known.get(CONF_USERNAME, "")}
            ),
            errors=errors,
            description_placeholders={"host": plain_name(known[CONF_HOST])},
        )

    @callback
    def _passes(self, errors: dict[str, str], submitted: Mapping[str, Any]) -> bool:
        """Whether there are no errors, or only warnings about what is submitted again as it was."""
        before = self._shown
        self._shown = {(field, str(submitted.get(field, submitted))) for field in errors}
        return WARNINGS.issuperset(errors.values()) and self._shown <= before

    async def _continue(self) -> ConfigFlowResult:
        if self._settings[CONF_LINK] == OfferedLink.BROKER and CONF_BROKER not in self._settings:
            return await self.async_step_broker()
        if self.source != SOURCE_RECONFIGURE:
            self._abort_if_unique_id_configured()
            return self.async_create_entry(
                title=await async_text(self.hass, "gateway_default_name"),
                data=self._settings,
                description_placeholders=await address_placeholders(
                    self.hass, self._settings.get(CONF_ADDRESS)
                ),
            )
        entry = self._get_reconfigure_entry()
        changed = self._settings != entry.data
        result = self.async_update_and_abort(entry, data=self._settings)
        # A reload interrupts every conversation.
        if changed or entry.state is not ConfigEntryState.LOADED:
            self.hass.config_entries.async_schedule_reload(entry.entry_id)
        return result

    @override
    def _add_device(
        self, mac: str, name: str, data: Mapping[str, Any], placeholders: Mapping[str, str]
    ) -> ConfigFlowResult:
        self.hass.config_entries.async_add_subentry(
            self._gateway().entry,
            ConfigSubentry(
                subentry_type=SUBENTRY_DEVICE, unique_id=mac, title=name, data=MappingProxyType(dict(data))
            ),
        )
        return self.async_abort(reason="device_added", description_placeholders=placeholders)
