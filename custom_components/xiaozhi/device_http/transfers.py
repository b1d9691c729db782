"""One-time addresses at which a device downloads or uploads a file."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import secrets
from typing import ClassVar, Final, Protocol

from aiohttp import web

from ..const import FILE_PATH, STREAM_PATH

# The token is the only credential of these requests.
_TOKEN_BYTES: Final = 24


@dataclass(slots=True)
class Download:
    """A file that a device is to download."""

    path: ClassVar = FILE_PATH
    content: bytes
    content_type: str
    progressed: Callable[[], None] = lambda: None
    """Called after every change of the following fields."""
    sent: int = 0
    remote: str = ""
    started: bool = False
    ended: bool = False
    """Whether the download is over, complete or not."""

    @property
    def complete(self) -> bool:
        """Whether the device has downloaded the whole file."""
        return self.sent == len(self.content)


@dataclass(slots=True)
class Stream:
    """Sound that a device downloads while it is made."""

    path: ClassVar = STREAM_PATH
    content: AsyncGenerator[bytes]
    """Closed by the view that serves it."""
    content_type: str
    taken: int = 0
    """Bytes that have arrived at the device."""
    direct: bool = True
    """Whether the device has asked for it without a proxy."""
    delivered: bool = False
    """Whether all of it has arrived; the device may still have to read it."""
    error: Exception | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to break the download off; the device then drops what it has not played."""
    requested: asyncio.Future[float] = field(default_factory=asyncio.Future)
    """When the device asks for it, by the clock of the event loop. Wait by a shield, as for `ended`."""
    ended: asyncio.Future[float] = field(default_factory=asyncio.Future)
    """When the connection is closed, or broken off."""


class Offered(Protocol):
    """Base of what can be offered at an address."""

    path: ClassVar[str]


class Transfers:
    """The open addresses of a gateway. Each closes after its first use, or when its context ends."""

    def __init__(self) -> None:
        self._open: dict[str, Offered] = {}

    @contextmanager
    def offer(self, transfer: Offered) -> Iterator[str]:
        """Open an address for a transfer. Yields its path on our web server."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._open[token] = transfer
        try:
            yield f"{transfer.path}/{token}"
        finally:
            self._open.pop(token, None)

    def take[KindT: Offered](self, kind: type[KindT], token: str) -> KindT:
        """Return the transfer of a kind for a token, and close its address. Raises `HTTPNotFound`."""
        if (transfer := self.find(kind, token)) is None:
            raise web.HTTPNotFound(text="Nothing is expected or offered here")
        del self._open[token]
        return transfer

    def find[KindT: Offered](self, kind: type[KindT], token: str) -> KindT | None:
        """Return the transfer of a kind for a token, and leave its address open."""
        transfer = self._open.get(token)
        return transfer if isinstance(transfer, kind) else None

    def all_open[KindT: Offered](self, kind: type[KindT]) -> list[KindT]:
        """Return all transfers of a kind whose addresses are open."""
        return [transfer for transfer in self._open.values() if isinstance(transfer, kind)]
