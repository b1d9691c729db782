"""The socket for the audio of all devices, and the channel on it that each conversation gets."""

import asyncio
from collections.abc import Callable
import logging
import secrets
import socket
import struct
import sys
from typing import Final

from ...clock import loop_time
from ...messages import AudioFormat, JsonObject
from ..peers import is_local
from .session import HEADER_BYTES, MAX_DATAGRAM_BYTES, AudioSession, Source, UdpCounters

__all__ = ["UdpChannel", "UdpListener"]

_LOGGER = logging.getLogger(__name__)

# Datagrams taken before other work of the event loop has its turn.
_BATCH: Final = 16


class UdpChannel:
    """The audio of one conversation on the listener's socket."""

    def __init__(
        self,
        listener: UdpListener,
        connection_id: int,
        session: AudioSession,
        receive: Callable[[bytes, int], None],
    ) -> None:
        """Belongs to `UdpListener.open_channel`."""
        self._listener = listener
        self._connection_id = connection_id
        self._session = session
        self._receive = receive
        self._open = True

    @property
    def remote(self) -> str | None:
        """IP address of the device; None before its first packet."""
        return self._session.source.host if self._session.source else None

    def offer(self, address: str) -> JsonObject:
        """Return the `udp` object of our hello; `address` is where the device reaches us."""
        return {
            "server": address,
            "port": self._listener.port,
            "key": self._session.key.hex(),
            "nonce": self._session.nonce.hex(),
        }

    def send(self, packet: bytes) -> int:
        """Send one Opus packet; return the bytes sent, 0 when it was dropped."""
        source = self._session.source
        if self._open and source is not None:
            datagram = self._session.seal(packet)
            if datagram is not None and self._listener.send(datagram, source):
                return len(datagram)
        self._session.counters.unsent += 1
        return 0

    def flush(self) -> None:
        """Hand on what still waits for an earlier packet."""
        self._hand_on(self._session.flush())

    def close(self) -> None:
        """Forget the conversation. Does nothing when that is done already."""
        if self._open:
            self._open = False
            self._listener.forget(self._connection_id)

    def datagram_received(self, datagram: bytes, source: Source) -> None:
        """Take a datagram with our connection id."""
        self._hand_on(self._session.open(datagram, source, loop_time()))

    def _hand_on(self, packets: list[tuple[bytes, int]]) -> None:
        for packet, missing in packets:
            if self._open:
                self._receive(packet, missing)


class UdpListener:
    """The socket for the audio of all devices."""

    def __init__(self, admits: Callable[[str], bool] = is_local) -> None:
        """Prepare the listener; `start` opens its port. `admits` decides on the IP addresses of senders."""
        self._admits = admits
        self.counters = UdpCounters()
        self._socket: socket.socket | None = None
        self._channels: dict[int, UdpChannel] = {}

    @property
    def port(self) -> int:
        """The port in use. Raises `RuntimeError` when it is not started."""
        if self._socket is None:
            raise RuntimeError("the UDP listener is not started")
        port: int = self._socket.getsockname()[1]
        return port

    def start(self, host: str | None, port: int) -> None:
        """Open the port, on all IPv4 addresses when `host` is None. Raises `OSError` when it is taken."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.setblocking(False)
            if sys.platform == "linux":
                # The device takes packets only from the address it sends to, which on a host with several
                # is not always the one that the system would choose.
                udp.setsockopt(socket.IPPROTO_IP, socket.IP_PKTINFO, 1)
            udp.bind((host or "0.0.0.0", port))  # noqa: S104
        except OSError:
            udp.close()
            raise
        self._socket = udp
        asyncio.get_running_loop().add_reader(udp, self._readable, udp)

    def stop(self) -> None:
        """Close the port; the channels are of no more use."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def open_channel(
        self, uplink: AudioFormat, receive: Callable[[bytes, int], None], counters: UdpCounters | None = None
    ) -> UdpChannel:
        """Make keys for a conversation.

        `receive` gets each packet of the device in order, with the number of packets lost before it.
        `counters` are those of the device; without them the listener's own count.
        """
        while not (connection_id := secrets.randbits(32)) or connection_id in self._channels:
            pass
        session = AudioSession(connection_id, uplink, counters or self.counters, loop_time())
        channel = self._channels[connection_id] = UdpChannel(self, connection_id, session, receive)
        return channel

    def forget(self, connection_id: int) -> None:
        """Take nothing more for a conversation."""
        self._channels.pop(connection_id, None)

    def send(self, datagram: bytes, source: Source) -> bool:
        """Answer from the address that the device sent to; False when the network takes nothing now."""
        ancillary = []
        if sys.platform == "linux":
            # struct in_pktinfo: interface 0 for any, source address, unused.
            pktinfo = struct.pack("@i4s4s", 0, source.local, bytes(4))
            ancillary.append((socket.IPPROTO_IP, socket.IP_PKTINFO, pktinfo))
        try:
            if self._socket is not None:
                self._socket.sendmsg([datagram], ancillary, 0, (source.host, source.port))
                return True
        except OSError as err:
            _LOGGER.debug("Audio not sent: %s", err)
        return False

    def datagram_received(self, datagram: bytes, source: Source) -> None:
        """Take any datagram; raises nothing."""
        if not self._admits(source.host):
            self.counters.not_local += 1
        elif not HEADER_BYTES <= len(datagram) <= MAX_DATAGRAM_BYTES:
            self.counters.rejected += 1
        elif (channel := self._channels.get(int.from_bytes(datagram[4:8]))) is None:
            self.counters.unknown += 1
        else:
            channel.datagram_received(datagram, source)

    def _readable(self, udp: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                # One byte more than is allowed, so that a longer datagram is not taken for its beginning.
                datagram, ancillary, _, (host, port) = udp.recvmsg(
                    MAX_DATAGRAM_BYTES + 1, socket.CMSG_SPACE(12)
                )
            except BlockingIOError:
                return
            except OSError as err:
                _LOGGER.debug("Nothing received: %s", err)
                return
            local = ancillary[0][2][4:8] if ancillary else bytes(4)
            self.datagram_received(datagram, Source(host, port, local))
            if self._socket is None:
                # What received it has stopped the listener.
                return
