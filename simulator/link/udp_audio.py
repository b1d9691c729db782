"""The audio of a conversation over UDP.

Source: the firmware's `mqtt_protocol.cc`, and `esp_udp.cc` of its network component. A datagram is a header
of 16 bytes (type 1, flags, length of the payload, connection id, timestamp, sequence; big endian) and an Opus
packet, encrypted by AES-128-CTR with the header as the initial counter block.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
import socket
from typing import Any, Final, Self, cast, override

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..board.cjson import find, int_value, is_number
from ..board.crash import DeviceCrashed
from .impairment import ImpairedPath
from .misbehave import FaultInjector
from .network import Network

_HEADER: Final = 16
_TYPE: Final = 1
_MAX_DATAGRAM: Final = 1500
# Up to 2.3.0 the size is compared with that of a C++ string object instead of that of the header.
_LOOSE_MIN_DATAGRAM: Final = 24


@dataclass(frozen=True, slots=True)
class AudioOffer:
    """The `udp` object of the server's hello."""

    host: str
    port: int
    key: bytes
    """16 bytes."""
    nonce: bytes
    """16 bytes: the pattern of the uplink's headers."""


def parse_offer(udp: object, *, hardened: bool) -> AudioOffer | None:
    """Read the `udp` object; None if the firmware rejects the hello.

    Firmware before 2.4.0 is not `hardened`: it crashes (`DeviceCrashed`) on missing fields.
    """
    if not isinstance(udp, dict):
        return None
    host, port = find(udp, "server"), find(udp, "port")
    key, nonce = _hex(find(udp, "key")), _hex(find(udp, "nonce"))
    number = int_value(port) if is_number(port) else 0
    if not isinstance(host, str) or port is None or key is None or nonce is None:
        if hardened:
            return None
        raise DeviceCrashed("the server's hello lacks a field of 'udp'")
    if hardened and not (host and 0 < number < 65536):
        return None
    return AudioOffer(host, number, key, nonce)


def _hex(text: object) -> bytes | None:
    """Return 16 bytes from 32 digits."""
    if not isinstance(text, str) or len(text) != 2 * _HEADER:
        return None
    with suppress(ValueError):
        return bytes.fromhex(text)
    return None


class UdpAudio(asyncio.DatagramProtocol):
    """A connected socket: the system drops datagrams from other addresses than the server's."""

    def __init__(
        self,
        offer: AudioOffer,
        network: Network,
        faults: FaultInjector,
        received: Callable[[bytes], None],
        *,
        hardened: bool,
    ) -> None:
        """`received` is called with decrypted packets; firmware since 2.4.0 is `hardened`."""
        self.alive = False
        """Whether packets are sent and received; the firmware does not notice a failure."""
        self._offer = offer
        self._network = network
        self._faults = faults
        self._received = received
        self._hardened = hardened
        self._transport: asyncio.DatagramTransport | None = None
        self._uplink = ImpairedPath(network.impairment, "uplink", self._transmit)
        self._downlink = ImpairedPath(network.impairment, "downlink", self._arrived)
        self._sent = 0
        self._accepted = 0

    async def open(self) -> Self:
        """Connect the socket; the device does not notice a failure."""
        loop = asyncio.get_running_loop()
        with suppress(OSError, ValueError):
            await loop.create_datagram_endpoint(
                lambda: self,
                remote_addr=(self._offer.host, self._offer.port),
                family=socket.AF_INET,
            )
            self.alive = True
        return self

    def rekey(self, offer: AudioOffer) -> None:
        """Use the keys of an unexpected hello; the socket stays the same."""
        self._offer = offer
        self._sent = self._accepted = 0

    def send(self, packet: bytes) -> bool:
        """Send an Opus packet; False if the socket is dead."""
        if not self.alive:
            return False
        self._sent = (self._sent + 1) & 0xFFFFFFFF
        nonce = self._offer.nonce
        header = nonce[:2] + len(packet).to_bytes(2) + nonce[4:8] + bytes(4) + self._sent.to_bytes(4)
        datagram = header + self._crypt(header, packet)
        for other in self._faults.stranger_datagrams(datagram):
            self._send_as_stranger(other)
        for own in self._faults.datagrams(datagram):
            self._uplink.send(own)
        return True

    def close(self) -> None:
        """Close the socket."""
        self.alive = False
        self._uplink.close()
        self._downlink.close()
        if self._transport is not None:
            self._transport.abort()

    def _transmit(self, datagram: bytes) -> None:
        if self._transport is not None and not self._network.is_cut:
            self._transport.sendto(datagram)

    def _send_as_stranger(self, datagram: bytes) -> None:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            other.sendto(datagram, (self._offer.host, self._offer.port))

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        if not self._network.is_cut:
            self._downlink.send(data)

    def _arrived(self, datagram: bytes) -> None:
        if not self.alive:
            return
        if not datagram:
            # The firmware takes an empty datagram for an error, and ends its receiving task without notice.
            self.alive = False
            return
        datagram = datagram[:_MAX_DATAGRAM]
        sequence = int.from_bytes(datagram[12:16])
        if self._acceptable(datagram, sequence):
            self._accepted = sequence
            self._received(self._crypt(datagram[:_HEADER], datagram[_HEADER:]))

    def _acceptable(self, datagram: bytes, sequence: int) -> bool:
        if self._hardened:
            whole = len(datagram) >= _HEADER and int.from_bytes(datagram[2:4]) == len(datagram) - _HEADER
            return whole and datagram[0] == _TYPE and sequence > self._accepted
        return len(datagram) >= _LOOSE_MIN_DATAGRAM and datagram[0] == _TYPE and sequence >= self._accepted

    def _crypt(self, header: bytes, data: bytes) -> bytes:
        return Cipher(algorithms.AES(self._offer.key), modes.CTR(header)).encryptor().update(data)
