"""Speech of an engine, decoded to PCM in our own process while it is still arriving.

Decoding begins within milliseconds. It is for engines that the owner has chosen, and not for any media.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, auto
import logging
import sys
from typing import Final

import av

from .opus_codec import audio_frame
from .speech_pauses import SpeechShape
from .wav import CHUNK, SAMPLE_RATES, WAV_HEAD, WAV_HEAD_SIZE, WavHeader, read_wav_header

_LOGGER = logging.getLogger(__name__)

# Limits of the queues between source and decoder, and between decoder and listener.
_MAX_PIECES: Final = 8
_MAX_PIECE: Final = 16 * 1024
# A tenth of a second of usual speech: samples come in pieces of any size.
_WAV_READ: Final = 4096
# Seconds. Who writes a head before the samples exist states a length of hours.
_LOGGED_AS_MISSING: Final = 0.5
_UNKNOWN_LENGTH: Final = 3600.0
_OPTIONS: Final = {
    # Reading ahead finds nothing that decoding does not.
    "probesize": "2048",
    "analyzeduration": "1",
    # Formats of speech engines. Playlists would make FFmpeg open other addresses and files, and an MP4 of a
    # few kilobytes can take gigabytes.
    "format_whitelist": "aac,flac,mp3,ogg,wav",
}


class SpeechFault(Enum):
    """Fault of speech that cannot be decoded."""

    EMPTY = auto()
    NO_AUDIO = auto()
    UNDECODABLE = auto()


class SpeechError(Exception):
    """Speech that cannot be decoded, or is none; the text says why, for logs."""

    def __init__(self, fault: SpeechFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


async def decode_speech(
    source: AsyncIterable[bytes],
    *,
    sample_rate: int,
    extension: str | None = None,
    shape: SpeechShape | None = None,
) -> AsyncGenerator[bytes]:
    """Decode a stream of speech, in pieces of any size, to signed 16 bit little endian mono PCM.

    The first PCM comes as soon as it can be decoded. When 128 KiB of speech or 8 pieces of PCM wait, the
    source is not asked for more. `extension` ("mp3") is a hint for where the content leaves the format open.
    `shape` follows the speech and cuts off the silence before it, in the decoding thread.

    Raises `SpeechError` if nothing can be decoded, and errors of the source after the PCM that came before.
    Owns the source: a generator is closed with this one. Closing ends the decoding thread, also while the
    source stalls; use `contextlib.aclosing` to have it done at once.
    """
    loop = asyncio.get_running_loop()
    speech: asyncio.Queue[bytes] = asyncio.Queue(_MAX_PIECES)
    decoded: asyncio.Queue[bytes] = asyncio.Queue(_MAX_PIECES)

    def decode() -> None:
        stream = _Stream(speech, loop, extension)
        for pcm in _decode_stream(stream, sample_rate):
            if played := pcm if shape is None else shape.take(pcm):
                asyncio.run_coroutine_threadsafe(decoded.put(played), loop).result()

    # A thread of its own, since it blocks while a slow source delivers nothing.
    executor = ThreadPoolExecutor(1, thread_name_prefix="xiaozhi-speech")
    feeder = loop.create_task(_feed(source, speech))
    decoder = loop.run_in_executor(executor, decode)
    decoder.add_done_callback(lambda _: decoded.shutdown())
    try:
        with suppress(asyncio.QueueShutDown):
            while True:
                yield await decoded.get()
        if feeder.done():
            feeder.result()
        await decoder
    finally:
        speech.shutdown(immediate=True)
        decoded.shutdown(immediate=True)
        feeder.cancel()
        # Here already, because the wait for it may be interrupted.
        executor.shutdown(wait=False)
        await asyncio.gather(feeder, decoder, return_exceptions=True)
        executor.shutdown()


async def _feed(source: AsyncIterable[bytes], speech: asyncio.Queue[bytes]) -> None:
    try:
        async for chunk in source:
            for offset in range(0, len(chunk), _MAX_PIECE):
                await speech.put(chunk[offset : offset + _MAX_PIECE])
    finally:
        speech.shutdown()
        if isinstance(source, AsyncGenerator):
            await source.aclose()


async def _take(speech: asyncio.Queue[bytes]) -> bytes:
    """Return all queued speech, at least a byte; nothing at the end."""
    try:
        pieces = [await speech.get()]
    except asyncio.QueueShutDown:
        return b""
    while not speech.empty():
        pieces.append(speech.get_nowait())
    return b"".join(pieces)


class _Stream:
    """The speech as the file that FFmpeg wants, read in the decoder's thread."""

    def __init__(
        self, speech: asyncio.Queue[bytes], loop: asyncio.AbstractEventLoop, extension: str | None
    ) -> None:
        self._speech = speech
        self._loop = loop
        self._waiting = b""
        self.name = f"speech.{extension}" if extension else ""
        """FFmpeg takes the extension into account."""

    def _take(self) -> bytes:
        return asyncio.run_coroutine_threadsafe(_take(self._speech), self._loop).result()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, as soon as there are any; nothing at the end."""
        waiting = self._waiting or self._take()
        self._waiting = waiting[size:]
        return waiting[:size]

    def read_before_wav(self, size: int) -> bytes:
        """Return up to `size` bytes before the next head of a WAV; nothing in front of it, or at the end."""
        while True:
            if found := WAV_HEAD.search(self._waiting, 0, size + WAV_HEAD_SIZE):
                return self.read(min(size, found.start())) if found.start() else b""
            # The last bytes may be the beginning of one.
            begins = self._waiting.find(b"R", -(WAV_HEAD_SIZE - 1))
            ready = len(self._waiting) if begins < 0 else begins
            if ready > 0:
                return self.read(min(size, ready))
            if not (more := self._take()):
                return self.read(size)
            self._waiting += more

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes without taking them; fewer only if the stream ends before."""
        while len(self._waiting) < size and (more := self._take()):
            self._waiting += more
        return self._waiting[:size]


class _WavPart:
    """One WAV of several in a stream, as a file for FFmpeg."""

    name = ""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._begun = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes of this WAV, as soon as there are any; nothing at its end."""
        if self._begun:
            return self._stream.read_before_wav(size)
        self._begun = True
        return self._stream.read(min(size, WAV_HEAD_SIZE))


def _decode_stream(stream: _Stream, sample_rate: int) -> Iterator[bytes]:
    resampler: av.AudioResampler | None = None
    source_format: tuple[str, str, int] | None = None
    try:
        for frame in _frames(stream):
            frame_format = (frame.format.name, frame.layout.name, frame.sample_rate)
            if frame_format != source_format:
                if frame.sample_rate not in SAMPLE_RATES:
                    rate = frame.sample_rate
                    raise SpeechError(SpeechFault.UNDECODABLE, f"a sample rate of {rate} Hz is no audio")
                yield from _pcm(resampler, None)
                resampler = av.AudioResampler(format="s16", layout="mono", rate=sample_rate)
                source_format = frame_format
            yield from _pcm(resampler, frame)
        yield from _pcm(resampler, None)
    except (av.FFmpegError, ValueError) as err:
        # PyAV raises the second for a codec or a channel layout that it does not know.
        raise SpeechError(SpeechFault.UNDECODABLE, f"the audio cannot be decoded: {err}") from err
    if resampler is None:
        raise SpeechError(SpeechFault.NO_AUDIO, "there is no audio in it")


def _pcm(resampler: av.AudioResampler | None, frame: av.AudioFrame | None) -> Iterator[bytes]:
    if resampler is None or (frame is None and resampler.is_passthrough):
        return
    for resampled in resampler.resample(frame):
        # FFmpeg's buffers are longer than what is in them.
        yield bytes(resampled.planes[0])[: 2 * resampled.samples]


def _frames(stream: _Stream) -> Iterator[av.AudioFrame]:
    if not stream.peek(1):
        raise SpeechError(SpeechFault.EMPTY, "there is nothing in it")
    if not WAV_HEAD.match(stream.peek(WAV_HEAD_SIZE)):
        yield from _container_frames(stream)
        return
    # Some voices send a file for each sentence.
    while True:
        if (header := read_wav_header(stream.peek)) is not None:
            yield from _wav_frames(stream, header)
        else:
            yield from _container_frames(_WavPart(stream))
        if not _find_next_wav(stream):
            return


def _find_next_wav(stream: _Stream) -> bool:
    """Skip the chunks after the samples of a WAV; return whether a further WAV follows."""
    while len(head := stream.peek(WAV_HEAD_SIZE)) == WAV_HEAD_SIZE:
        if WAV_HEAD.match(head):
            return True
        name, size = CHUNK.unpack_from(head)
        if not name.strip().isalnum():
            break
        left = CHUNK.size + size + size % 2
        while left and (skipped := stream.read_before_wav(min(_MAX_PIECE, left))):
            left -= len(skipped)
    if head:
        _LOGGER.debug("What follows the samples of a WAV is not decoded")
    return False


def _wav_frames(stream: _Stream, header: WavHeader) -> Iterator[av.AudioFrame]:
    stream.read(header.offset)
    left = sys.maxsize if header.size is None else header.size
    block = 2 * header.channels
    samples = b""
    while left and (data := stream.read_before_wav(min(_WAV_READ, left))):
        left -= len(data)
        samples += data
        if whole := len(samples) - len(samples) % block:
            yield audio_frame(samples[:whole], header.sample_rate, header.channels)
            samples = samples[whole:]
    missing = left / block / header.sample_rate
    if _LOGGED_AS_MISSING <= missing < _UNKNOWN_LENGTH:
        _LOGGER.warning("Speech has ended %.1f s before the length that its WAV states", missing)


def _container_frames(stream: _Stream | _WavPart) -> Iterator[av.AudioFrame]:
    with av.open(stream, "r", options=_OPTIONS) as container:
        audio = next(iter(container.streams.audio), None)
        if audio is None:
            raise SpeechError(SpeechFault.NO_AUDIO, "there is no audio in it")
        for packet in container.demux(audio):
            with suppress(av.InvalidDataError):
                yield from packet.decode()
