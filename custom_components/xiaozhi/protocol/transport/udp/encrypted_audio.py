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

from ....util.limits import TokenBucket
from ...audio.opus_codec import is_announced
from ...messages import AudioFormat

HEADER_BYTES: Final = 16
# Below the usual path MTU; the firmware cuts at 1500 bytes.
MAX_DATAGRAM_BYTES: Final = 1400

_HEADER: Final = struct.Struct(">BBHIII")
_TYPE_AUDIO: Final = 1

# Sequence numbers advance with the microphone. They may be ahead by the packets of a wake word (2 s: 33, or
# 100 of 20 ms) and by lost packets.
_MAX_AHEAD: Final = 100
# A packet further ahead is believed with a second one, or a stranger's could make many of the device's late.
_NEAR: Final = 5


@dataclass(slots=True)
class UdpCounters:
    """Counters of audio datagrams, for diagnostics."""

    received: int = 0
    """Packets delivered."""
    lost: int = 0
    """Packets missing when a later one was delivered."""
    late: int = 0
    """Packets that came after a later one, or twice."""
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


class Sender(NamedTuple):
    """Source address of a datagram, and our address that received it."""

    host: str
    port: int
    local: bytes
    """Our IPv4 address, 4 bytes; all zero if unknown."""


class EncryptedAudio:
    """Key, counters and sequence numbers of one conversation."""

    def __init__(self, connection_id: int, uplink: AudioFormat, counters: UdpCounters, now: float) -> None:
        """Make a new key. `now` is monotonic, in seconds."""
        self.key = secrets.token_bytes(16)
        self.source: Sender | None = None
        """Address of the device; None before its first packet. Another one needs two packets in a row."""
        self._last: tuple[Sender | None, int] = (None, 0)
        self._connection_id = connection_id
        self._uplink = uplink
        self.counters = counters
        # Resetting the counter is seven times as fast as a new context, and keeps nothing of the last packet.
        self._cipher = Cipher(algorithms.AES(self.key), modes.CTR(bytes(16))).encryptor()
        self._newest = 0
        self._newest_at = now
        self._budget = TokenBucket(rate=400, burst=400)
        self._sent = 0

    @property
    def nonce(self) -> bytes:
        """Template of the device's headers: it copies type, flags and connection id."""
        return _HEADER.pack(_TYPE_AUDIO, 0, 0, self._connection_id, 0, 0)

    def open(self, datagram: bytes, source: Sender, now: float) -> tuple[bytes, int] | None:
        """Decrypt a datagram with our connection id; return its packet, and the number lost before it.

        None for one that is dropped. As in the firmware, a packet that another one has overtaken is lost:
        home networks hardly reorder, and to wait for it would delay what follows every lost one.
        """
        kind, flags, length, _, _, sequence = _HEADER.unpack_from(datagram)
        well_formed = kind == _TYPE_AUDIO and not flags and length == len(datagram) - HEADER_BYTES
        frames_passed = 2 * (now - self._newest_at) / (self._uplink.frame_duration / 1000)
        if not well_formed or sequence > self._newest + _MAX_AHEAD + frames_passed:
            self.counters.rejected += 1
            return None
        if sequence <= self._newest:
            self.counters.late += 1
            return None
        packet = self._crypt(datagram[:HEADER_BYTES], datagram[HEADER_BYTES:])
        if not is_announced(packet, self._uplink) or not self._believed(packet, source, sequence):
            self.counters.rejected += 1
            return None
        if not self._budget.take(now):
            self.counters.flooded += 1
            return None
        missing = sequence - self._newest - 1
        self.source, self._newest, self._newest_at = source, sequence, now
        self.counters.received += 1
        self.counters.lost += missing
        return packet, missing

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
        return header + self._crypt(header, packet)

    def _crypt(self, header: bytes, payload: bytes) -> bytes:
        """Encrypt or decrypt a payload by AES-128-CTR with the datagram's header as counter."""
        self._cipher.reset_nonce(header)
        return self._cipher.update(payload)

    def _believed(self, packet: bytes, source: Sender, sequence: int) -> bool:
        """Whether to accept a plausible packet; so is one in seventy of a stranger."""
        near = self.source in {None, source} and sequence <= self._newest + _NEAR
        if not packet:
            # It cannot show that its sender has the key.
            return near and self.source is not None
        (source_before, before), self._last = self._last, (source, sequence)
        return near or (source == source_before and before < sequence <= before + _NEAR)
