"""Requests from a device: a ping, and what its MCP server may ask of a client."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
import logging
from typing import Any, Final

from ..messages import JsonObject
from ..shortening import MessageTooLongError

_LOGGER = logging.getLogger(__name__)

_MAX_PENDING: Final = 4

INVALID_PARAMS: Final = -32602
_METHOD_NOT_FOUND: Final = -32601
_INTERNAL_ERROR: Final = -32603
_BUSY: Final = -32000

type RequestHandler = Callable[[JsonObject], Awaitable[JsonObject]]
"""Answers the params of a request with a result. Raises `RequestError` to refuse it."""
type TaskStarter = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
type Sender = Callable[[JsonObject], Awaitable[None]]


class RequestError(Exception):
    """A request of a device is refused."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        """Refuse with a text and a code of JSON-RPC or MCP."""
        super().__init__(message)
        self.code = code


class IncomingRequests:
    """Answers the requests of one device on one link, a few at a time."""

    def __init__(
        self,
        handlers: Mapping[str, RequestHandler] | None = None,
        start: TaskStarter | None = None,
        send: Sender | None = None,
    ) -> None:
        """Answer with `handlers`, by method; the owner of `start` ends the tasks. Without them, refuse."""
        self._handlers = handlers if handlers is not None else {}
        self._start = start
        self._send = send
        self._pending: set[asyncio.Task[None]] = set()

    def receive(
        self, method: str, request_id: int | str, params: Any, answered: Callable[[], None]
    ) -> JsonObject | None:
        """Return the reply, or None if it follows; `answered` is called after that."""
        if method == "ping":
            return _reply(request_id, result={})
        handler = self._handlers.get(method)
        if handler is None or self._start is None:
            return _error(request_id, _METHOD_NOT_FOUND, "Method not found")
        params = {} if params is None else params
        if not isinstance(params, dict):
            return _error(request_id, INVALID_PARAMS, "The params are no object")
        if len(self._pending) >= _MAX_PENDING:
            return _error(request_id, _BUSY, f"{_MAX_PENDING} requests are not answered yet")
        task = self._start(self._serve(handler, request_id, params), f"answer {method}")
        self._pending.add(task)

        def done(_: asyncio.Task[None]) -> None:
            self._pending.remove(task)
            if not self._pending:
                answered()

        task.add_done_callback(done)
        return None

    async def _serve(self, handler: RequestHandler, request_id: int | str, params: JsonObject) -> None:
        try:
            reply = _reply(request_id, result=await handler(params))
        except RequestError as err:
            reply = _error(request_id, err.code, str(err))
        except Exception:
            _LOGGER.exception("A device's request could not be answered")
            reply = _error(request_id, _INTERNAL_ERROR, "Internal error")
        if self._send is not None:
            try:
                await self._send(reply)
            except (ConnectionError, MessageTooLongError) as err:
                _LOGGER.debug("An answer was not sent: %s", err)


def _reply(request_id: int | str, **member: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, **member}


def _error(request_id: int | str, code: int, message: str) -> JsonObject:
    return _reply(request_id, error={"code": code, "message": message})
