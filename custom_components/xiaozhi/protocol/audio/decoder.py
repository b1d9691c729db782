"""A stream of media, decoded to PCM in the thread that reads it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
import sys
from typing import Final, Protocol, cast

import av
from av.audio.codeccontext import AudioCodecContext

from .ogg_chain import ByteStream, is_ogg, ogg_songs
from .wav import SAMPLE_RATES, WavHeader, read_wav_header

__all__ = ["MediaError", "MediaFault", "Tags", "decode_stream"]

# A tenth of a second of usual speech: samples come in pieces of any size.
_WAV_READ: Final = 4096
_OPTIONS: Final = {
    # Reading ahead tells nothing that decoding does not show.
    "probesize": "2048",
    "analyzeduration": "1",
    # Playlists and the like would make FFmpeg open other addresses and files.
    "format_whitelist": "aac,aiff,flac,matroska,webm,mov,mp4,m4a,mp3,mpegts,ogg,wav",
}
_MICROSECONDS: Final = 1_000_000


class MediaFault(Enum):
    """What is wrong with media."""

    EMPTY = auto()
    NO_AUDIO = auto()
    UNDECODABLE = auto()


class MediaError(Exception):
    """Media that cannot be decoded, or have no audio; the text says why, for logs."""

    def __init__(self, fault: MediaFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Tags:
    """What media tell of themselves. Untrusted."""

    title: str = ""
    artist: str = ""
    seconds: float | None = None
    """How long the media are; None if they do not tell."""


class _Readable(Protocol):
    name: str

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; nothing at the end."""


type _OnTags = Callable[[Tags], None]


def decode_stream(stream: ByteStream, sample_rate: int, on_tags: _OnTags) -> Iterator[bytes]:
    """Decode a stream to 16-bit mono PCM. Raises `MediaError`."""
    resampler: av.AudioResampler | None = None
    source_format: tuple[str, str, int] | None = None
    try:
        for frame in _frames(stream, on_tags):
            frame_format = (frame.format.name, frame.layout.name, frame.sample_rate)
            if frame_format != source_format:
                if frame.sample_rate not in SAMPLE_RATES:
                    rate = frame.sample_rate
                    raise MediaError(MediaFault.UNDECODABLE, f"a sample rate of {rate} Hz is no audio")
                yield from _pcm(resampler, None)
                resampler = av.AudioResampler(format="s16", layout="mono", rate=sample_rate)
                source_format = frame_format
            yield from _pcm(resampler, frame)
        yield from _pcm(resampler, None)
    except av.FFmpegError as err:
        raise MediaError(MediaFault.UNDECODABLE, f"the audio cannot be decoded: {err.strerror}") from err
    except ValueError as err:
        # PyAV raises this for a codec or a channel layout that it does not know.
        raise MediaError(MediaFault.UNDECODABLE, f"the audio cannot be decoded: {err}") from err
    if resampler is None:
        raise MediaError(MediaFault.NO_AUDIO, "there is no audio in it")


def _pcm(resampler: av.AudioResampler | None, frame: av.AudioFrame | None) -> Iterator[bytes]:
    if resampler is None or (frame is None and resampler.is_passthrough):
        return
    for resampled in resampler.resample(frame):
        # FFmpeg's buffers are longer than what is in them.
        yield bytes(resampled.planes[0])[: 2 * resampled.samples]


def _frames(stream: ByteStream, on_tags: _OnTags) -> Iterator[av.AudioFrame]:
    if not stream.peek(1):
        raise MediaError(MediaFault.EMPTY, "there is nothing in it")
    header = read_wav_header(stream.peek)
    if header is not None:
        yield from _wav_frames(stream, header)
    elif is_ogg(stream):
        for song in ogg_songs(stream):
            yield from _container_frames(song, on_tags)
    else:
        yield from _container_frames(stream, on_tags)


def _wav_frames(stream: ByteStream, header: WavHeader) -> Iterator[av.AudioFrame]:
    context = cast("AudioCodecContext", av.CodecContext.create(header.codec, "r"))
    context.sample_rate = header.sample_rate
    context.layout = "mono" if header.channels == 1 else "stereo"
    context.open()
    stream.read(header.offset)
    left = sys.maxsize if header.size is None else header.size
    samples = b""
    while left and (data := stream.read(min(_WAV_READ, left))):
        left -= len(data)
        samples += data
        whole = len(samples) - len(samples) % header.block_size
        if whole:
            yield from context.decode(av.Packet(samples[:whole]))
            samples = samples[whole:]


def _container_frames(stream: _Readable, on_tags: _OnTags) -> Iterator[av.AudioFrame]:
    with av.open(stream, "r", options=_OPTIONS) as container:
        audio = next(iter(container.streams.audio), None)
        if audio is None:
            raise MediaError(MediaFault.NO_AUDIO, "there is no audio in it")
        texts = container.metadata | audio.metadata
        seconds = None if container.duration is None else container.duration / _MICROSECONDS
        on_tags(Tags(texts.get("title", ""), texts.get("artist", ""), seconds))
        for packet in container.demux(audio):
            with suppress(av.InvalidDataError):
                yield from packet.decode()
