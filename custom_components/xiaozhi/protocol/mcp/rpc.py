"""Requests to a device's MCP server and their answers, over any link.

It bends the standard where the firmware does (`main/mcp_server.cc`): 32-bit ids, parameters always an
object, errors without code.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
import logging
import math
from typing import Any, Final, Self

from ..messages import JsonObject
from ..shortening import MessageTooLongError
from ..timeouts import McpTimeouts
from ..untrusted_text import label, one_line
from .incoming import IncomingRequests
from .model import (
    McpCallError,
    McpDisconnectedError,
    McpError,
    McpNoReasonError,
    McpProtocolError,
    McpTimeoutError,
    is_bounded,
)

_LOGGER = logging.getLogger(__name__)

# The firmware reads ids into a 32-bit integer, and answers with the truncated id.
_MAX_ID: Final = 2**31 - 1
_MAX_METHOD: Final = 128
_MAX_PARAMS: Final = 8 * 1024
_MAX_PARAMS_DEPTH: Final = 16
_MAX_ERROR: Final = 500
_MAX_PROGRESS_TEXT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress that a device reports of a request."""

    progress: float
    total: float | None = None
    message: str | None = None
    """One line in the device's words."""

    @classmethod
    def from_dict(cls, params: JsonObject) -> Self | None:
        """Read the params of `notifications/progress`; None without a number."""
        if (done := _number(params.get("progress"))) is None:
            return None
        message = label(params.get("message"), _MAX_PROGRESS_TEXT)
        return cls(progress=done, total=_number(params.get("total")), message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A request that waits for its answer."""

    reply: asyncio.Future[JsonObject | McpError]
    deadline: asyncio.Timeout
    patience: float
    """Seconds to wait for an answer or for progress."""
    latest: float
    """Loop time until which progress extends the wait."""
    on_progress: Callable[[Progress], None] | None

    def extend(self, seconds: float) -> None:
        """Wait for `seconds` from now, at most until `latest`."""
        if not self.reply.done() and not self.deadline.expired():
            now = asyncio.get_running_loop().time()
            self.deadline.reschedule(min(now + seconds, self.latest))


class Rpc:
    """The requests in both directions between us and the MCP server of one device on one link."""

    def __init__(
        self,
        send: Callable[[JsonObject], Awaitable[None]],
        *,
        on_notification: Callable[[str, JsonObject], None] | None = None,
        incoming: IncomingRequests | None = None,
        timeouts: McpTimeouts | None = None,
    ) -> None:
        """Use `send` for JSON-RPC objects; it raises `ConnectionError` when the device is gone.

        `on_notification` gets the method and the params of every notification, `incoming` the requests of the
        device.
        """
        self._send = send
        self._timeouts = timeouts or McpTimeouts()
        self._on_notification = on_notification
        self._incoming = incoming or IncomingRequests()
        self._calls: dict[int, _Call] = {}
        self._last_id = 0
        self._closed: str | None = None
        self.dropped = 0
        """Invalid messages from the device, including late answers."""

    def receive(self, payload: JsonObject) -> JsonObject | None:
        """Handle a JSON-RPC object from the device; return the reply unless it follows. Never raises."""
        method = payload.get("method")
        if "method" not in payload:
            self._take_reply(payload)
        elif not isinstance(method, str) or len(method) > _MAX_METHOD or not method.isprintable():
            self._drop("a method that is no short text")
        elif "id" in payload:
            return self._answer(method, payload["id"], payload.get("params"))
        else:
            self._notify(method, payload.get("params"))
        return None

    def close(self, reason: str) -> None:
        """Fail all calls, now and later, with `McpDisconnectedError`."""
        self._closed = self._closed or reason
        for call in self._calls.values():
            if not call.reply.done():
                call.reply.set_result(McpDisconnectedError(reason, sent=True))

    async def notify(self, method: str) -> None:
        """Send a notification. Raises `McpDisconnectedError`."""
        try:
            await self._send({"jsonrpc": "2.0", "method": method})
        except ConnectionError as err:
            raise McpDisconnectedError(str(err), sent=False) from err

    async def request(
        self,
        method: str,
        params: JsonObject,
        patience: float | None = None,
        *,
        progress: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> JsonObject:
        """Send a request and return its result. Raises `McpError`.

        `patience` is in seconds, by default `McpTimeouts.read`. With `progress`, each report starts it again.
        """
        patience = self._timeouts.read if patience is None else patience
        if self._closed is not None:
            raise McpDisconnectedError(self._closed, sent=False)
        loop, request_id, sent = asyncio.get_running_loop(), self._take_id(), False
        if progress:
            # The firmware ignores unknown members of params.
            params = params | {"_meta": {"progressToken": request_id}}
        try:
            async with asyncio.timeout(patience) as deadline:
                call = self._calls[request_id] = _Call(
                    reply=loop.create_future(),
                    deadline=deadline,
                    patience=patience,
                    latest=loop.time() + (max(patience, self._timeouts.progress) if progress else patience),
                    on_progress=on_progress,
                )
                await self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
                sent = True
                reply = await call.reply
        except TimeoutError as err:
            raise McpTimeoutError(f"the device did not answer {method} in time", sent=sent) from err
        except ConnectionError as err:
            raise McpDisconnectedError(str(err), sent=sent) from err
        except MessageTooLongError as err:
            raise McpCallError(str(err)) from err
        finally:
            self._calls.pop(request_id, None)
        if isinstance(reply, McpError):
            raise reply
        return _result_of(reply)

    def _take_id(self) -> int:
        while True:
            self._last_id = self._last_id % _MAX_ID + 1
            if self._last_id not in self._calls:
                return self._last_id

    def _take_reply(self, payload: JsonObject) -> None:
        reply_id = payload.get("id")
        # True and 1.0 are equal to 1, but never our ids.
        call = self._calls.get(reply_id) if type(reply_id) is int else None
        if call is None or call.reply.done():
            self._drop("an answer to no call")
        else:
            call.reply.set_result(payload)

    def _answer(self, method: str, request_id: Any, params: Any) -> JsonObject | None:
        if type(request_id) not in {int, str} or not is_bounded(request_id, size=_MAX_METHOD, depth=1):
            self._drop("a request whose id is neither a number nor a short text")
            return None
        reply = self._incoming.receive(method, request_id, params, self._answered)
        if reply is None:
            # The device may ask a person in the middle of a call, which then takes as long.
            for call in self._calls.values():
                call.extend(self._timeouts.progress)
        return reply

    def _answered(self) -> None:
        for call in self._calls.values():
            call.extend(call.patience)

    def _notify(self, method: str, params: Any) -> None:
        params = {} if params is None else params
        if not isinstance(params, dict) or not is_bounded(params, size=_MAX_PARAMS, depth=_MAX_PARAMS_DEPTH):
            self._drop("a notification whose params are no object, or too large")
            return
        if method == "notifications/progress":
            self._progressed(params)
        if listener := self._on_notification:
            self._handle(lambda: listener(method, params))

    def _progressed(self, params: JsonObject) -> None:
        token = params.get("progressToken")
        call = self._calls.get(token) if type(token) is int else None
        if call is None:
            return
        call.extend(call.patience)
        if (report := call.on_progress) and (progress := Progress.from_dict(params)):
            self._handle(lambda: report(progress))

    @staticmethod
    def _handle(listener: Callable[[], object]) -> None:
        try:
            listener()
        except Exception:
            _LOGGER.exception("A notification could not be handled")

    def _drop(self, what: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            _LOGGER.debug("Dropped %s; later ones are only counted", what)


def refusal(reason: str) -> McpCallError:
    """Return the error for a refusal in the device's words."""
    shown = one_line(reason, _MAX_ERROR)
    return McpCallError(shown) if shown else McpNoReasonError("the device gave no reason")


def _number(value: Any) -> float | None:
    return value if type(value) in {int, float} and math.isfinite(value) else None


def _result_of(reply: JsonObject) -> JsonObject:
    result, error = reply.get("result"), reply.get("error")
    if result is not None and error is not None:
        raise McpProtocolError("the answer has both a result and an error")
    match error:
        case None:
            pass
        case {"message": str(message)} | str(message):
            raise refusal(message)
        case _:
            raise McpProtocolError("the error has no message")
    if not isinstance(result, dict):
        raise McpProtocolError("the answer has no result object")
    return result
