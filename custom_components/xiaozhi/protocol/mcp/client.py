"""The client of a device's MCP server, over any link.

It bends the standard where the firmware does (`main/mcp_server.cc`): 32-bit ids, parameters always an
object, errors without code, tool lists that end with an error, tools that restart the device unanswered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
import logging
from typing import Any, Final

from ..messages import JsonObject
from ..shortening import MessageTooLongError
from ..text import one_line
from .model import (
    McpCallError,
    McpDisconnectedError,
    McpError,
    McpNoAnswerError,
    McpNoReasonError,
    McpProtocolError,
    McpTimeoutError,
    ServerInfo,
    VisionEndpoint,
    is_bounded,
)
from .result import ImageContent, ToolResult
from .tool import ArgumentError, ArgumentFault, PropertyKind, Tool, ToolProperty, check_arguments

__all__ = [
    "MAX_TOOLS",
    "ArgumentError",
    "ArgumentFault",
    "ImageContent",
    "McpCallError",
    "McpClient",
    "McpDisconnectedError",
    "McpError",
    "McpNoAnswerError",
    "McpNoReasonError",
    "McpProtocolError",
    "McpTimeoutError",
    "McpTimeouts",
    "PropertyKind",
    "ServerInfo",
    "Tool",
    "ToolProperty",
    "ToolResult",
    "VisionEndpoint",
    "check_arguments",
]

_LOGGER = logging.getLogger(__name__)

# The version of the firmware; newer servers accept it too.
_PROTOCOL_VERSION: Final = "2024-11-05"
_METHOD_NOT_FOUND: Final = -32601
# The firmware reads ids into a 32-bit integer, and answers with the truncated id.
_MAX_ID: Final = 2**31 - 1

MAX_TOOLS: Final = 512
"""Limit for the tools of one device."""
_MAX_PAGES: Final = 64
_MAX_CURSOR: Final = 1024
_MAX_METHOD: Final = 128
_MAX_PARAMS: Final = 8 * 1024
_MAX_PARAMS_DEPTH: Final = 16
_MAX_ERROR: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTimeouts:
    """How long a device may take to answer, in seconds."""

    initialize: float = 10
    list_tools: float = 10
    """For one page of its tools."""
    tool: float = 10
    """For a call or its next progress, unless the caller gives another time."""
    progress: float = 600
    """For a whole call, however often it reports progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A request that waits for its answer."""

    reply: asyncio.Future[JsonObject | McpError]
    deadline: asyncio.Timeout
    patience: float
    """Seconds to wait for an answer or for progress."""
    latest: float
    """Loop time until which progress extends the wait."""


class McpClient:
    """Calls the MCP server of one device on one link."""

    def __init__(
        self,
        send: Callable[[JsonObject], Awaitable[None]],
        *,
        on_notification: Callable[[str, JsonObject], None] | None = None,
        timeouts: McpTimeouts | None = None,
    ) -> None:
        """Use `send` for JSON-RPC objects; it raises `ConnectionError` when the device is gone.

        `on_notification` gets the method and the params of every notification.
        """
        self._send = send
        self._timeouts = timeouts or McpTimeouts()
        self._on_notification = on_notification
        self._calls: dict[int, _Call] = {}
        self._last_id = 0
        self._closed: str | None = None
        self.dropped = 0
        """Invalid messages from the device, including late answers."""

    async def initialize(
        self, *, client_name: str, client_version: str, vision: VisionEndpoint | None
    ) -> ServerInfo:
        """Shake hands. Raises `McpError`.

        Tells the device where its photos go, which it forgets when it restarts.
        """
        capabilities: JsonObject = {}
        if vision:
            token = {"token": vision.token} if vision.token is not None else {}
            capabilities["vision"] = {"url": vision.url, **token}
        params = {
            "protocolVersion": _PROTOCOL_VERSION,
            "capabilities": capabilities,
            "clientInfo": {"name": client_name, "version": client_version},
        }
        result = await self._request("initialize", params, self._timeouts.initialize)
        try:
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except ConnectionError as err:
            raise McpDisconnectedError(str(err), sent=False) from err
        return ServerInfo.from_dict(result.get("serverInfo"))

    async def list_tools(self, *, with_user_tools: bool) -> tuple[Tool, ...]:
        """Fetch all pages of the tool list, in the device's order; `with_user_tools` since firmware 2.0.

        An error ends the list, unless it is the first page: with only hidden tools left, the firmware returns
        an error. Raises `McpError`.
        """
        params: JsonObject = {"withUserTools": True} if with_user_tools else {}
        collector = _ToolCollector()
        cursor: str | None = None
        while True:
            page_params = params if cursor is None else params | {"cursor": cursor}
            try:
                page = await self._request("tools/list", page_params, self._timeouts.list_tools)
                cursor = collector.add(page)
            except (McpCallError, McpProtocolError) as err:
                if cursor is None:
                    raise
                _LOGGER.debug("The tool list ends with an error: %s", err)
                break
            if cursor is None:
                break
        if collector.excess:
            _LOGGER.warning(
                "A device's tool list was cut at %d tools: %s", len(collector.tools), collector.excess
            )
        if collector.skipped:
            _LOGGER.debug("%d malformed, too large or repeated tools were skipped", collector.skipped)
        return tuple(collector.tools.values())

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - progress extends it, which asyncio.timeout around this cannot
        restarts: bool = False,
    ) -> ToolResult:
        """Call a tool; `timeout` in seconds, by default `McpTimeouts.tool`.

        `restarts` says that the tool restarts the device or closes its channel: a call without an answer has
        then succeeded, with an empty result. Raises `McpCallError` with the device's message when the tool
        fails, `McpTimeoutError`, `McpDisconnectedError` or `McpProtocolError`.
        """
        patience = self._timeouts.tool if timeout is None else timeout
        params = {"name": name, "arguments": dict(arguments or {})}
        try:
            reply = await self._request("tools/call", params, patience, progress=True)
        except McpNoAnswerError as err:
            if restarts and err.sent:
                return ToolResult()
            raise
        result = ToolResult.from_dict(reply)
        if result.is_error:
            raise _refusal(result.reason)
        return result

    def receive(self, payload: JsonObject) -> JsonObject | None:
        """Handle a JSON-RPC object from the device; return the reply if it is a request. Never raises."""
        method = payload.get("method")
        if "method" not in payload:
            self._take_reply(payload)
        elif not isinstance(method, str) or len(method) > _MAX_METHOD or not method.isprintable():
            self._drop("a method that is no short text")
        elif "id" in payload:
            return self._answer(method, payload["id"])
        else:
            self._notify(method, payload.get("params"))
        return None

    def close(self, reason: str) -> None:
        """Fail all calls, now and later, with `McpDisconnectedError`."""
        self._closed = self._closed or reason
        for call in self._calls.values():
            if not call.reply.done():
                call.reply.set_result(McpDisconnectedError(reason, sent=True))

    async def _request(
        self, method: str, params: JsonObject, patience: float, *, progress: bool = False
    ) -> JsonObject:
        if self._closed is not None:
            raise McpDisconnectedError(self._closed, sent=False)
        loop = asyncio.get_running_loop()
        request_id = self._take_id()
        if progress:
            # The firmware ignores unknown members of params.
            params = params | {"_meta": {"progressToken": request_id}}
        sent = False
        try:
            async with asyncio.timeout(patience) as deadline:
                call = self._calls[request_id] = _Call(
                    reply=loop.create_future(),
                    deadline=deadline,
                    patience=patience,
                    latest=loop.time() + max(patience, self._timeouts.progress),
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

    def _answer(self, method: str, request_id: Any) -> JsonObject | None:
        if type(request_id) not in {int, str} or not is_bounded(request_id, size=_MAX_METHOD, depth=1):
            self._drop("a request whose id is neither a number nor a short text")
            return None
        reply: JsonObject = {"jsonrpc": "2.0", "id": request_id}
        if method == "ping":
            return reply | {"result": {}}
        return reply | {"error": {"code": _METHOD_NOT_FOUND, "message": "Method not found"}}

    def _notify(self, method: str, params: Any) -> None:
        params = {} if params is None else params
        if not isinstance(params, dict) or not is_bounded(params, size=_MAX_PARAMS, depth=_MAX_PARAMS_DEPTH):
            self._drop("a notification whose params are no object, or too large")
            return
        if method == "notifications/progress":
            self._extend(params.get("progressToken"))
        if self._on_notification:
            try:
                self._on_notification(method, params)
            except Exception:
                _LOGGER.exception("A notification could not be handled")

    def _extend(self, token: Any) -> None:
        call = self._calls.get(token) if type(token) is int else None
        if call and not call.deadline.expired():
            now = asyncio.get_running_loop().time()
            call.deadline.reschedule(min(now + call.patience, call.latest))

    def _drop(self, what: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            _LOGGER.debug("Dropped %s; later ones are only counted", what)


def _result_of(reply: JsonObject) -> JsonObject:
    result, error = reply.get("result"), reply.get("error")
    if result is not None and error is not None:
        raise McpProtocolError("the answer has both a result and an error")
    match error:
        case None:
            pass
        case {"message": str(message)} | str(message):
            code = error.get("code") if isinstance(error, dict) else None
            raise _refusal(message, code if type(code) is int else None)
        case _:
            raise McpProtocolError("the error has no message")
    if not isinstance(result, dict):
        raise McpProtocolError("the answer has no result object")
    return result


def _refusal(reason: str, code: int | None = None) -> McpCallError:
    shown = one_line(reason, _MAX_ERROR)
    return McpCallError(shown, code) if shown else McpNoReasonError("the device gave no reason", code)


class _ToolCollector:
    """Gathers the pages of a tool list, within bounds."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.skipped = 0
        self.excess: str | None = None
        """Why the list was cut, if so."""
        self._cursors: set[str] = set()

    def add(self, page: JsonObject) -> str | None:
        """Add a page; return the cursor of the next, None at the end. Raises `McpProtocolError`."""
        entries, cursor = page.get("tools"), page.get("nextCursor")
        if not isinstance(entries, list):
            raise McpProtocolError("the page of the tool list has no tools")
        # A longer page could only keep us busy.
        for entry in entries[: MAX_TOOLS + 1]:
            tool = Tool.from_dict(entry)
            if tool is None or tool.name in self.tools:
                self.skipped += 1
            elif len(self.tools) == MAX_TOOLS:
                self.excess = "it has more"
                return None
            else:
                self.tools[tool.name] = tool
        if not isinstance(cursor, str) or not cursor:
            return None
        if cursor in self._cursors or len(cursor) > _MAX_CURSOR:
            self.excess = "its pages go in circles"
            return None
        if len(self._cursors) == _MAX_PAGES - 1:
            self.excess = f"it has more than {_MAX_PAGES} pages"
            return None
        self._cursors.add(cursor)
        return cursor
