"""The audio of one conversation over UDP, without I/O: datagrams to packets and back.

Source: the firmware's `main/protocols/mqtt_protocol.cc`. A datagram is a header of 16 bytes (type 1, flags,
length of the payload, connection id, timestamp, sequence; big endian) and one Opus packet, encrypted by
AES-128-CTR with the header as the initial counter block. Both directions use the key of the hello.

Security: an attacker who cannot read the network's traffic can neither hear nor inject audio, because only
datagrams with the random 32-bit connection id of a live conversation are accepted. One who can read it is not
stopped: the key is in the hello, in plain text unless the MQTT connection is encrypted, and AES-CTR does not
authenticate, so packets can be altered without the key. The only checks are for plausibility: repeated or
far-off sequence numbers are dropped, and packets that do not decrypt to Opus of the announced duration; a
random forgery passes in about one of 70 cases. So without the key, an attacker can disturb a conversation or
redirect its answer to another address, but hardly speak in it.
"""

from dataclasses import dataclass
import secrets
import struct
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ...audio.opus_packet import is_announced
from ...limits import TokenBucket
from ...messages import AudioFormat

HEADER_BYTES: Final = 16
# Below the usual path MTU; the firmware cuts at 1500 bytes.
MAX_DATAGRAM_BYTES: Final = 1400

_HEADER: Final = struct.Struct(">BBHIII")
_TYPE_AUDIO: Final = 1

# A packet that arrives early waits for up to two more: 60 to 120 ms with the firmware's packets of 60 ms.
# Home networks hardly reorder, so this usually costs nothing, and after a loss too little to harm speech
# recognition.
_HOLD: Final = 2
# Sequence numbers advance with the microphone. They may be ahead by the packets of a wake word (2 s: 33, or
# 100 of 20 ms) and by lost packets.
_MAX_AHEAD: Final = 100


@dataclass(slots=True)
class UdpCounters:
    """Counters of audio datagrams, for diagnostics."""

    received: int = 0
    """Packets delivered."""
    lost: int = 0
    """Packets missing when a later one was delivered."""
    late: int = 0
    """Packets that came too late or twice."""
    rejected: int = 0
    """Datagrams that cannot be from the device."""
    flooded: int = 0
    """Packets over the rate of any device."""
    unknown: int = 0
    """Datagrams without a live conversation."""
    not_local: int = 0
    """Datagrams from outside the home network."""
    unsent: int = 0
    """Packets that could not be sent: device address unknown, too large, or refused by the network."""


class AudioCipher:
    """AES-128-CTR with each datagram's header as counter; the same both ways."""

    def __init__(self, key: bytes) -> None:
        """`key` has 16 bytes."""
        # Resetting the counter is seven times as fast as a new context, and keeps nothing of the last packet.
        self._context = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def apply(self, header: bytes, payload: bytes) -> bytes:
        """Encrypt or decrypt a payload."""
        self._context.reset_nonce(header)
        return self._context.update(payload)


class ReorderWindow:
    """Puts packets into the order of their sequence numbers, which start at 1."""

    def __init__(self, frame_seconds: float, now: float) -> None:
        """Expect packet 1, and then one every `frame_seconds`. `now` is monotonic, in seconds."""
        self._frame_seconds = frame_seconds
        self._next = 1
        self._newest = 0
        self._newest_at = now
        self._held: dict[int, bytes] = {}

    def plausible(self, sequence: int, now: float) -> bool:
        """Whether a device can have reached `sequence` by `now`."""
        passed = 2 * (now - self._newest_at) / self._frame_seconds
        return sequence <= self._newest + _MAX_AHEAD + passed

    def wants(self, sequence: int) -> bool:
        """Whether `sequence` is neither delivered, given up nor waiting."""
        return sequence >= self._next and sequence not in self._held

    def newer(self, sequence: int) -> bool:
        """Whether no later packet has arrived."""
        return sequence > self._newest

    def push(self, sequence: int, packet: bytes, now: float) -> list[tuple[bytes, int]]:
        """Add a wanted packet; return those now in order, each with the number lost before it."""
        self._held[sequence] = packet
        if sequence > self._newest:
            self._newest, self._newest_at = sequence, now
        return self._release(_HOLD)

    def flush(self) -> list[tuple[bytes, int]]:
        """Return the packets that still wait for an earlier one."""
        return self._release(0)

    def _release(self, hold: int) -> list[tuple[bytes, int]]:
        ready: list[tuple[bytes, int]] = []
        while self._held:
            first = min(self._held)
            if first != self._next and len(self._held) <= hold:
                break
            ready.append((self._held.pop(first), first - self._next))
            self._next = first + 1
        return ready


class Source(NamedTuple):
    """Source address of a datagram, and our address that received it."""

    host: str
    port: int
    local: bytes
    """Our IPv4 address, 4 bytes; all zero if unknown."""


class AudioSession:
    """Key, counters and sequence numbers of one conversation."""

    def __init__(self, connection_id: int, uplink: AudioFormat, counters: UdpCounters, now: float) -> None:
        """Make a new key. `now` is monotonic, in seconds."""
        self.key = secrets.token_bytes(16)
        self.source: Source | None = None
        """Address of the device; None before its first packet."""
        self._connection_id = connection_id
        self._uplink = uplink
        self.counters = counters
        self._cipher = AudioCipher(self.key)
        self._window = ReorderWindow(uplink.frame_duration / 1000, now)
        self._budget = TokenBucket(rate=400, burst=400)
        self._sent = 0

    @property
    def nonce(self) -> bytes:
        """Template of the device's headers: it copies type, flags and connection id."""
        return _HEADER.pack(_TYPE_AUDIO, 0, 0, self._connection_id, 0, 0)

    def open(self, datagram: bytes, source: Source, now: float) -> list[tuple[bytes, int]]:
        """Decrypt a datagram with our connection id; return packets, each with the number lost before it."""
        kind, flags, length, _, _, sequence = _HEADER.unpack_from(datagram)
        well_formed = kind == _TYPE_AUDIO and not flags and length == len(datagram) - HEADER_BYTES
        if not well_formed or not self._window.plausible(sequence, now):
            self.counters.rejected += 1
            return []
        if not self._window.wants(sequence):
            self.counters.late += 1
            return []
        packet = self._cipher.apply(datagram[:HEADER_BYTES], datagram[HEADER_BYTES:])
        if not self._genuine(packet, source):
            self.counters.rejected += 1
            return []
        if not self._budget.take(now):
            self.counters.flooded += 1
            return []
        if self._window.newer(sequence):
            self.source = source
        return self._count(self._window.push(sequence, packet, now))

    def flush(self) -> list[tuple[bytes, int]]:
        """Return the packets that wait for an earlier one."""
        return self._count(self._window.flush())

    def seal(self, packet: bytes) -> bytes | None:
        """Encrypt the next datagram for the device; None for a packet that is empty or too large."""
        if not packet or len(packet) > MAX_DATAGRAM_BYTES - HEADER_BYTES:
            return None
        self._sent += 1
        # The device ignores connection id and timestamp. Both sides use the same key: the connection id keeps
        # our counter blocks apart from the device's, and the timestamp those of our packets.
        header = _HEADER.pack(
            _TYPE_AUDIO, 0, len(packet), self._connection_id ^ 0xFFFFFFFF, self._sent, self._sent
        )
        return header + self._cipher.apply(header, packet)

    def _genuine(self, packet: bytes, source: Source) -> bool:
        if packet:
            return is_announced(packet, self._uplink)
        # An empty packet cannot show that its sender has the key.
        return self.source is not None and source[:2] == self.source[:2]

    def _count(self, packets: list[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
        self.counters.received += len(packets)
        self.counters.lost += sum(missing for _, missing in packets)
        return packets
