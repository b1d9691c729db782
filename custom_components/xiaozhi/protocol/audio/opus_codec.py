"""Opus, both ways, by the reference library that PyAV contains (FFmpeg's `libopus`).

FFmpeg's own `opus` decoder takes half the time, but it has no comfort noise and no concealment, and it does
not keep the length of every packet.
"""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

import av
from av.audio.codeccontext import AudioCodecContext

from ..messages import DOWNLINK, AudioFormat
from .uplink_timeline import UPLINK_SAMPLE_RATE, silence

# FFmpeg's wrapper always decodes to this rate.
_DECODER_SAMPLE_RATE: Final = 48000
# Latency of the resampler from that to 16 kHz, in samples of its output, for any frame size.
_RESAMPLER_LAG: Final = 16
# From complexity 7 on libopus distinguishes speech from music and models it, at five times the work (0.7 ms
# for 60 ms of speech). Without that, half as many bits again give the same sound, and they cost nothing in a
# house.
_COMPLEXITY: Final = 5
_FRAME_BYTES: Final = 2 * DOWNLINK.frame_samples
# Larger pieces would keep the event loop busy for more than a millisecond.
_PIECE_BYTES: Final = 4 * _FRAME_BYTES


class OpusDecoder:
    """Decodes the packets of one uplink to PCM of `UPLINK_SAMPLE_RATE`.

    The output is late by one millisecond from the first packet on, and never by a sample more.
    """

    def __init__(self, frame_duration: int) -> None:
        """Decode packets of the announced milliseconds. Opus decodes to any rate, whatever was announced."""
        context = av.CodecContext.create("libopus", "r")
        context.sample_rate = _DECODER_SAMPLE_RATE
        context.layout = "mono"
        context.open()
        self._context = context
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=UPLINK_SAMPLE_RATE)
        self._pcm = bytearray(2 * _RESAMPLER_LAG)
        self._silence = audio_frame(silence(3 * frame_duration), _DECODER_SAMPLE_RATE)

    def decode(self, packet: bytes) -> bytes:
        """Decode one packet to PCM of exactly its own length; at most 120 ms, as Opus has no longer packets.

        An empty packet and one that does not decode give silence of the announced length. Never raises.
        """
        samples = 0
        for frame in self._frames(packet):
            samples += frame.samples * UPLINK_SAMPLE_RATE // _DECODER_SAMPLE_RATE
            for resampled in self._resampler.resample(frame):
                # FFmpeg's buffers are longer than what is in them.
                self._pcm += bytes(resampled.planes[0])[: 2 * resampled.samples]
        pcm = bytes(self._pcm[: 2 * samples])
        del self._pcm[: 2 * samples]
        return pcm

    def _frames(self, packet: bytes) -> list[av.AudioFrame]:
        # PyAV would take an empty packet for the end of the stream.
        if not packet:
            return [self._silence]
        try:
            return self._context.decode(av.Packet(packet))
        except av.FFmpegError:
            return [self._silence]


class OpusEncoder:
    """Encodes PCM to packets of the format `DOWNLINK`."""

    def __init__(self, context: AudioCodecContext | None = None) -> None:
        """Use this context of `libopus`, or one of its own."""
        context = context or av.CodecContext.create("libopus", "w")
        context.sample_rate = DOWNLINK.sample_rate
        context.layout = "mono"
        context.format = "s16"
        context.bit_rate = 48000
        context.compression_level = _COMPLEXITY
        # "voip" would model speech at any complexity.
        context.options = {"application": "audio", "frame_duration": str(DOWNLINK.frame_duration)}
        context.open()
        self._context = context
        self._pcm = bytearray()
        self._begun = False

    def encode(self, pcm: bytes) -> list[bytes]:
        """Encode signed 16 bit little endian mono PCM of the format's rate, in pieces of any size.

        Returns the packets that are complete; the rest waits for more or for `flush`.
        """
        self._pcm += pcm
        self._begun = self._begun or bool(pcm)
        packets: list[bytes] = []
        while len(self._pcm) >= _FRAME_BYTES:
            frame = audio_frame(self._pcm[:_FRAME_BYTES], DOWNLINK.sample_rate)
            del self._pcm[:_FRAME_BYTES]
            packets.extend(bytes(packet) for packet in self._context.encode(frame))
        return packets

    def flush(self) -> list[bytes]:
        """Encode what is left, filled up with silence to whole packets, as the end of the sound.

        Opus looks 2.5 to 6.5 ms ahead, so if the last packet is fuller than that the end comes in one more.
        """
        if not self._begun:
            return []
        filled = len(self._pcm) + 2 * self._context.initial_padding
        return self.encode(bytes(-filled % _FRAME_BYTES + 2 * self._context.initial_padding))

    async def encode_all(self, speech: AsyncIterable[bytes]) -> AsyncGenerator[list[bytes]]:
        """Encode PCM while it arrives, and flush; no faster than the result is asked for."""
        async for pcm in speech:
            for start in range(0, len(pcm), _PIECE_BYTES):
                yield self.encode(pcm[start : start + _PIECE_BYTES])
        yield self.flush()


def resampled(pcm: bytes, sample_rate: int, wanted: int) -> bytes:
    """Return 16-bit mono PCM at another rate, which is not for the event loop."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=wanted)
    # A second at a time: in one piece, FFmpeg would need many times the memory of the sound.
    seconds = (pcm[start : start + 2 * sample_rate] for start in range(0, len(pcm), 2 * sample_rate))
    pieces = (*(audio_frame(second, sample_rate) for second in seconds), None)
    frames = [frame for piece in pieces for frame in resampler.resample(piece)]
    # FFmpeg's buffers are longer than what is in them.
    return b"".join(bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames)


def audio_frame(pcm: bytes | bytearray, sample_rate: int, channels: int = 1) -> av.AudioFrame:
    """Return a frame of 16 bit PCM, of one or two channels."""
    layout = "mono" if channels == 1 else "stereo"
    frame = av.AudioFrame(format="s16", layout=layout, samples=len(pcm) // (2 * channels))
    frame.sample_rate = sample_rate
    frame.planes[0].update(bytes(pcm))
    return frame


# Samples at 48 kHz of a frame, by the configuration number of its packet (RFC 6716, table 2).
_FRAME_SAMPLES: Final = (480, 960, 1920, 2880) * 3 + (480, 960) * 2 + (120, 240, 480, 960) * 4
_SAMPLES_PER_MS: Final = 48


def opus_samples(packet: bytes) -> int | None:
    """Return how many samples at 48 kHz a mono Opus packet lasts; None when it is no mono Opus packet."""
    if not packet or packet[0] & 0x04:
        return None
    match packet[0] & 0x03:
        case 0:
            frames = 1
        case 1 | 2:
            frames = 2
        case _ if len(packet) >= 2:
            frames = packet[1] & 0x3F
        case _:
            return None
    return frames * _FRAME_SAMPLES[packet[0] >> 3]


def is_announced(packet: bytes, audio: AudioFormat) -> bool:
    """Whether a packet lasts as long as its hello has announced; an empty one stands for silence."""
    return not packet or opus_samples(packet) == audio.frame_duration * _SAMPLES_PER_MS
