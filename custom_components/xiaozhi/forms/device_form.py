"""Adds a device to the gateway, and changes its settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import ModuleType
from typing import Any, ClassVar, Final, override

from homeassistant.config_entries import (
    ConfigSubentry,
    ConfigSubentryFlow,
    SubentryFlowContext,
    SubentryFlowResult,
)
from homeassistant.const import CONF_CODE
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
from homeassistant.util import dt as dt_util
import voluptuous as vol

from ..const import (
    CONF_LINK,
    CONF_SHARE_TRANSCRIPTS,
    CONF_SHOW_ANNOUNCEMENTS,
    CONF_WAKE_WORD_PIPELINES,
)
from ..device.device import Device
from ..device.guest import Guest, async_files
from ..device.link_settings import kind_of_link
from ..device.paired_device import name_on_page
from ..gateway import Gateway, gateway_of
from ..protocol.boards import sold_as
from ..provisioning.pairing_codes import PendingDevice
from ..settings import DeviceLink, DeviceSettings, GatewaySettings, OfferedLink
from ..util.text import plain_name
from .device_permissions import SECTION_RARE, merged, permissions_schema
from .pairing_form import CODE_SELECTOR, PairingFlow

_CONF_RESTART_NOW: Final = "restart_now"
_CONF_NO_CODE: Final = "no_code"
_CONF_PROGRAM: Final = "program"

# In characters: the whole id identifies a device.
_SHOWN_OF_ID: Final = 8
_CODE_SCHEMA: Final = vol.Schema(
    {
        vol.Optional(CONF_CODE): CODE_SELECTOR,
        vol.Optional(_CONF_PROGRAM): section(
            vol.Schema({vol.Optional(_CONF_NO_CODE, default=False): BooleanSelector()}), {"collapsed": True}
        ),
    }
)

_LINK: Final = {
    vol.Required(CONF_LINK, default=DeviceLink.AUTOMATIC.value): SelectSelector(
        SelectSelectorConfig(
            options=[link.value for link in DeviceLink],
            mode=SelectSelectorMode.LIST,
            translation_key="device_link",
        )
    ),
    vol.Required(_CONF_RESTART_NOW, default=True): BooleanSelector(),
}


@dataclass(slots=True)
class DeviceForm:
    """The form of a device, to which guests add in files that are named like this one."""

    before: DeviceSettings
    given: Mapping[str, Any]
    """Its input."""
    errors: dict[str, str] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    """Key of what the owner still has to do when it is saved."""
    fields: dict[Any, Any] = field(default_factory=dict)
    permissions: dict[Any, Any] = field(default_factory=dict)
    """Fields of the part *What it may do*."""
    rare: dict[Any, Any] = field(default_factory=dict)
    """Fields that few need."""
    absent: dict[str, Any] = field(default_factory=dict)
    """Values where the input has none."""
    notes: list[str] = field(default_factory=list)
    """Shown below the fields."""
    words: list[str] = field(default_factory=list)
    """Wake words, each of which may have a pipeline."""


class DeviceFlow(PairingFlow[SubentryFlowContext, SubentryFlowResult, tuple[str, str]], ConfigSubentryFlow):
    """Adds a device to the gateway, and changes its settings."""

    guests: ClassVar[Iterable[Guest]] = ()
    _code_schema = _CODE_SCHEMA

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Handle *Add device*."""
        return await self.async_step_code()

    @override
    async def async_step_code(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the six digits, or go on with a program that shows none."""
        if user_input is not None and user_input.get(_CONF_PROGRAM, {}).get(_CONF_NO_CODE):
            return await self.async_step_no_code()
        return await super().async_step_code(user_input)

    async def async_step_no_code(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask which of the waiting devices is the program that shows no code.

        Some programs know only WebSocket: they can do nothing with a code, and stop when the reply to their
        check-in has no address of a WebSocket.
        """
        waiting = {
            f"{device.mac} {device.client_id}": device
            for device in self._gateway().discovery.registry.devices
        }
        if user_input is not None and (device := waiting.get(user_input[_CONF_PROGRAM])) is not None:
            self._accepted = device
            self._link = DeviceLink.WEBSOCKET
            return await self.async_step_details()
        if not waiting:
            return await self.async_step_wait()
        now = self.hass.loop.time()
        options = [
            SelectOptionDict(value=key, label=_described(device, now)) for key, device in waiting.items()
        ]
        program = SelectSelector(SelectSelectorConfig(options=options, mode=SelectSelectorMode.LIST))
        return self.async_show_form(
            step_id="no_code", data_schema=vol.Schema({vol.Required(_CONF_PROGRAM): program})
        )

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change the settings of a device."""
        subentry = self._get_reconfigure_subentry()
        before = DeviceSettings.from_subentry(subentry)
        gateway = gateway_of(self._get_entry())
        device = None if gateway is None else gateway.devices.get(before.mac)
        form = DeviceForm(before, user_input or {})
        files = await async_files(self.hass, self.guests, "device_form")
        for check in (file.check for file in files if hasattr(file, "check")):
            check(form)
        if user_input is not None and not form.errors:
            return await self._change(subentry, form, gateway, device)
        schema = await self._fields(form, files, device)
        suggested = {**subentry.data, SECTION_RARE: subentry.data} if user_input is None else user_input
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(schema, suggested),
            description_placeholders={
                "name": plain_name(name_on_page(self.hass, self._get_entry(), subentry)),
                "notes": "\n\n".join(form.notes),
                **form.placeholders,
            },
            errors=form.errors,
        )

    async def _change(
        self, subentry: ConfigSubentry, form: DeviceForm, gateway: Gateway | None, device: Device | None
    ) -> SubentryFlowResult:
        """Store the settings, and say what the owner still has to do for them."""
        before = form.before
        data = merged(subentry.data, {**form.absent, **form.given}, device)
        restart_now = data.pop(_CONF_RESTART_NOW, False)
        result = self.async_update_and_abort(self._get_entry(), subentry, data=data)
        reason = form.reason
        link = DeviceLink(data.get(CONF_LINK, before.link))
        if link is not before.link:
            reason = await _apply_link(gateway, device, link, restart_now=restart_now) or reason
        if reason:
            name = name_on_page(self.hass, self._get_entry(), subentry)
            return self.async_abort(reason=reason, description_placeholders={"name": plain_name(name)})
        return result

    async def _fields(self, form: DeviceForm, files: list[ModuleType], device: Device | None) -> vol.Schema:
        """Return the fields for this device."""
        before, rare = form.before, form.rare
        if device is not None:
            form.words += device.state.wake_words
        for file in files:
            await file.add_fields(form, device)
        form.fields[vol.Required(CONF_SHARE_TRANSCRIPTS, default=False)] = BooleanSelector()
        fields = form.fields | await permissions_schema(self.hass, device, before, form.permissions)
        if GatewaySettings.from_entry(self._get_entry()).link is not OfferedLink.WEBSOCKET:
            rare |= _LINK
            firmware = None if device is None else device.state.firmware_version
            if firmware is None or not firmware.plays_files:
                rare[vol.Required(CONF_SHOW_ANNOUNCEMENTS, default=False)] = BooleanSelector()
        if words := dict.fromkeys((*form.words, *before.wake_word_pipelines)):
            pipelines = vol.Schema({vol.Optional(word): AssistPipelineSelector() for word in words})
            fields[vol.Optional(CONF_WAKE_WORD_PIPELINES)] = section(pipelines, {"collapsed": True})
        fields[vol.Optional(SECTION_RARE)] = section(vol.Schema(rare), {"collapsed": True})
        return vol.Schema(fields)

    @override
    def _add_device(
        self, mac: str, name: str, data: Mapping[str, Any], placeholders: Mapping[str, str]
    ) -> SubentryFlowResult:
        return self.async_create_entry(
            title=name, data=data, unique_id=mac, description_placeholders=placeholders
        )


async def _apply_link(
    gateway: Gateway | None, device: Device | None, link: DeviceLink, *, restart_now: bool
) -> str | None:
    """Restart a device for its new link if the user wants that. Returns an abort reason, or None."""
    if gateway is None or device is None:
        return "device_restart_yourself"
    settings = replace(device.settings, link=link)
    kind = kind_of_link(gateway.settings, settings, device.state.firmware_version)
    if device.state.link in {None, kind}:
        return None
    if not restart_now:
        return "device_restart_later"
    try:
        await device.commands.restart()
    except HomeAssistantError:
        return "device_restart_yourself"
    return "device_restarting"


def _described(device: PendingDevice, now: float) -> str:
    """Return the description of a waiting program, with the address and the time of its call.

    Another program can send the same description, but not at the time when the owner has started this one.
    """
    called = dt_util.now() - timedelta(seconds=now - device.seen)
    said = sold_as(device.board) or device.board or "–", device.mac.upper(), device.client_id[:_SHOWN_OF_ID]
    return " · ".join((*said, device.remote, f"{called:%H:%M:%S}"))
