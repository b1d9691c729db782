"""The UDP socket for the audio of all devices, with one channel per conversation."""

import asyncio
from collections import deque
from collections.abc import Callable
import logging
import secrets
import socket
import struct
import sys
from typing import Final

from ....util.event_loop import loop_time
from ...messages import AudioFormat, JsonObject
from ..local_network import is_local
from .encrypted_audio import HEADER_BYTES, MAX_DATAGRAM_BYTES, EncryptedAudio, Sender, UdpCounters

_LOGGER = logging.getLogger(__name__)

# Datagrams received before the event loop does other work: most of what the system keeps. A busy event loop
# would come back too late for the rest.
_BATCH: Final = 256
# Of one device, that wait to be handled; more at once is a flood for its audio, too.
_WAITING: Final = 400
# A second of fifty devices. The system may allow less.
_RECEIVE_BUFFER: Final = 1024 * 1024


type AudioReceiver = Callable[[bytes, int], None]
"""Takes the packets of a device in order, each with how many before it are lost."""


class UdpChannel:
    """The audio of one conversation on the listener's socket."""

    def __init__(
        self, listener: UdpServer, connection_id: int, audio: EncryptedAudio, receiver: AudioReceiver
    ) -> None:
        """Only for `UdpServer.open_channel`."""
        self._listener = listener
        self._connection_id = connection_id
        self._audio = audio
        self._receiver = receiver
        self._waiting: deque[tuple[bytes, Sender]] = deque()

    @property
    def remote(self) -> str | None:
        """IP address of the device; None before its first packet."""
        return self._audio.source.host if self._audio.source else None

    def offer(self, address: str) -> JsonObject:
        """Return the `udp` object for our hello; `address` is where the device reaches us."""
        return {
            "server": address,
            "port": self._listener.port,
            # For programs; the firmware knows no other.
            "encryption": "aes-128-ctr",
            "key": self._audio.key.hex(),
            "nonce": self._audio.nonce.hex(),
        }

    def send(self, packet: bytes) -> int:
        """Send one Opus packet; return the bytes sent, 0 if it was dropped."""
        if (source := self._audio.source) is not None:
            datagram = self._audio.seal(packet)
            if datagram is not None and self._listener.send(datagram, source):
                return len(datagram)
        self._audio.counters.unsent += 1
        return 0

    def flush(self) -> None:
        """Deliver all received packets."""
        while self.deliver():
            pass

    def close(self) -> None:
        """Receive nothing more, and hand nothing on."""
        self._waiting.clear()
        self._listener.forget(self._connection_id)

    def datagram_received(self, datagram: bytes, source: Sender) -> None:
        """Keep a datagram with our connection id for `deliver`."""
        if len(self._waiting) < _WAITING:
            self._waiting.append((datagram, source))
        else:
            self._audio.counters.flooded += 1

    def deliver(self) -> bool:
        """Handle the oldest datagram that waits, if any; return whether more wait."""
        if self._waiting:
            datagram, source = self._waiting.popleft()
            if (delivered := self._audio.open(datagram, source, loop_time())) is not None:
                self._receiver(*delivered)
        return bool(self._waiting)


class UdpServer:
    """The socket for the audio of all devices."""

    def __init__(self) -> None:
        self.counters = UdpCounters()
        self._socket: socket.socket | None = None
        self._channels: dict[int, UdpChannel] = {}
        self._behind: set[UdpChannel] = set()
        """Channels with datagrams that wait to be handled."""
        self._delivery: asyncio.Handle | None = None

    @property
    def port(self) -> int:
        """The open port. Raises `RuntimeError` if none is open."""
        if self._socket is None:
            raise RuntimeError("the UDP listener is not started")
        port: int = self._socket.getsockname()[1]
        return port

    def start(self, host: str | None, port: int) -> None:
        """Open `port` of an IPv4 address, or of all for None. Raises `OSError`."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.setblocking(False)
            udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            if sys.platform == "linux":
                # The device takes packets only from the address it sends to, which on a host with several
                # addresses is not always the one that the system would choose.
                udp.setsockopt(socket.IPPROTO_IP, socket.IP_PKTINFO, 1)
            udp.bind((host or "0.0.0.0", port))  # noqa: S104
        except OSError:
            udp.close()
            raise
        self._socket = udp
        asyncio.get_running_loop().add_reader(udp, self._receive, udp)

    def stop(self) -> None:
        """Close the port; its channels become useless."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        self._behind.clear()

    def open_channel(self, uplink: AudioFormat, receiver: AudioReceiver, counters: UdpCounters) -> UdpChannel:
        """Open a channel with a new key for a conversation; `counters` are those of the device."""
        while not (connection_id := secrets.randbits(32)) or connection_id in self._channels:
            pass
        audio = EncryptedAudio(connection_id, uplink, counters, loop_time())
        channel = self._channels[connection_id] = UdpChannel(self, connection_id, audio, receiver)
        return channel

    def forget(self, connection_id: int) -> None:
        """Remove the channel of a conversation."""
        self._channels.pop(connection_id, None)

    def send(self, datagram: bytes, source: Sender) -> bool:
        """Send from the address that the device uses; False if the network does not accept the datagram."""
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

    def datagram_received(self, datagram: bytes, source: Sender) -> None:
        """Take any datagram. Never raises."""
        if not is_local(source.host):
            self.counters.not_local += 1
        elif not HEADER_BYTES <= len(datagram) <= MAX_DATAGRAM_BYTES:
            self.counters.rejected += 1
        elif (channel := self._channels.get(int.from_bytes(datagram[4:8]))) is None:
            self.counters.unknown += 1
        else:
            channel.datagram_received(datagram, source)
            self._behind.add(channel)

    def _deliver(self) -> None:
        """Handle one datagram of each device, and the next after other work of the event loop.

        Decrypting and decoding one takes 0.1 ms, and after a pause of the event loop there are many at once.
        """
        self._delivery = None
        for channel in tuple(self._behind):
            if channel in self._behind and not channel.deliver():
                self._behind.discard(channel)
        if self._behind:
            self._delivery = asyncio.get_running_loop().call_soon(self._deliver)

    def _receive(self, udp: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                # One byte more than allowed, to detect a longer datagram.
                datagram, ancillary, _, (host, port) = udp.recvmsg(
                    MAX_DATAGRAM_BYTES + 1, socket.CMSG_SPACE(12)
                )
            except BlockingIOError:
                break
            except OSError as err:
                _LOGGER.debug("Nothing received: %s", err)
                break
            local = ancillary[0][2][4:8] if ancillary else bytes(4)
            self.datagram_received(datagram, Sender(host, port, local))
        if self._delivery is None:
            self._deliver()
