"""The forms that add a device: wait, code, details."""

from abc import abstractmethod
from collections.abc import Mapping
from html import escape
from itertools import chain, count
import secrets
from typing import Any, Final

from aiohttp.hdrs import USER_AGENT
from homeassistant.components.http import current_request
from homeassistant.const import ATTR_AREA_ID, CONF_CLIENT_ID, CONF_CODE, CONF_NAME, CONF_TOKEN
from homeassistant.core import HomeAssistant, callback
from homeassistant.data_entry_flow import AbortFlow, FlowContext, FlowHandler, FlowResult
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.selector import (
    AreaSelector,
    QrCodeSelector,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
from homeassistant.loader import async_get_integration
import voluptuous as vol

from ..const import CONF_ADDRESS, CONF_BOARD, CONF_LINK, DOMAIN
from ..device.paired_device import name_on_page
from ..errors import UserError
from ..gateway import Gateway, running_gateway
from ..provisioning.check_in_address import PORTAL_URL, check_in_url, is_https_only
from ..provisioning.pairing_codes import PendingDevice
from ..settings import DeviceLink, device_subentries
from ..texts.translated import async_text, language_of_texts
from ..util.text import plain_name
from ..voice.missing_engines import async_missing_engines_hint

# For firmware that hides the field for the address.
_HIDDEN_FIELD_PAGE: Final = "/blob/main/docs/devices.md#no-field-for-the-address"
_TRANSLATED_PAGES: Final = {"de": "de/", "zh-Hans": "zh-CN/", "zh-Hant": "zh-CN/"}
# Of the waiting devices in a form, those that have called last.
_MAX_NAMED: Final = 20
# 256 bit.
_TOKEN_BYTES: Final = 32

# Home Assistant's Markdown.
_ALERT: Final = '<ha-alert alert-type="warning">{}</ha-alert>\n\n'
CODE_SELECTOR: Final = TextSelector(
    # Phones show digits for a telephone number. A field for numbers would drop leading zeros.
    TextSelectorConfig(type=TextSelectorType.TEL, autocomplete="one-time-code")
)


class PairingFlow[ContextT: FlowContext, ResultT: FlowResult[Any, Any], HandlerT](
    FlowHandler[ContextT, ResultT, HandlerT]
):
    """The steps shared by a discovery card, *Add integration* and *Add device*."""

    _card: PendingDevice | None = None
    """The device of a discovery card. Without a card, the code identifies the device."""
    _accepted: PendingDevice
    """The device whose code was typed."""
    _link = DeviceLink.AUTOMATIC
    _code_schema = vol.Schema({vol.Required(CONF_CODE): CODE_SELECTOR})

    @abstractmethod
    def _add_device(
        self, mac: str, name: str, data: Mapping[str, Any], placeholders: Mapping[str, str]
    ) -> ResultT:
        """Add the subentry of a new device and end the flow, with these placeholders of its last text."""

    async def async_step_wait(self, user_input: dict[str, Any] | None = None) -> ResultT:
        """Go on when a device has checked in, or show the address again."""
        if self._gateway().discovery.registry.devices:
            return await self.async_step_code()
        # An error would stand below the steps, where nobody looks for it.
        not_yet = "" if user_input is None else await async_text(self.hass, "no_device_yet")
        return await self.async_show_address(not_yet and _ALERT.format(not_yet))

    async def async_show_address(self, first: str = "") -> ResultT:
        """Show how to connect a device, below the text `first`."""
        address = self._gateway().entry.data.get(CONF_ADDRESS)
        url = check_in_url(self.hass, address)
        qr_code: dict[vol.Marker, QrCodeSelector] = {}
        if url and not _is_on_phone():
            qr_code = {vol.Optional("qr_code"): QrCodeSelector({"data": url, "scale": 4})}
        return self.async_show_form(
            step_id="wait",
            data_schema=vol.Schema(qr_code),
            description_placeholders={
                "first": first,
                # Home Assistant would take a link to itself for a page of its own.
                "check_in_link": f'<a href="{escape(url)}" target="_blank">{escape(url)}</a>' if url else "–",
                **await address_placeholders(self.hass, address),
                "speech": await async_missing_engines_hint(self.hass),
            },
            last_step=False,
        )

    async def async_step_code(self, user_input: dict[str, Any] | None = None) -> ResultT:
        """Ask for the six digits."""
        registry = self._gateway().discovery.registry
        errors: dict[str, str] = {}
        tries_left, new_code_in = 0, 0.0
        if user_input is not None:
            mac = self._card.mac if self._card else None
            verdict = registry.verify(user_input.get(CONF_CODE, ""), self.hass.loop.time(), mac)
            if verdict.device is not None:
                self._accepted = verdict.device
                return await self.async_step_details()
            errors[CONF_CODE] = verdict.outcome.value
            tries_left, new_code_in = verdict.tries_left, verdict.new_code_in
        elif not registry.devices:
            return await self.async_step_wait()
        waiting = (self._card,) if self._card else registry.devices
        named = [device.label for device in waiting[-_MAX_NAMED:]]
        return self.async_show_form(
            step_id="code",
            data_schema=self._code_schema,
            errors=errors,
            description_placeholders={
                "devices": plain_name(", ".join(["…"] * (len(waiting) > _MAX_NAMED) + named)) or "–",
                "tries": str(tries_left),
                # Rounded, as people say it.
                "seconds": str(max(10, -int(-new_code_in // 10) * 10)),
            },
        )

    async def async_step_details(self, user_input: dict[str, Any] | None = None) -> ResultT:
        """Ask for name and area of a new device. A known device only gets a new token."""
        gateway = self._gateway()
        device = self._accepted
        identity = {
            CONF_CLIENT_ID: device.client_id,
            CONF_TOKEN: secrets.token_urlsafe(_TOKEN_BYTES),
            CONF_BOARD: device.board,
        }
        known = device_subentries(gateway.entry).get(device.mac)
        if known is not None or user_input is not None:
            try:
                await gateway.store.async_check()
            except UserError as err:
                # Home Assistant writes the device a second later, and does not report a failure.
                raise AbortFlow(err.key) from err
        if known is not None:
            self.hass.config_entries.async_update_subentry(
                gateway.entry, known, data={**known.data, **identity}
            )
            name = name_on_page(self.hass, gateway.entry, known)
            return self.async_abort(
                reason="device_paired_again", description_placeholders={"name": plain_name(name)}
            )
        usual = await async_text(self.hass, "device_default_name")
        if user_input is not None:
            area_id = user_input.get(ATTR_AREA_ID)
            gateway.remember_area(device.mac, area_id)
            name = user_input.get(CONF_NAME, "").strip() or usual
            if name == usual:
                name = self._free(usual)
            data = {**identity, CONF_LINK: self._link.value}
            placeholders = {
                "name": plain_name(name),
                "say_url": await _sentences_url(self.hass),
                "speech": await async_missing_engines_hint(self.hass),
            }
            return self._add_device(device.mac, name, data, placeholders)
        return self.async_show_form(
            step_id="details",
            data_schema=vol.Schema(
                {
                    vol.Optional(ATTR_AREA_ID): AreaSelector(),
                    vol.Optional(CONF_NAME, default=usual): TextSelector(),
                }
            ),
            description_placeholders={"device": plain_name(device.label)},
            last_step=True,
        )

    @callback
    def _free(self, name: str) -> str:
        """Return a name that no device has, with a number if needed.

        Not all lists of Home Assistant show areas, and its ids and the pages of rooms would have one twice.
        """
        registry, entry = dr.async_get(self.hass), self._gateway().entry
        taken = {subentry.title for subentry in device_subentries(entry).values()}
        taken |= {
            each.name_by_user or "" for each in dr.async_entries_for_config_entry(registry, entry.entry_id)
        }
        return next(
            free for free in chain([name], (f"{name} {number}" for number in count(2))) if free not in taken
        )

    @callback
    def _gateway(self) -> Gateway:
        """Return the running gateway. Raises `AbortFlow`: without it no device can check in."""
        if (gateway := running_gateway(self.hass)) is None:
            raise AbortFlow("gateway_not_running")
        return gateway


def _is_on_phone() -> bool:
    """Whether the form is shown on a phone, which cannot scan its own screen."""
    request = current_request.get()
    return request is not None and "Mobi" in request.headers.get(USER_AGENT, "")


async def _sentences_url(hass: HomeAssistant) -> str:
    """Return the address of the page with sentences, in the language of the house if there is one."""
    integration = await async_get_integration(hass, DOMAIN)
    folder = _TRANSLATED_PAGES.get(language_of_texts(hass.config.language), "")
    return f"{integration.documentation}/blob/main/docs/{folder}what-you-can-say.md"


async def address_placeholders(hass: HomeAssistant, address: str | None) -> dict[str, str]:
    """Return the placeholders of texts that explain how to connect a device.

    `address` is the address of Home Assistant that the owner has set.
    """
    integration = await async_get_integration(hass, DOMAIN)
    url = check_in_url(hass, address)
    notes = await async_https_hint(hass)
    if url is None and not notes:
        notes = f"\n\n**{await async_text(hass, 'address_unknown')}**"
    if address is not None:
        notes += f"\n\n{await async_text(hass, 'address_for_devices', address=plain_name(address))}"
    return {
        "check_in_url": url or "–",
        "portal_url": PORTAL_URL,
        "docs_url": f"{integration.documentation}{_HIDDEN_FIELD_PAGE}",
        "problem": notes,
    }


async def async_https_hint(hass: HomeAssistant) -> str:
    """Return a paragraph for an owner whose Home Assistant answers on https only; otherwise an empty text."""
    return f"\n\n**{await async_text(hass, 'address_https')}**" if is_https_only(hass) else ""
