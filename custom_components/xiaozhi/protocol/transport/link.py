"""The contract between a device's control connection and the code that talks to the device.

A *link* is one live control connection. An *audio channel* is open on it while a conversation lasts: on a
WebSocket both begin and end together, over MQTT the link outlives many channels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from ..limits import LinkCounters
from ..messages import AudioFormat, DeviceHello, DeviceMessage, JsonObject

__all__ = ["Admission", "Channel", "Credentials", "Link", "LinkClosedError", "LinkHandler", "LinkKind"]


class LinkClosedError(ConnectionError):
    """The link or its audio channel is gone, or the device does not take what it is sent."""


class LinkKind(StrEnum):
    """How a device is connected."""

    WEBSOCKET = "websocket"
    MQTT = "mqtt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a connecting device claims to be, before anything of it is believed."""

    mac: str
    """Lower case with colons."""
    client_id: str
    token: str
    remote: str
    """IP address of the peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An open audio channel: what both hellos agreed on."""

    session_id: str
    hello: DeviceHello
    uplink: AudioFormat
    downlink: AudioFormat


class LinkHandler(Protocol):
    """Receives what happens on one link, in order, on the event loop. Its methods must not block or raise."""

    async def channel_opening(self, channel: Channel) -> None:
        """A link that stays connected is about to answer a hello, and does when this returns.

        For what has to be done before the device is in the conversation.
        """

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
    """A listener's permission to talk to a device that has shown who it is."""

    attach: Callable[[Link], LinkHandler]
    """Called once, when the link is up."""
    pings_safe: bool
    """Whether the device's firmware survives WebSocket pings (since v1.9.0)."""
    text_limit: int | None = None
    """Bytes of a WebSocket text frame that the firmware surely takes; None for any."""


class Link(ABC):
    """One live control connection of one device.

    Sending raises `LinkClosedError` when the device is gone or takes nothing any more; receiving goes to the
    `LinkHandler` that was attached.
    """

    counters: LinkCounters
    kind: ClassVar[LinkKind]
    stays_connected: ClassVar[bool]
    """Whether the device keeps this kind of link up between conversations."""

    @property
    def notices_loss(self) -> bool:
        """Whether the link ends by itself when the device is gone, sooner or later."""
        return True

    @property
    @abstractmethod
    def remote(self) -> str:
        """IP address of the device as seen on this link."""

    @property
    @abstractmethod
    def channel(self) -> Channel | None:
        """The open audio channel, if a conversation is going on."""

    def statistics(self) -> dict[str, Any]:
        """Return what the link carried and dropped, for diagnostics."""
        return asdict(self.counters)

    @abstractmethod
    async def send(self, message: JsonObject) -> None:
        """Send one JSON message of `messages`."""

    @abstractmethod
    async def send_audio(self, packet: bytes) -> None:
        """Send one Opus packet of the channel's downlink format."""

    @abstractmethod
    async def close_channel(self) -> None:
        """End the conversation; the device goes idle. Does nothing when none is open."""

    @abstractmethod
    async def close(self, reason: str) -> None:
        """Close the link. Does nothing when it is closed already."""
