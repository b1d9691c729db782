"""Settings of the gateway and of each device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
import hmac
import logging
import secrets
from typing import Any, Final, Self

from homeassistant.config_entries import SOURCE_IGNORE, ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_CLIENT_ID, CONF_HOST, CONF_PASSWORD, CONF_PORT, CONF_TOKEN, CONF_USERNAME
from homeassistant.core import HomeAssistant, callback
from homeassistant.util.ssl import get_default_context

from .const import (
    CONF_ADDRESS,
    CONF_ANNOUNCEMENT_VOLUME,
    CONF_ASK_AI,
    CONF_ASK_PEOPLE,
    CONF_ASSISTANT_TOOLS,
    CONF_BOARD,
    CONF_BROKER,
    CONF_CONVERSATION_STYLE,
    CONF_FIRMWARE_RELEASES,
    CONF_FOLLOW_UP_WAIT,
    CONF_INTERRUPT_BY_SPEAKING,
    CONF_LINK,
    CONF_LOOK_AT_PHOTOS,
    CONF_MQTT_PORT,
    CONF_SHARE_TRANSCRIPTS,
    CONF_SHOW_ANNOUNCEMENTS,
    CONF_TLS,
    CONF_UDP_PORT,
    CONF_WAKE_WORD_PIPELINES,
    CONF_WEBSOCKET_PORT,
    DEFAULT_FOLLOW_UP_WAIT,
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


class StoredSettings:
    """Reads stored settings. One that cannot be read, as a downgrade leaves behind, counts as not set."""

    def __init__(self, owner: str, data: Mapping[str, Any]) -> None:
        """Read settings of `owner`, whose name is for the log."""
        self._owner = owner
        self._data = data

    def read[T, DefaultT](self, key: str, convert: Callable[[Any], T], default: DefaultT) -> T | DefaultT:
        """Return a setting. `convert` raises `ValueError` or `TypeError` for what is none."""
        if key not in self._data:
            return default
        try:
            return convert(self._data[key])
        except ValueError, TypeError:
            # Not the value: it may be private.
            _LOGGER.warning("The setting %s of %s cannot be read, and has its default", key, self._owner)
            return default


def flag(value: Any) -> bool:
    """Return a stored yes or no. Raises `TypeError`."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def text(value: Any) -> str:
    """Return a stored text. Raises `TypeError`."""
    if not isinstance(value, str):
        raise TypeError
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a stored list of texts. Raises `TypeError`."""
    if not isinstance(value, list | tuple):
        raise TypeError
    return tuple(map(text, value))


def number(lowest: int, highest: int) -> Callable[[Any], int]:
    """Return what returns a stored whole number between two others."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise ValueError
        return value

    return read


def _credential(value: Any) -> str:
    if not text(value):
        raise ValueError
    return text(value)


def _pipelines(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError
    return {text(word): text(pipeline) for word, pipeline in value.items()}


_PORT: Final = number(1, 65535)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Settings from the entry of the gateway."""

    name: str
    """Eight hexadecimal digits that identify this gateway on a broker. They never change."""
    websocket_port: int
    mqtt_port: int
    udp_port: int
    link: OfferedLink
    address: str | None
    """Host name or IPv4 address of Home Assistant for devices; None for the one that they called."""
    broker: BrokerSettings | None
    """None unless the link is `BROKER`."""
    firmware_releases: str | None
    """Address of a list of firmware releases."""

    @classmethod
    def from_entry(cls, entry: ConfigEntry[Any]) -> Self:
        """Read a gateway entry; entries from before MQTT have a WebSocket port only."""
        stored = StoredSettings(entry.title, entry.data)
        unset = OfferedLink.MQTT if CONF_LINK in entry.data else OfferedLink.WEBSOCKET
        link = stored.read(CONF_LINK, OfferedLink, unset)
        broker: BrokerSettings | None = None
        if link is OfferedLink.BROKER and (broker := stored.read(CONF_BROKER, broker_settings, None)) is None:
            link = OfferedLink.MQTT
        return cls(
            name=sha256(entry.entry_id.encode()).hexdigest()[:8],
            websocket_port=stored.read(CONF_WEBSOCKET_PORT, _PORT, DEFAULT_WEBSOCKET_PORT),
            mqtt_port=stored.read(CONF_MQTT_PORT, _PORT, DEFAULT_MQTT_PORT),
            udp_port=stored.read(CONF_UDP_PORT, _PORT, DEFAULT_UDP_PORT),
            link=link,
            address=stored.read(CONF_ADDRESS, text, None),
            broker=broker,
            firmware_releases=stored.read(CONF_FIRMWARE_RELEASES, text, None),
        )


def broker_settings(data: Any) -> BrokerSettings:
    """Read the settings of a broker as its form gives them. Raises `ValueError` or `TypeError`."""
    if not isinstance(data, Mapping):
        raise TypeError
    return BrokerSettings(
        host=text(data.get(CONF_HOST)),
        port=_PORT(data.get(CONF_PORT)),
        username=text(data.get(CONF_USERNAME, "")) or None,
        password=text(data.get(CONF_PASSWORD, "")) or None,
        tls=get_default_context() if data.get(CONF_TLS) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """Settings from the subentry of a device."""

    mac: str
    name: str
    client_id: str
    token: str
    board: str
    conversation_style: ConversationStyle
    follow_up_wait: int = DEFAULT_FOLLOW_UP_WAIT
    """Seconds for which the device listens after an answer before the conversation ends."""
    interrupt_by_speaking: bool = False
    """Whether speech interrupts an answer, where the device listens while it speaks."""
    link: DeviceLink
    share_transcripts: bool
    """Whether events hold what the user and the assistant said."""
    wake_word_pipelines: Mapping[str, str] = field(default_factory=dict)
    """Ids of pipelines by wake word, where the device's own does not apply."""
    announcement_volume: int = 0
    """Percentage; 0 to leave the volume alone."""
    shows_announcements: bool = False
    """Whether a text and a sound may take the place of an announcement, where the device cannot speak."""
    may_ask_ai: bool = False
    """Whether it may ask the owner's AI Task."""
    may_ask_people: bool = False
    """Whether it may ask people, by a repair and a notification."""
    looks_at_photos: bool = True
    """Whether an AI model may look at its photos."""
    assistant_tools: tuple[str, ...] | None
    """Names of the tools that the assistant may use; None for the automatic choice."""

    @classmethod
    def from_subentry(cls, subentry: ConfigSubentry) -> Self:
        """Read a subentry of type `device`."""
        stored = StoredSettings(subentry.title, subentry.data)
        return cls(
            mac=subentry.unique_id or "",
            name=subentry.title,
            # Without its credentials, a device is let in as little as a stranger, and has to be paired again.
            client_id=stored.read(CONF_CLIENT_ID, _credential, "") or secrets.token_urlsafe(),
            token=stored.read(CONF_TOKEN, _credential, "") or secrets.token_urlsafe(),
            board=stored.read(CONF_BOARD, text, ""),
            conversation_style=stored.read(
                CONF_CONVERSATION_STYLE, ConversationStyle, ConversationStyle.SINGLE
            ),
            follow_up_wait=stored.read(CONF_FOLLOW_UP_WAIT, number(1, 3600), DEFAULT_FOLLOW_UP_WAIT),
            interrupt_by_speaking=stored.read(CONF_INTERRUPT_BY_SPEAKING, flag, False),
            link=stored.read(CONF_LINK, DeviceLink, DeviceLink.AUTOMATIC),
            share_transcripts=stored.read(CONF_SHARE_TRANSCRIPTS, flag, False),
            wake_word_pipelines=stored.read(CONF_WAKE_WORD_PIPELINES, _pipelines, {}),
            announcement_volume=stored.read(CONF_ANNOUNCEMENT_VOLUME, number(0, 100), 0),
            shows_announcements=stored.read(CONF_SHOW_ANNOUNCEMENTS, flag, False),
            may_ask_ai=stored.read(CONF_ASK_AI, flag, False),
            may_ask_people=stored.read(CONF_ASK_PEOPLE, flag, False),
            looks_at_photos=stored.read(CONF_LOOK_AT_PHOTOS, flag, True),
            assistant_tools=stored.read(CONF_ASSISTANT_TOOLS, texts, None),
        )

    @property
    def vision_token(self) -> str:
        """Token that the device sends with a photo. It does not reveal the token of the link."""
        return hmac.digest(self.token.encode(), b"vision", "sha256").hex()


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
