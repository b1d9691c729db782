"""The body of an HTTP answer while it comes. Source: `http_client.cc` of the firmware's network component."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

_QUEUE: Final = 8192
_SEGMENT: Final = 1436
_PAGE: Final = 1024


class StreamedBody:
    """Receives into a queue of 8 KB, from which the device reads; used as `async with`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        headers: dict[str, str],
        timeout: Callable[[], asyncio.Timeout],
    ) -> None:
        """Begin after the head; `timeout` returns that of a read."""
        self._reader = reader
        self._headers = headers
        self._timeout = timeout
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = asyncio.Condition()
        self._receiving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to receive."""
        self._receiving = asyncio.create_task(self._receive())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Receive nothing more."""
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.wait([self._receiving])

    async def read(self) -> bytes:
        """Return at most 1024 bytes; nothing at a proper end.

        Raises `TimeoutError`, and `EOFError` or `ValueError` for an improper end; that is noticed once all
        has been received, and what is queued is lost.
        """
        async with self._timeout(), self._changed:
            await self._changed.wait_for(lambda: self._queue or self._ended or self._error)
            if self._error is not None:
                raise self._error
            if not self._queue:
                return b""
            data = self._queue.popleft()
            if len(data) > _PAGE:
                self._queue.appendleft(data[_PAGE:])
            self._queued -= len(data[:_PAGE])
            self._changed.notify_all()
            return data[:_PAGE]

    async def _receive(self) -> None:
        try:
            if "chunked" in self._headers.get("transfer-encoding", "").lower():
                while size := int((await self._line()).split(b";")[0], 16):
                    await self._take(size)
                    await self._reader.readexactly(2)
                while await self._line():
                    pass
            else:
                await self._take(int(self._headers.get("content-length", 0)) or None)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as err:
            self._error = err
        self._ended = True
        async with self._changed:
            self._changed.notify_all()

    async def _line(self) -> bytes:
        return (await self._reader.readuntil(b"\n")).strip()

    async def _take(self, size: int | None) -> None:
        """Receive so many bytes; without a number, all up to the end of the connection."""
        left = size
        while left is None or left > 0:
            async with self._changed:
                await self._changed.wait_for(lambda: self._queued < _QUEUE)
            data = await self._reader.read(_SEGMENT if left is None else min(left, _SEGMENT))
            if not data and left is None:
                return
            if left is not None:
                left -= len(data)
                if not data:
                    raise EOFError("the connection ended before the body")
            async with self._changed:
                self._queue.append(data)
                self._queued += len(data)
                self._changed.notify_all()
