"""One WebSocket that carries JSON-RPC, with a record of the replies on it."""

import asyncio
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Mapping, Sequence
import json
from typing import Any, Final

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

type Json = dict[str, Any]
type Frame = str | bytes | Sequence[str] | Sequence[bytes]
"""A message as it is sent: text, binary, or the fragments of either."""

ABSENT: Final = object()
"""Stands for a key that the message does not have."""

_RECORDED = 5000
_PLAIN_LENGTH = 256


class RawText(bytes):
    """The bytes of a text frame, which need not be UTF-8."""

    __slots__ = ()


class LinkClosedError(ConnectionError):
    """The connection ended before the reply came."""


class Link:
    """Sends requests, gives each its reply, and notes what the other side must not do."""

    _relayed = False
    """Whether errors may come from a self-hosted relay, which gives them a result of null, too."""

    def __init__(self, connection: Connection) -> None:
        """Take an open connection; `run` must run to receive anything."""
        self.connection = connection
        self.replies: deque[Json] = deque(maxlen=_RECORDED)
        """Replies of the other side, in the order in which they came."""
        self.violations: list[str] = []
        """Violations of the other side, one sentence each."""
        self.frozen = False
        self._next_id = 0
        self._asked: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[Json]]] = {}

    @property
    def open(self) -> bool:
        """Whether the connection is open, as far as this side knows."""
        return self.connection.state is State.OPEN

    @property
    def close_code(self) -> int | None:
        """The code with which it was closed; 1006 without a close frame, None while it is open."""
        return self.connection.close_code

    async def run(self) -> None:
        """Receive until the connection ends."""
        try:
            while True:
                self._receive(await self.connection.recv())
        except ConnectionClosed:
            pass
        finally:
            for future in [future for futures in self._waiting.values() for future in futures]:
                if not future.done():
                    future.set_exception(LinkClosedError(f"closed with {self.close_code}"))
                    future.exception()

    async def send(self, message: Json | Frame) -> None:
        """Send a message, or any text, bytes or fragments as they are. Raises `LinkClosedError`."""
        frame = _encoded(message) if isinstance(message, Mapping) else message
        self._expect_reply(frame)
        if self.frozen:
            return
        try:
            await self.connection.send(frame, text=True if isinstance(frame, RawText) else None)
        except ConnectionClosed as closed:
            raise LinkClosedError(f"closed with {self.close_code}") from closed

    async def notify(self, method: str, params: object = ABSENT) -> None:
        """Send a notification."""
        await self.send(_message(method, params))

    async def request(
        self,
        method: str,
        params: object = ABSENT,
        *,
        request_id: object = ABSENT,
        seconds: float | None = None,
    ) -> Json:
        """Ask and return the whole reply. Raises `TimeoutError` and `LinkClosedError`.

        Without a `request_id`, ids count from 0.
        """
        if request_id is ABSENT:
            request_id, self._next_id = self._next_id, self._next_id + 1
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        futures = self._waiting.setdefault(_key(request_id), deque())
        futures.append(future)
        try:
            async with asyncio.timeout(seconds):
                await self.send(_message(method, params) | {"id": request_id})
                return await future
        finally:
            if future in futures:
                futures.remove(future)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a code; 1006 ends the connection without a close frame.

        A half-open connection stays as it is: nothing reaches the other side.
        """
        if self.frozen:
            return
        if code == 1006:
            self.connection.transport.abort()
            await self.connection.wait_closed()
        else:
            await self.connection.close(code, reason)

    async def drop(self) -> None:
        """End the connection without a close frame."""
        await self.close(1006)

    def freeze(self) -> None:
        """Become half-open: send and read nothing more, so that no ping and no close frame is answered."""
        self.frozen = True
        self.connection.transport.pause_reading()

    async def wait_closed(self) -> int | None:
        """Wait until the other side has closed; return the code."""
        await self.connection.wait_closed()
        return self.close_code

    async def until(self, event: asyncio.Event) -> None:
        """Wait for an event. Raises `LinkClosedError` if the connection ends before."""
        tasks = {asyncio.ensure_future(work) for work in (event.wait(), self.wait_closed())}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        if not event.is_set():
            raise LinkClosedError(f"closed with {self.close_code}")

    def _expect_reply(self, frame: Frame) -> None:
        """Note which ids a reply to this frame may have: with a doubtful one, its own or null."""
        raw = _joined(frame)
        try:
            content = json.loads(raw)
        except ValueError, RecursionError:
            content = None
        message: Json = content if isinstance(content, dict) else {}
        if {"result", "error"} & message.keys() or ("method" in message and "id" not in message):
            return
        request_id = message.get("id")
        self._asked[_key(request_id)] += 1
        if raw.startswith(BOM_UTF8) or not (_plain(request_id) and isinstance(message.get("method"), str)):
            self._asked["null"] += 1

    def _receive(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            self.violations.append("a binary frame")
        try:
            message = json.loads(frame)
        except ValueError:
            self.violations.append("a frame that is not JSON")
            return
        if (
            self._relayed
            and isinstance(message, dict)
            and "error" in message
            and message.get("result") is None
        ):
            message.pop("result", None)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.violations.append("a frame that is not a JSON-RPC 2.0 object")
        elif "method" in message:
            if "id" in message:
                self.violations.append(f"a request: {message['method']}")
        elif ("result" in message) == ("error" in message) or "id" not in message:
            self.violations.append("a reply without an id, or with both or neither of result and error")
        else:
            self._receive_reply(message)

    def _receive_reply(self, reply: Json) -> None:
        key = _key(reply["id"])
        self.replies.append(reply)
        if self._asked[key] <= 0:
            self.violations.append(f"a reply too many to the id {key}")
            return
        self._asked[key] -= 1
        for future in self._waiting.get(key, ()):
            if not future.done():
                future.set_result(reply)
                break


def _message(method: str, params: object) -> Json:
    message: Json = {"jsonrpc": "2.0", "method": method}
    return message if params is ABSENT else message | {"params": params}


def _encoded(message: Mapping[str, Any]) -> str:
    text = json.dumps(message, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-8 has no lone surrogates; escaped, they are valid JSON.
        return json.dumps(message)
    return text


def _plain(request_id: object) -> bool:
    """Return whether an id is one that every server repeats."""
    if isinstance(request_id, str):
        return len(request_id) <= _PLAIN_LENGTH and request_id.isprintable()
    return isinstance(request_id, int) and not isinstance(request_id, bool)


def _joined(frame: Frame) -> bytes:
    parts = (frame,) if isinstance(frame, str | bytes) else frame
    return b"".join(part if isinstance(part, bytes) else part.encode(errors="replace") for part in parts)


def _key(request_id: object) -> str:
    """Tell ids apart that Python holds for equal, such as 1, 1.0 and True."""
    return json.dumps(request_id, sort_keys=True)
