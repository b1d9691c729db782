"""Adds a device to the gateway, and changes its settings."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, override

from homeassistant.config_entries import (
    ConfigSubentry,
    ConfigSubentryFlow,
    SubentryFlowContext,
    SubentryFlowResult,
)
from homeassistant.const import CONF_CODE, PERCENTAGE, Platform, UnitOfTime
from homeassistant.data_entry_flow import section
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.selector import (
    AssistPipelineSelector,
    BooleanSelector,
    EntitySelector,
    EntitySelectorConfig,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
)
from homeassistant.util import dt as dt_util
import voluptuous as vol

from ..announcements.delivery import unfit_to_speak_for
from ..const import (
    CONF_LINK,
    CONF_LOUDSPEAKER,
    CONF_LOUDSPEAKER_LEAD,
    CONF_QUIET_BRIGHTNESS,
    CONF_QUIET_VOLUME,
    CONF_SHARE_TRANSCRIPTS,
    CONF_SHOW_ANNOUNCEMENTS,
    CONF_WAKE_PHRASES,
    CONF_WAKE_THRESHOLD,
    CONF_WAKE_WORD_PIPELINES,
)
from ..device.device import Device, name_on_page
from ..device.link_settings import kind_of_link
from ..gateway import Gateway, gateway_of
from ..guests.wake_words.device_wake_words import board_of
from ..guests.wake_words.wake_word_packs import MAX_PHRASES, Phrase
from ..protocol.boards import sold_as
from ..provisioning.pairing_codes import PendingDevice
from ..settings import DeviceLink, DeviceSettings, GatewaySettings, OfferedLink
from ..texts.translated import async_explain, async_text
from ..tools.stock_tools import BRIGHTNESS_TOOL, VOLUME_TOOL
from ..util.text import plain_name
from .device_permissions import SECTION_RARE, merged, permissions_schema
from .pairing_form import CODE_SELECTOR, PairingFlow

_CONF_RESTART_NOW: Final = "restart_now"
_CONF_NO_CODE: Final = "no_code"
_CONF_PROGRAM: Final = "program"

_SYLLABLES: Final = 2
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

_LEAD: Final = {
    vol.Required(CONF_LOUDSPEAKER_LEAD, default=0.5): NumberSelector(
        NumberSelectorConfig(min=0, max=5, step=0.1, unit_of_measurement=UnitOfTime.SECONDS)
    )
}
_SHARE: Final = {vol.Required(CONF_SHARE_TRANSCRIPTS, default=False): BooleanSelector()}
_SHOW: Final = {vol.Required(CONF_SHOW_ANNOUNCEMENTS, default=False): BooleanSelector()}
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

# No default: an empty list is a choice, too.
_PHRASES: Final = {
    vol.Optional(CONF_WAKE_PHRASES, default=[]): TextSelector(TextSelectorConfig(multiple=True))
}
_QUIET: Final = {VOLUME_TOOL: CONF_QUIET_VOLUME, BRIGHTNESS_TOOL: CONF_QUIET_BRIGHTNESS}
_PERCENTAGE: Final = vol.All(
    NumberSelector(NumberSelectorConfig(min=0, max=100, unit_of_measurement=PERCENTAGE)), vol.Coerce(int)
)
_THRESHOLD: Final = NumberSelector(
    NumberSelectorConfig(min=0.05, max=0.95, step=0.05, mode=NumberSelectorMode.SLIDER)
)


class DeviceFlow(PairingFlow[SubentryFlowContext, SubentryFlowResult, tuple[str, str]], ConfigSubentryFlow):
    """Adds a device to the gateway, and changes its settings."""

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
        error, phrase = _phrase_error((user_input or {}).get(CONF_WAKE_PHRASES, ()))
        if user_input is not None and error is None:
            return await self._change(subentry, user_input, gateway, device)
        schema, notes = await self._fields(before, gateway, device)
        suggested = {**subentry.data, SECTION_RARE: subentry.data} if user_input is None else user_input
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(schema, suggested),
            description_placeholders={
                "name": plain_name(name_on_page(self.hass, self._get_entry(), subentry)),
                "notes": "\n\n".join(notes),
                "phrase": plain_name(phrase),
            },
            errors={CONF_WAKE_PHRASES: error} if error else None,
        )

    async def _change(
        self,
        subentry: ConfigSubentry,
        user_input: Mapping[str, Any],
        gateway: Gateway | None,
        device: Device | None,
    ) -> SubentryFlowResult:
        """Store the settings, and say what the owner still has to do for them."""
        before = DeviceSettings.from_subentry(subentry)
        # A removed player is missing in the input.
        data = merged(subentry.data, {CONF_LOUDSPEAKER: None, **user_input}, device)
        restart_now = data.pop(_CONF_RESTART_NOW, False)
        result = self.async_update_and_abort(self._get_entry(), subentry, data=data)
        reason = None
        if user_input.get(CONF_WAKE_PHRASES, []) not in ([], [*before.wake_phrases]):
            reason = "phrases_saved"
        link = DeviceLink(data.get(CONF_LINK, before.link))
        if link is not before.link:
            reason = await _apply_link(gateway, device, link, restart_now=restart_now) or reason
        if reason:
            name = name_on_page(self.hass, self._get_entry(), subentry)
            return self.async_abort(reason=reason, description_placeholders={"name": plain_name(name)})
        return result

    async def _fields(
        self, before: DeviceSettings, gateway: Gateway | None, device: Device | None
    ) -> tuple[vol.Schema, list[str]]:
        """Return the fields for this device, and notes to show below them."""
        player = EntitySelectorConfig(domain=Platform.MEDIA_PLAYER)
        if device is not None and gateway is not None:
            unfit = unfit_to_speak_for(device, gateway.devices.values())
            player["exclude_entities"] = [
                entity_id
                for entity_id, known in gateway.players.listed().items()
                if known.device_id in unfit and entity_id != before.loudspeaker
            ]
        fields: dict[Any, Any] = {vol.Optional(CONF_LOUDSPEAKER): EntitySelector(player)}
        rare, notes, heard = dict[Any, Any](_LEAD), list[str](), tuple[str, ...]()
        if device is not None:
            own, notes = await self._fields_of(device, before)
            fields, heard = fields | own, device.state.wake_words
        fields |= _SHARE | await permissions_schema(self.hass, device, before)
        if GatewaySettings.from_entry(self._get_entry()).link is not OfferedLink.WEBSOCKET:
            rare |= _LINK
            firmware = None if device is None else device.state.firmware_version
            if firmware is None or not firmware.plays_files:
                rare |= _SHOW
        phrases = [phrase.text for phrase in map(Phrase.parse, before.wake_phrases) if phrase]
        if words := dict.fromkeys((*heard, *phrases, *before.wake_word_pipelines)):
            pipelines = vol.Schema({vol.Optional(word): AssistPipelineSelector() for word in words})
            fields[vol.Optional(CONF_WAKE_WORD_PIPELINES)] = section(pipelines, {"collapsed": True})
        fields[vol.Optional(SECTION_RARE)] = section(vol.Schema(rare), {"collapsed": True})
        return vol.Schema(fields), notes

    async def _fields_of(self, device: Device, before: DeviceSettings) -> tuple[dict[Any, Any], list[str]]:
        """Return the fields that only some devices have, and notes on this one."""
        levels = [key for tool, key in _QUIET.items() if tool in device.tools]
        fields: dict[Any, Any] = {
            vol.Required(key, default=getattr(before, key)): _PERCENTAGE for key in levels
        }
        notes: list[str] = []
        if not device.state.is_program:
            if (objection := board_of(device).objection_to_phrases) is None:
                threshold = vol.Optional(CONF_WAKE_THRESHOLD, default=before.wake_threshold)
                fields |= {**_PHRASES, threshold: _THRESHOLD}
            else:
                notes.append(await async_explain(self.hass, objection))
        if count := len(device.state.owned.get("alarms", ())):
            text = async_text(
                self.hass, "alarms_deleted_with_device", name=plain_name(device.name), count=str(count)
            )
            notes.append(await text)
        return fields, notes

    @override
    def _add_device(
        self, mac: str, name: str, data: Mapping[str, Any], placeholders: Mapping[str, str]
    ) -> SubentryFlowResult:
        return self.async_create_entry(
            title=name, data=data, unique_id=mac, description_placeholders=placeholders
        )


def _phrase_error(texts: Iterable[str]) -> tuple[str | None, str]:
    """Return the error in some phrases, and which one has it: no model or no single one understands them."""
    found = list[Phrase]()
    for text in texts:
        if (phrase := Phrase.parse(text)) is None or not phrase.is_whole:
            return "phrases_bad", text
        if phrase.syllables < _SYLLABLES:
            return "phrases_short", text
        found.append(phrase)
    alike = len({phrase.language for phrase in found}) < 2
    each_once = len({phrase.command for phrase in found}) == len(found)
    return None if alike and each_once and len(found) <= MAX_PHRASES else "phrases_mixed", ""


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
