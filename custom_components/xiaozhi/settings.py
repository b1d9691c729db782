"""Settings of the gateway and of each device."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
import logging
import secrets
from types import MappingProxyType
from typing import Any, Final, Self, cast

from homeassistant.config_entries import SOURCE_IGNORE, ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_HOST, CONF_PASSWORD, CONF_PORT, CONF_USERNAME
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.ssl import get_default_context
import voluptuous as vol

from .const import (
    CONF_LINK,
    CONF_SHOW_ANNOUNCEMENTS,
    CONF_TLS,
    DEFAULT_MQTT_PORT,
    DEFAULT_UDP_PORT,
    DEFAULT_WEBSOCKET_PORT,
    DOMAIN,
    GATEWAY_UNIQUE_ID,
    SUBENTRY_DEVICE,
)
from .protocol.transport.owner_broker.broker_settings import BrokerSettings

_LOGGER = logging.getLogger(__name__)


class OfferedLink(StrEnum):
    """The link that the gateway offers to devices."""

    MQTT = "mqtt"
    """To our own MQTT endpoint, with audio over UDP."""
    BROKER = "broker"
    """Through the owner's MQTT broker, with audio over UDP."""
    WEBSOCKET = "websocket"
    """To our WebSocket, during conversations only; the ports for MQTT and UDP stay closed."""


class DeviceLink(StrEnum):
    """The link that the owner has chosen for a device."""

    AUTOMATIC = "automatic"
    """The link that the gateway offers."""
    MQTT = "mqtt"
    WEBSOCKET = "websocket"


class ConversationStyle(StrEnum):
    """When a conversation ends."""

    SINGLE = "single"
    """After the answer, unless the assistant asks back."""
    OPEN = "open"
    """When the user says nothing more."""


def stored(schema: object, default: Any = None, *, key: str | None = None) -> Any:
    """Return a field of a class of settings that is stored, under its name or another key.

    `schema` checks what is stored, and converts it.
    """
    return field(default=default, metadata={"schema": vol.Schema(schema), "key": key})


def read_settings(settings: type[Any], owner: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return by field the stored settings of a class that can be read; the others have their defaults.

    A downgrade may leave unreadable settings behind. `owner` is a name for the log.
    """
    found: dict[str, Any] = {}
    for each in fields(settings):
        key = each.metadata.get("key") or each.name
        if each.metadata and key in data:
            try:
                found[each.name] = each.metadata["schema"](data[key])
            except vol.Invalid:
                # Not the value: it may be private.
                _LOGGER.warning("The setting %s of %s cannot be read, and has its default", key, owner)
    return found


def settings_of[SettingsT](entry: ConfigEntry[Any], kind: type[SettingsT]) -> SettingsT:
    """Return the settings of a guest in the entry of the gateway, a class whose fields are `stored`."""
    return kind(**read_settings(kind, entry.title, entry.data))


def from_stored[ThingT](kind: type[ThingT], data: Mapping[str, Any]) -> ThingT:
    """Return an object of stored fields. Raises if one is damaged, or missing and has no default."""
    present = (each for each in fields(cast("Any", kind)) if each.name in data or each.default is None)
    return kind(**{each.name: each.metadata["schema"](data[each.name]) for each in present})


def _whole(value: object) -> int:
    """Return a whole number, which a boolean is not."""
    if type(value) is not int:
        raise vol.Invalid("expected a whole number")
    return value


def broker_settings(broker: Mapping[str, Any]) -> BrokerSettings:
    """Return the settings of a broker as its form gives them."""
    return BrokerSettings(
        host=broker[CONF_HOST],
        port=broker[CONF_PORT],
        username=broker.get(CONF_USERNAME),
        password=broker.get(CONF_PASSWORD),
        tls=get_default_context() if broker.get(CONF_TLS) else None,
    )


def _stored_moment(text: str) -> datetime:
    try:
        return dt_util.as_utc(datetime.fromisoformat(text))
    except OverflowError as err:
        raise ValueError from err


MOMENT: Final = vol.All(str, _stored_moment)

TEXTS: Final = vol.All([str], vol.Coerce(tuple))
PERCENTAGE: Final = vol.All(_whole, vol.Range(min=0, max=100))
_CREDENTIAL: Final = vol.All(str, vol.Length(min=1))
_PORT: Final = vol.All(_whole, vol.Range(min=1, max=65535))
_BROKER: Final = vol.All(
    vol.Schema(
        {
            vol.Required(CONF_HOST): str,
            vol.Required(CONF_PORT): _PORT,
            vol.Optional(CONF_USERNAME): str,
            vol.Optional(CONF_PASSWORD): str,
        },
        extra=vol.ALLOW_EXTRA,
    ),
    broker_settings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Settings from the entry of the gateway."""

    name: str
    """Eight hexadecimal digits that identify this gateway on a broker. They never change."""
    websocket_port: int = stored(_PORT, DEFAULT_WEBSOCKET_PORT)
    mqtt_port: int = stored(_PORT, DEFAULT_MQTT_PORT)
    udp_port: int = stored(_PORT, DEFAULT_UDP_PORT)
    link: OfferedLink = stored(vol.Coerce(OfferedLink), OfferedLink.MQTT)
    address: str | None = stored(str)
    """Host name or IPv4 address of Home Assistant for devices; None for the one that they called."""
    broker: BrokerSettings | None = stored(_BROKER)
    """None unless the link is `BROKER`."""

    @classmethod
    def from_entry(cls, entry: ConfigEntry[Any]) -> Self:
        """Read a gateway entry; entries from before MQTT have a WebSocket port only."""
        found = read_settings(cls, entry.title, {CONF_LINK: OfferedLink.WEBSOCKET, **entry.data})
        if found.get("link") is not OfferedLink.BROKER:
            found.pop("broker", None)
        elif "broker" not in found:
            found["link"] = OfferedLink.MQTT
        return cls(name=sha256(entry.entry_id.encode()).hexdigest()[:8], **found)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """Settings from the subentry of a device."""

    mac: str
    name: str
    client_id: str = stored(_CREDENTIAL)
    token: str = stored(_CREDENTIAL)
    board: str = stored(str, "")
    conversation_style: ConversationStyle = stored(vol.Coerce(ConversationStyle), ConversationStyle.SINGLE)
    follow_up_wait: int = stored(vol.All(_whole, vol.Range(min=1, max=3600)), 8)
    """Seconds for which the device listens after an answer before the conversation ends."""
    interrupt_by_speaking: bool = stored(bool, False)
    """Whether speech interrupts an answer, where the device listens while it speaks."""
    microphone: bool = stored(bool, True)
    """Whether conversations are held; otherwise each is ended at once, unheard."""
    link: DeviceLink = stored(vol.Coerce(DeviceLink), DeviceLink.AUTOMATIC)
    share_transcripts: bool = stored(bool, False)
    """Whether events hold the words of the user and of the assistant."""
    wake_word_pipelines: Mapping[str, str] = stored({str: str}, MappingProxyType({}))
    """Ids of pipelines by wake word, if not the device's own."""
    announcement_volume: int | None = stored(vol.All(PERCENTAGE, lambda percentage: percentage or None))
    """Percentage; None to leave the volume alone, for which the owner chooses 0."""
    shows_announcements: bool = stored(bool, False, key=CONF_SHOW_ANNOUNCEMENTS)
    """Whether a device that cannot speak shows announcements with a sound."""
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """All that is stored, for `of`."""
    of_guests: dict[type[Any], Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Results of `of`."""
    assistant_tools: tuple[str, ...] | None = stored(TEXTS)
    """Names of the tools that the assistant may use; None for the automatic choice."""

    @classmethod
    def from_subentry(cls, subentry: ConfigSubentry) -> Self:
        """Read a subentry of type `device`."""
        found = read_settings(cls, subentry.title, subentry.data)
        # Without its credentials, a device cannot be let in, and has to be paired again.
        for credential in ("client_id", "token"):
            found.setdefault(credential, secrets.token_urlsafe())
        return cls(mac=subentry.unique_id or "", name=subentry.title, options=subentry.data, **found)

    def of[SettingsT](self, kind: type[SettingsT]) -> SettingsT:
        """Return the settings of a guest, a class whose fields are `stored`."""
        if kind not in self.of_guests:
            self.of_guests[kind] = kind(**read_settings(kind, self.name, self.options))
        found: SettingsT = self.of_guests[kind]
        return found


@callback
def gateway_entry(hass: HomeAssistant) -> ConfigEntry[Any] | None:
    """Return the entry of the gateway, running or not, unless it is an ignored discovery."""
    entry = hass.config_entries.async_entry_for_domain_unique_id(DOMAIN, GATEWAY_UNIQUE_ID)
    return None if entry is None or entry.source == SOURCE_IGNORE else entry


def device_subentries(entry: ConfigEntry[Any]) -> dict[str, ConfigSubentry]:
    """Return the subentries of the paired devices of a gateway, by MAC."""
    return {
        subentry.unique_id: subentry
        for subentry in entry.get_subentries_of_type(SUBENTRY_DEVICE)
        if subentry.unique_id
    }
