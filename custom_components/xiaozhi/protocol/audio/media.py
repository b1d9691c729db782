"""Any audio a speech engine or a media source delivers, decoded to PCM while it is still arriving."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from .decoder import MediaError, MediaFault, Tags, decode_stream

__all__ = ["MediaError", "MediaFault", "Tags", "decode_media"]

# The most that is queued between source and decoder, and between decoder and listener.
_MAX_PIECES: Final = 8
_MAX_PIECE: Final = 16 * 1024


async def decode_media(
    source: AsyncIterable[bytes],
    *,
    sample_rate: int,
    extension: str | None = None,
    through: Callable[[bytes], bytes] | None = None,
    on_tags: Callable[[Tags], None] | None = None,
    piece_bytes: int = 0,
) -> AsyncGenerator[bytes]:
    """Decode a stream of media, in pieces of any size, to signed 16 bit little endian mono PCM.

    The first PCM comes as soon as it can be decoded. When 128 KiB of media or 8 pieces of PCM wait, the
    source is not asked for more. `extension` ("mp3") is a hint for where the content leaves the format open.
    `through` is called in the decoding thread with all PCM; what it returns takes its place. `on_tags` is
    called with what the media, or each song of a stream, tell of themselves. PCM is collected into pieces of
    at least `piece_bytes`: each costs a change of threads.

    Raises `MediaError` if nothing can be decoded, and what the source raises, after the PCM of what came
    before. Owns the source: a generator is closed with this one. Closing ends the decoding thread, also while
    the source stalls; use `contextlib.aclosing` to have it done at once.
    """
    loop = asyncio.get_running_loop()
    media: asyncio.Queue[bytes] = asyncio.Queue(_MAX_PIECES)
    decoded: asyncio.Queue[bytes] = asyncio.Queue(_MAX_PIECES)

    def wait_for[T](coroutine: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    def tell(tags: Tags) -> None:
        if on_tags is not None:
            loop.call_soon_threadsafe(on_tags, tags)

    def decode() -> None:
        stream = _Stream(lambda: wait_for(_take(media)), extension)
        for pcm in _collect(decode_stream(stream, sample_rate, tell), piece_bytes):
            if played := pcm if through is None else through(pcm):
                wait_for(decoded.put(played))

    # A thread of its own, since it blocks while a slow source delivers nothing.
    executor = ThreadPoolExecutor(1, thread_name_prefix="xiaozhi-media")
    feeder = loop.create_task(_feed(source, media))
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
        media.shutdown(immediate=True)
        decoded.shutdown(immediate=True)
        feeder.cancel()
        # Here already, because the wait for it may be interrupted.
        executor.shutdown(wait=False)
        await asyncio.gather(feeder, decoder, return_exceptions=True)
        executor.shutdown()


async def _feed(source: AsyncIterable[bytes], media: asyncio.Queue[bytes]) -> None:
    try:
        async for chunk in source:
            for offset in range(0, len(chunk), _MAX_PIECE):
                await media.put(chunk[offset : offset + _MAX_PIECE])
    finally:
        media.shutdown()
        if isinstance(source, AsyncGenerator):
            await source.aclose()


async def _take(media: asyncio.Queue[bytes]) -> bytes:
    """Return all queued media, at least a byte; nothing at the end."""
    try:
        pieces = [await media.get()]
    except asyncio.QueueShutDown:
        return b""
    while not media.empty():
        pieces.append(media.get_nowait())
    return b"".join(pieces)


def _collect(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Join pieces to ones of at least `size` bytes, the last but for."""
    collected = bytearray()
    try:
        for piece in pieces:
            collected += piece
            if len(collected) >= size:
                yield bytes(collected)
                collected.clear()
    except MediaError:
        if collected:
            yield bytes(collected)
        raise
    if collected:
        yield bytes(collected)


class _Stream:
    """The media as the file that FFmpeg wants, read in the decoder's thread."""

    def __init__(self, take: Callable[[], bytes], extension: str | None) -> None:
        """Read what `take` returns; it blocks, and returns nothing at the end."""
        self._take = take
        self._waiting = b""
        self.name = f"media.{extension}" if extension else ""
        """FFmpeg takes the extension into account."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, as soon as there are any; nothing at the end."""
        waiting = self._waiting or self._take()
        self._waiting = waiting[size:]
        return waiting[:size]

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes without taking them; fewer only if the stream ends before."""
        while len(self._waiting) < size and (more := self._take()):
            self._waiting += more
        return self._waiting[:size]
