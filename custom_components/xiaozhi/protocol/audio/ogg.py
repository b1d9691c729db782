"""Ogg Opus as a stream: PCM in, pages out as soon as they are complete.

FFmpeg's muxer, which PyAV contains, writes what the strictest known copy of the firmware's demuxer checks:
head and tags on pages of their own, checksums, one serial number, page numbers, granule positions, and the
end flag on the last page only. Told to close a page with every packet, it keeps back just the last one, which
may be the one with the end flag. Source: `main/audio/demuxer/ogg_demuxer.cc` of the firmware.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from fractions import Fraction
from typing import Final

import av
from av.audio.stream import AudioStream

from ..messages import DOWNLINK
from .opus_codec import OpusEncoder

_CONTENT_OPTIONS: Final = {"page_duration": "1", "fflags": "+flush_packets"}
# Before a fix of September 2026 the firmware lost a last packet of a multiple of 255 bytes. So the last one
# is always this: three frames of 20 ms without sound.
_SILENT_PACKET: Final = bytes.fromhex("db03fffefffefffe")


class OggOpusEncoder:
    """Encodes 16-bit mono PCM of the rate of `DOWNLINK` to one logical stream, of any length."""

    def __init__(self) -> None:
        self._pages = _Pages()
        self._container = av.open(self._pages, "w", format="ogg", options=_CONTENT_OPTIONS)
        self._stream: AudioStream = self._container.add_stream("libopus", rate=DOWNLINK.sample_rate)
        self._encoder = OpusEncoder(context=self._stream.codec_context)
        self._samples = 0

    @property
    def seconds(self) -> float:
        """Length of what was encoded."""
        return self._samples / DOWNLINK.sample_rate

    async def encode_all(self, speech: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        """Encode PCM while it arrives, to pages; no faster than they are asked for.

        The end is filled up with silence to a whole packet. The last packet is silent.
        """
        async for packets in self._encoder.encode_all(speech):
            if pages := self._mux(packets):
                yield pages
        yield self._end()

    def encode_whole(self, pcm: bytes) -> bytes:
        """Encode PCM of any length at once, which is not for the event loop."""
        return self._mux([*self._encoder.encode(pcm), *self._encoder.flush()]) + self._end()

    def _end(self) -> bytes:
        last = self._mux([_SILENT_PACKET])
        self._container.close()
        return last + self._pages.take()

    def _mux(self, packets: Iterable[bytes]) -> bytes:
        """Add packets; return the pages that are complete, which may be none."""
        for data in packets:
            packet = av.Packet(data)
            packet.stream, packet.time_base = self._stream, Fraction(1, DOWNLINK.sample_rate)
            packet.pts = packet.dts = self._samples - self._stream.codec_context.initial_padding
            packet.duration = DOWNLINK.frame_samples
            self._samples += DOWNLINK.frame_samples
            self._container.mux(packet)
        return self._pages.take()


class _Pages:
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
