"""Settings of the gateway and of each device."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
import hmac
from typing import Any, Self

from homeassistant.config_entries import SOURCE_IGNORE, ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_CLIENT_ID, CONF_HOST, CONF_PASSWORD, CONF_PORT, CONF_TOKEN, CONF_USERNAME
from homeassistant.core import HomeAssistant, callback
from homeassistant.util.ssl import get_default_context

from .const import (
    CONF_ADDRESS,
    CONF_ANNOUNCEMENT_VOLUME,
    CONF_ASK_AI,
    CONF_ASK_PEOPLE,
    CONF_ASSISTANT_RESOURCES,
    CONF_ASSISTANT_TOOLS,
    CONF_BOARD,
    CONF_BROKER,
    CONF_CONVERSATION_STYLE,
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
    DOMAIN,
    GATEWAY_UNIQUE_ID,
    SUBENTRY_DEVICE,
)
from .protocol.transport.mqtt.broker_client import BrokerSettings


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

    @classmethod
    def from_entry(cls, entry: ConfigEntry[Any]) -> Self:
        """Read a gateway entry; entries from before MQTT have a WebSocket port only."""
        data = entry.data
        link = OfferedLink(data.get(CONF_LINK, OfferedLink.WEBSOCKET))
        return cls(
            name=sha256(entry.entry_id.encode()).hexdigest()[:8],
            websocket_port=data[CONF_WEBSOCKET_PORT],
            mqtt_port=data.get(CONF_MQTT_PORT, DEFAULT_MQTT_PORT),
            udp_port=data.get(CONF_UDP_PORT, DEFAULT_UDP_PORT),
            link=link,
            address=data.get(CONF_ADDRESS),
            broker=broker_settings(data[CONF_BROKER]) if link is OfferedLink.BROKER else None,
        )


def broker_settings(data: Mapping[str, Any]) -> BrokerSettings:
    """Read the settings of a broker as its form gives them."""
    return BrokerSettings(
        host=data[CONF_HOST],
        port=data[CONF_PORT],
        username=data.get(CONF_USERNAME) or None,
        password=data.get(CONF_PASSWORD) or None,
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
    assistant_resources: tuple[str, ...] = ()
    """URIs of the resources that are put before the assistant."""
    assistant_tools: tuple[str, ...] | None
    """Names of the tools that the assistant may use; None for the automatic choice."""

    @classmethod
    def from_subentry(cls, subentry: ConfigSubentry) -> Self:
        """Read a subentry of type `device`."""
        data = subentry.data
        return cls(
            mac=subentry.unique_id or "",
            name=subentry.title,
            client_id=data[CONF_CLIENT_ID],
            token=data[CONF_TOKEN],
            board=data.get(CONF_BOARD, ""),
            conversation_style=ConversationStyle(data.get(CONF_CONVERSATION_STYLE, ConversationStyle.SINGLE)),
            follow_up_wait=data.get(CONF_FOLLOW_UP_WAIT, DEFAULT_FOLLOW_UP_WAIT),
            interrupt_by_speaking=data.get(CONF_INTERRUPT_BY_SPEAKING, False),
            link=DeviceLink(data.get(CONF_LINK, DeviceLink.AUTOMATIC)),
            share_transcripts=data.get(CONF_SHARE_TRANSCRIPTS, False),
            wake_word_pipelines=dict(data.get(CONF_WAKE_WORD_PIPELINES, {})),
            announcement_volume=data.get(CONF_ANNOUNCEMENT_VOLUME, 0),
            shows_announcements=data.get(CONF_SHOW_ANNOUNCEMENTS, False),
            may_ask_ai=data.get(CONF_ASK_AI, False),
            may_ask_people=data.get(CONF_ASK_PEOPLE, False),
            looks_at_photos=data.get(CONF_LOOK_AT_PHOTOS, True),
            assistant_resources=tuple(data.get(CONF_ASSISTANT_RESOURCES, ())),
            assistant_tools=tuple(data[CONF_ASSISTANT_TOOLS]) if CONF_ASSISTANT_TOOLS in data else None,
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
