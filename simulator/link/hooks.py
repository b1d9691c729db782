"""The hooks in the transports by which a device misbehaves on request."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from .websocket_frames import Opcode

__all__ = ["LinkHooks", "SendRaw"]

type SendRaw = Callable[[Opcode, bytes], Awaitable[bool]]


class LinkHooks(Protocol):
    """Hooks before, after or instead of the firmware's actions."""

    # Conversations

    @property
    def stops_reading(self) -> bool:
        """Whether the connection is not read any more after the server's hello."""

    async def before_hello(self, send: SendRaw) -> None:
        """Called before the hello is sent."""

    async def after_hello(self, send: SendRaw, hello: str) -> None:
        """Called after the server's hello has arrived; `hello` is the device's."""

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
        """Return the datagrams to send instead of one."""

    def stranger_datagrams(self, datagram: bytes) -> list[bytes]:
        """Return the datagrams that another address sends just before one."""
