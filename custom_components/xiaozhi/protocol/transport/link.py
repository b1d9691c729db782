"""The interface between a device's control connection and the code that talks to the device.

A *link* is one live control connection. An *audio channel* is open on it while a conversation lasts: on a
WebSocket both begin and end together, over MQTT the link outlives many channels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from ..limits import LinkCounters
from ..messages import AudioFormat, DeviceHello, DeviceMessage, JsonObject, mcp


class LinkClosedError(ConnectionError):
    """The link or its audio channel is closed, or the device no longer accepts data."""


class LinkKind(StrEnum):
    """How a device is connected."""

    WEBSOCKET = "websocket"
    MQTT = "mqtt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The unverified credentials of a connecting device."""

    mac: str
    """Lower case with colons."""
    client_id: str
    token: str
    remote: str
    """IP address of the peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An open audio channel, with the settings from both hellos."""

    session_id: str
    hello: DeviceHello
    uplink: AudioFormat
    downlink: AudioFormat


class LinkHandler(Protocol):
    """Handles the events of one link, in order, on the event loop. Its methods must not block or raise."""

    def channel_opened(self, channel: Channel) -> None:
        """The hellos are exchanged; audio and messages of a conversation follow."""

    def message_received(self, message: DeviceMessage) -> None:
        """A well-formed message other than hello and goodbye arrived."""

    def audio_received(self, packet: bytes, missing: int) -> None:
        """An Opus packet arrived, empty for silence; `missing` packets before it are known to be lost."""

    def channel_closed(self, reason: str) -> None:
        """The conversation is over. Comes once for every `channel_opened`, before `link_closed`."""

    def link_closed(self, reason: str) -> None:
        """The link is gone. Comes once, and nothing follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A listener's permission to talk to an authenticated device."""

    attach: Callable[[Link], LinkHandler]
    """Called once, when the link is up."""
    pings_safe: bool
    """Whether the device's firmware survives WebSocket pings (since v1.9.0)."""
    text_limit: int | None = None
    """Safe size of a WebSocket text frame for the firmware, in bytes; None for any."""


class Link(ABC):
    """One live control connection of one device.

    Sending raises `LinkClosedError` when the device is gone or does not accept data. The attached
    `LinkHandler` receives.
    """

    counters: LinkCounters
    kind: ClassVar[LinkKind]
    stays_connected: ClassVar[bool]
    """Whether the device keeps this kind of link open between conversations."""

    @property
    def notices_loss(self) -> bool:
        """Whether the link ends by itself some time after the device is gone."""
        return True

    @property
    @abstractmethod
    def remote(self) -> str:
        """IP address of the device as seen on this link."""

    @property
    @abstractmethod
    def channel(self) -> Channel | None:
        """The open audio channel, if any."""

    def statistics(self) -> dict[str, Any]:
        """Return counters of the link, for diagnostics."""
        return asdict(self.counters)

    @abstractmethod
    async def send(self, message: JsonObject) -> None:
        """Send one JSON message of `messages`."""

    async def send_mcp(self, payload: JsonObject) -> None:
        """Send a JSON-RPC object of MCP."""
        await self.send(mcp(payload))

    @abstractmethod
    async def send_audio(self, packet: bytes) -> None:
        """Send one Opus packet of the channel's downlink format."""

    @abstractmethod
    async def close_channel(self) -> None:
        """End the conversation; the device goes idle. Does nothing when none is open."""

    @abstractmethod
    async def close(self, reason: str) -> None:
        """Close the link. Does nothing when it is closed already."""
