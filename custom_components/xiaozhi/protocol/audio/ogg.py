"""Ogg Opus as a stream: PCM in, pages out as soon as they are complete.

FFmpeg's muxer, which PyAV contains, writes what the strictest known copy of the firmware's demuxer checks:
head and tags on pages of their own, checksums, one serial number, page numbers, granule positions, and the
end flag on the last page only. Told to close a page with every packet, it keeps back just the last one, which
may be the one with the end flag. Source: `main/audio/demuxer/ogg_demuxer.cc` of the firmware.
"""

from collections.abc import AsyncGenerator, AsyncIterable
from fractions import Fraction
from typing import Final

import av
from av.audio.stream import AudioStream

from ..messages import DOWNLINK
from .codec import audio_frame, set_up_encoder

_CONTENT_OPTIONS: Final = {"page_duration": "1", "fflags": "+flush_packets"}
# Before a fix of September 2026 the firmware lost a last packet of a multiple of 255 bytes. So the last one
# is always this: three frames of 20 ms without sound.
_SILENT_PACKET: Final = bytes.fromhex("db03fffefffefffe")
# Larger pieces would keep the event loop busy for more than a millisecond.
_FRAMES_PER_PIECE: Final = 4


class OggOpusEncoder:
    """Encodes 16-bit mono PCM of the rate of `DOWNLINK` to one logical stream, of any length."""

    def __init__(self) -> None:
        self._pages = _Pages()
        self._container = av.open(self._pages, "w", format="ogg", options=_CONTENT_OPTIONS)
        self._stream: AudioStream = self._container.add_stream("libopus", rate=DOWNLINK.sample_rate)
        set_up_encoder(self._stream.codec_context, DOWNLINK)
        self._frame_bytes = 2 * DOWNLINK.frame_samples
        self._pcm = bytearray()
        self._samples = 0

    @property
    def seconds(self) -> float:
        """Length of what was encoded."""
        return self._samples / DOWNLINK.sample_rate

    def encode(self, pcm: bytes) -> bytes:
        """Take PCM in pieces of any size; return the pages that are complete, which may be none."""
        self._pcm += pcm
        while len(self._pcm) >= self._frame_bytes:
            self._encode_frame(self._pcm[: self._frame_bytes])
            del self._pcm[: self._frame_bytes]
        return self._pages.take()

    def finish(self) -> bytes:
        """Return the rest, filled up with silence to whole packets. The last packet is silent."""
        # Opus looks ahead: the end of the sound comes in the packet after it.
        pages = self.encode(bytes(-len(self._pcm) % self._frame_bytes + self._frame_bytes))
        packet = av.Packet(_SILENT_PACKET)
        packet.stream, packet.time_base = self._stream, Fraction(1, DOWNLINK.sample_rate)
        packet.pts = packet.dts = self._samples - self._stream.codec_context.initial_padding
        packet.duration = DOWNLINK.frame_samples
        self._samples += DOWNLINK.frame_samples
        self._container.mux(packet)
        self._container.close()
        return pages + self._pages.take()

    async def encode_all(self, speech: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        """Encode PCM while it arrives, and finish; no faster than the result is asked for."""
        piece = _FRAMES_PER_PIECE * self._frame_bytes
        async for pcm in speech:
            for start in range(0, len(pcm), piece):
                if pages := self.encode(pcm[start : start + piece]):
                    yield pages
        yield self.finish()

    def _encode_frame(self, pcm: bytearray) -> None:
        frame = audio_frame(pcm, DOWNLINK.sample_rate)
        frame.pts = self._samples
        self._samples += DOWNLINK.frame_samples
        self._container.mux(self._stream.encode(frame))


class _Pages:
    """The file that the muxer writes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        """Append to the file."""
        self._data += data
        return len(data)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        data = bytes(self._data)
        self._data.clear()
        return data
