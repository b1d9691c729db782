"""What the firmware's application expects of a transport. Source: the firmware's `protocols/protocol.h`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..board.cjson import JsonObject

__all__ = ["AudioPacket", "Transport", "TransportListener"]


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """An Opus packet from the server with the format that its hello declared."""

    payload: bytes
    sample_rate: int
    frame_duration: int


class TransportListener(Protocol):
    """Hears, on the network task, what a transport receives. Must not block."""

    def message_received(self, message: JsonObject) -> None:
        """A JSON object other than a hello arrived."""

    def audio_received(self, packet: AudioPacket) -> None:
        """A packet arrived."""

    def channel_closed(self) -> None:
        """The audio channel is gone."""

    def failed(self, error: str) -> None:
        """The user is to see an error, and the device to go idle."""


class Transport(ABC):
    """One of the two ways to a server. All sending is done by the main task."""

    name: ClassVar[str]

    @abstractmethod
    async def start(self) -> None:
        """Do what is to be done at the end of the activation."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether there is a connection to the server, as far as the device knows."""

    @property
    @abstractmethod
    def channel_open(self) -> bool:
        """Whether there is a channel that is neither closed nor failed nor stale."""

    @abstractmethod
    async def open_channel(self) -> bool:
        """Open the audio channel; False after a failure that the listener has heard of."""

    @abstractmethod
    async def close_channel(self) -> None:
        """Close it, if it is open."""

    @abstractmethod
    async def send_text(self, text: str) -> bool:
        """Send a JSON text; it vanishes when there is no connection."""

    @abstractmethod
    async def send_audio(self, packet: bytes) -> bool:
        """Send an Opus packet; it vanishes when there is no channel."""

    @abstractmethod
    def lose_connection(self) -> None:
        """Have the connection break under the device."""

    @abstractmethod
    def shut_down(self) -> None:
        """End all connections before a restart."""

    @abstractmethod
    def power_off(self) -> None:
        """Drop all connections without a word."""

    @property
    @abstractmethod
    def session_id(self) -> str:
        """What the last hello of the server named; goes into every message."""
