"""The hooks in the transports by which a device misbehaves on request."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from .websocket_frames import Opcode

__all__ = ["LinkHooks", "SendRaw"]

type SendRaw = Callable[[Opcode, bytes], Awaitable[bool]]


class LinkHooks(Protocol):
    """What may be done in place of, or besides, what the firmware does."""

    # Conversations

    @property
    def stops_reading(self) -> bool:
        """Whether the connection is not read any more after the server's hello."""

    async def before_hello(self, send: SendRaw) -> None:
        """Do something before the hello goes out."""

    async def after_hello(self, send: SendRaw, hello: str) -> None:
        """Do something after the server's hello came in; `hello` is the device's."""

    # MQTT

    @property
    def never_pings(self) -> bool:
        """Whether the device sends no keep-alive."""

    def password(self, password: str) -> str:
        """Return the password to use instead."""

    def topic(self, topic: str) -> str:
        """Return the topic to publish to instead."""

    def after_connect(self) -> bytes:
        """Return bytes to send once the connection is accepted."""

    # UDP

    def datagrams(self, datagram: bytes) -> list[bytes]:
        """Return what the device sends instead of a datagram."""

    def stranger_datagrams(self, datagram: bytes) -> list[bytes]:
        """Return what another address sends just before a datagram."""
