"""Opus as the device encodes and decodes it, by libopus through PyAV."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import av
from av.audio.codeccontext import AudioCodecContext

UPLINK_RATE: Final = 16000
"""Hz."""
FRAME_SAMPLES: Final = 960
"""Samples of a 60 ms packet."""

# Frame duration in ms by the configuration number in the first five bits of a packet (RFC 6716, 3.1).
_SILK_MS: Final = (10.0, 20.0, 40.0, 60.0)
_HYBRID_MS: Final = (10.0, 20.0)
_CELT_MS: Final = (2.5, 5.0, 10.0, 20.0)


class OpusError(ValueError):
    """A packet that cannot be decoded."""


class OpusEncoder:
    """16 kHz mono, 60 ms, application audio, complexity 0, bitrate auto, VBR, DTX, no FEC.

    Silence comes out as packets of one byte, six of seven.
    """

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "w")
        codec.sample_rate = UPLINK_RATE
        codec.layout = "mono"
        codec.format = "s16"
        # The default of libopus for this rate and frame: 60 bits per frame and one bit per sample.
        codec.bit_rate = 60 * UPLINK_RATE // FRAME_SAMPLES + UPLINK_RATE
        codec.options = {
            "application": "audio",
            "compression_level": "0",
            "frame_duration": "60",
            "vbr": "on",
            "dtx": "1",
        }
        codec.open()
        self._codec = codec
        self._position = 0

    def encode(self, pcm: bytes) -> bytes:
        """Encode 960 samples of 16 bits."""
        frame = av.AudioFrame(format="s16", layout="mono", samples=FRAME_SAMPLES)
        frame.sample_rate = UPLINK_RATE
        frame.time_base = Fraction(1, UPLINK_RATE)
        frame.pts = self._position
        frame.planes[0].update(pcm)
        self._position += FRAME_SAMPLES
        return b"".join(bytes(packet) for packet in self._codec.encode(frame))


def encode_sound(pcm: bytes) -> list[bytes]:
    """Return the packets of a sound, 16-bit samples, whose end is filled up with silence."""
    encoder, size = OpusEncoder(), 2 * FRAME_SAMPLES
    return [
        encoder.encode(pcm[start : start + size].ljust(size, b"\0")) for start in range(0, len(pcm), size)
    ]


class OpusDecoder:
    """Decodes to mono PCM of 16 bits at the rate of the loudspeaker."""

    def __init__(self, rate: int) -> None:
        codec = av.CodecContext.create("libopus", "r")
        codec.layout = "mono"
        codec.open()
        self._codec: AudioCodecContext = codec
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=rate)

    def decode(self, packet: bytes) -> bytes:
        """Return the PCM of a packet. Raises `OpusError`."""
        try:
            return b"".join(self._pcm(packet))
        except av.FFmpegError as err:
            raise OpusError(f"packet of {len(packet)} bytes does not decode") from err

    def _pcm(self, packet: bytes) -> Iterator[bytes]:
        for frame in self._codec.decode(av.Packet(packet)):
            for resampled in self._resampler.resample(frame):
                yield bytes(resampled.planes[0])[: resampled.samples * 2]


def packet_duration(packet: bytes) -> float:
    """Return the milliseconds of sound in a packet. Raises `OpusError` when it has no valid header."""
    if not packet:
        raise OpusError("empty packet")
    config = packet[0] >> 3
    if config < 12:
        frame = _SILK_MS[config % 4]
    elif config < 16:
        frame = _HYBRID_MS[config % 2]
    else:
        frame = _CELT_MS[config % 4]
    match packet[0] & 3:
        case 0:
            count = 1
        case 3:
            if len(packet) < 2:
                raise OpusError("packet has no frame count")
            count = packet[1] & 63
        case _:
            count = 2
    return frame * count
