"""The device's network: it can be cut without the device noticing, and can impair datagrams."""

import asyncio
import socket
import ssl
import sys
from typing import cast, override

from .impairment import UdpImpairment

# Of the device's TCP, for an Ethernet frame; the loopback interface's own is larger than a device's buffers.
_SEGMENT_BYTES = 1436


class Connection(asyncio.Protocol):
    """A TCP connection. Data sent while the network is cut arrives afterwards, like resent segments."""

    def __init__(self, network: Network, *, tls: bool, window: int | None = None) -> None:
        """At most `window` bytes, if given, are buffered for reading."""
        self._tls = tls
        self._window = window
        # A reader pauses the other end at twice its limit.
        self.reader = asyncio.StreamReader() if window is None else asyncio.StreamReader(window // 2)
        self._network = network
        self._transport: asyncio.Transport | None = None
        self._incoming: list[bytes] = []
        self._outgoing: list[bytes] = []
        self._ended = False
        self._lost = False
        self._dropped = False
        self._writable = asyncio.Event()
        self._writable.set()

    # For the device

    def write(self, data: bytes) -> None:
        """Send; does nothing if the connection has ended."""
        if self._lost or self._dropped or self._transport is None:
            return
        if self._network.is_cut:
            self._outgoing.append(data)
        else:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the send buffer has room."""
        await self._writable.wait()

    def stop_reading(self) -> None:
        """Read nothing more, so that the other end has to wait."""
        if self._transport is not None:
            self._transport.pause_reading()

    def abort(self) -> None:
        """Drop it; while the network is cut, the other end does not notice."""
        self._drop()
        if self._transport is not None and not self._network.is_cut:
            self._transport.abort()

    def close(self) -> None:
        """Close it after sending all written data."""
        self._drop()
        if self._transport is not None and not self._network.is_cut:
            self._transport.close()

    def forget(self) -> None:
        """Stop sending and receiving: the device has lost its power."""
        self._drop()

    def _drop(self) -> None:
        self._dropped = True
        self.reader.feed_eof()
        self._writable.set()

    # For the network

    def network_cut(self) -> None:
        """Take nothing, so that the other end has to keep what it sends."""
        if self._transport is not None:
            self._transport.pause_reading()

    def network_restored(self) -> None:
        """Deliver the delayed data."""
        transport = self._transport
        if transport is None:
            return
        transport.resume_reading()
        if self._dropped:
            # Data for a connection that the device has dropped is refused.
            transport.abort()
        incoming, self._incoming = self._incoming, []
        outgoing, self._outgoing = self._outgoing, []
        if not self._dropped:
            # Nothing comes after the end, and a reader does not take that either.
            if incoming:
                self.reader.feed_data(b"".join(incoming))
            transport.write(b"".join(outgoing))
        if self._ended:
            self.reader.feed_eof()
        if self._lost:
            self._network.connections.discard(self)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._window is not None:
            self.reader.set_transport(self._transport)
        self._network.connections.add(self)

    @override
    def data_received(self, data: bytes) -> None:
        if self._dropped:
            return
        self._acknowledge()
        if self._network.is_cut:
            self._incoming.append(data)
        else:
            self.reader.feed_data(data)

    def _acknowledge(self) -> None:
        # Linux waits some milliseconds for data to send with it, also where time is virtual.
        connection = None if self._transport is None else self._transport.get_extra_info("socket")
        if connection is not None and sys.platform == "linux":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    @override
    def eof_received(self) -> bool:
        self._end()
        # The device keeps its half open until it closes the connection.
        return not self._tls

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._writable.set()
        self._end()
        if not self._network.is_cut:
            self._network.connections.discard(self)

    def _end(self) -> None:
        self._ended = True
        if not self._network.is_cut:
            self.reader.feed_eof()

    @override
    def pause_writing(self) -> None:
        self._writable.clear()

    @override
    def resume_writing(self) -> None:
        self._writable.set()


class Network:
    """The network of one device."""

    def __init__(self, impairment: UdpImpairment) -> None:
        """`impairment` applies to datagrams."""
        self.impairment = impairment
        self.connections: set[Connection] = set()
        """Connections that are open for the other end."""
        self._there = asyncio.Event()
        self._there.set()

    @property
    def is_cut(self) -> bool:
        """Whether all packets are lost."""
        return not self._there.is_set()

    def cut(self) -> None:
        """Lose all packets from now on; the device does not notice."""
        self._there.clear()
        for connection in self.connections:
            connection.network_cut()

    def restore(self) -> None:
        """Deliver packets again."""
        self._there.set()
        for connection in list(self.connections):
            connection.network_restored()

    def forget(self) -> None:
        """Deliver packets again, except those of the connections so far: their device has lost its power."""
        for connection in self.connections:
            connection.forget()
        self._there.set()

    def close(self) -> None:
        """End all connections."""
        self._there.set()
        for connection in list(self.connections):
            connection.abort()

    async def connect(
        self, host: str, port: int, tls: ssl.SSLContext | None = None, *, window: int | None = None
    ) -> Connection:
        """Return a connection. Raises `OSError`; waits while the network is cut.

        With a `window`, the other end can send only about as many bytes ahead, as with a device's small
        buffers.
        """
        await self._there.wait()
        loop = asyncio.get_running_loop()
        opened = socket.socket(proto=socket.IPPROTO_TCP)
        try:
            opened.setblocking(False)
            if window is not None:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT_BYTES)
            address = await loop.getaddrinfo(host, port, family=opened.family, type=opened.type)
            await loop.sock_connect(opened, address[0][4])
            _, connection = await loop.create_connection(
                lambda: Connection(self, tls=tls is not None, window=window),
                sock=opened,
                ssl=tls,
                server_hostname=None if tls is None else host,
            )
        except BaseException:
            opened.close()
            raise
        return connection
