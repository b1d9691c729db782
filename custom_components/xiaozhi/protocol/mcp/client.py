"""The client of a device's MCP server, over any link: requests in both directions.

It bends the standard where the firmware does (`main/mcp_server.cc`): 32-bit ids, parameters always an object,
errors without code, tool lists that end with an error, tools that restart the device unanswered.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
import logging
from secrets import randbelow
from typing import Any, Final, Protocol

from ...util.event_loop import LogAndGoOn, loop_time
from ...util.text import label
from ...util.untrusted_json import is_bounded
from ..json_rpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Fault, error_reply, result_reply
from ..messages import JsonObject, MessageTooLongError
from ..timeouts import McpTimeouts
from .model import (
    LATEST_VERSION,
    STOCK_VERSION,
    McpAnswerTooLongError,
    McpCallError,
    McpDisconnectedError,
    McpError,
    McpNoAnswerError,
    McpProtocolError,
    McpTimeoutError,
    Progress,
    RequestError,
    RequestHandler,
    is_extended,
    refusal,
    result_of,
)
from .result import ToolResult
from .tool import Tool

_LOGGER = logging.getLogger(__name__)

MAX_TOOLS: Final = 512
"""Limit for the tools of one device."""
_MAX_PAGES: Final = 64
_MAX_METHOD: Final = 128
# Requests of the device that are not answered yet.
_MAX_PENDING: Final = 4

_BUSY: Final = -32000


class McpOwner(Protocol):
    """The owner of a client: has its link, and takes notifications and requests of the device."""

    @property
    def request_handlers(self) -> Mapping[str, RequestHandler]:
        """Handlers of the requests of the device, by method; they are announced to it."""

    async def send_payload(self, payload: JsonObject) -> None:
        """Send a JSON-RPC object. Raises `ConnectionError` when the device is gone."""

    def notified(self, method: str, params: JsonObject) -> None:
        """Take a notification."""

    def create_task(self, work: Coroutine[Any, Any, None], what: str, /) -> asyncio.Task[None]:
        """Run work that ends with the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    reply: asyncio.Future[JsonObject | McpError]
    deadline: asyncio.Timeout
    patience: float
    """Seconds to wait for an answer or for progress."""
    latest: float
    """Loop time until which progress can extend the wait."""
    on_progress: Callable[[Progress], None] | None

    def extend(self, seconds: float) -> None:
        """Wait for `seconds` from now, at most until `latest`."""
        if not self.reply.done() and not self.deadline.expired():
            self.deadline.reschedule(min(loop_time() + seconds, self.latest))


class McpClient:
    """Requests to the MCP server of one device over one link, and its requests to us."""

    extended = False
    """Whether the device is more than stock firmware, and may get requests that stock firmware never gets."""

    def __init__(self, owner: McpOwner) -> None:
        self._owner = owner
        self._answering: set[asyncio.Task[None]] = set()
        self._calls: dict[int, _Call] = {}
        # The firmware reads 32 bits. A web page of some robots counts from 1, and its replies come here, too.
        self._ids = count(2**20 + randbelow(2**30))
        self._closed: str | None = None
        self._go_on = LogAndGoOn(_LOGGER, "A notification could not be handled")
        self.dropped = 0
        """Invalid messages from the device, including late answers."""
        self.left_out: tuple[str, ...] = ()
        """Names of the tools of the last list that are malformed or too large."""

    async def initialize(
        self, *, client_name: str, client_version: str, capabilities: Mapping[str, Any] | None = None
    ) -> str | None:
        """Shake hands, and return the version of the firmware, if reported. Raises `McpError`.

        Beside the given capabilities, those for the device's own requests are announced, and only then the
        latest version: stock firmware requests nothing.
        """
        # As `sampling` of `sampling/createMessage`.
        requests: JsonObject = {method.partition("/")[0]: {} for method in self._owner.request_handlers}
        params: JsonObject = {
            "protocolVersion": LATEST_VERSION if requests else STOCK_VERSION,
            "capabilities": {**(capabilities or {}), **requests},
            "clientInfo": {"name": client_name, "version": client_version},
        }
        result = await self.request("initialize", params)
        await self.notify("notifications/initialized")
        self.extended = is_extended(result)
        info = result.get("serverInfo")
        return label(info.get("version")) if isinstance(info, dict) else None

    async def list_tools(self, *, with_user_tools: bool) -> tuple[Tool, ...]:
        """Fetch the tools, in the device's order; `with_user_tools` since firmware 2.0. Raises `McpError`.

        The names of those that are malformed are in `left_out` afterwards.
        """
        params: JsonObject = {"withUserTools": True} if with_user_tools else {}
        left_out: list[str] = []

        def read(item: object) -> tuple[str, Tool] | None:
            if (tool := Tool.from_dict(item)) is None and len(left_out) < MAX_TOOLS:
                name = item.get("name") if isinstance(item, dict) else None
                left_out.append(label(name) or "?")
            return None if tool is None else (tool.name, tool)

        tools = await self.list_items("tools/list", "tools", read, MAX_TOOLS, params)
        self.left_out = tuple(left_out)
        return tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - progress extends it, which asyncio.timeout around this cannot
        restarts: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool; `timeout` in seconds, by default `McpTimeouts.answer`.

        `restarts` says that the tool restarts the device or closes its channel: a call without an answer has
        then succeeded, with an empty result. Raises `McpCallError` with the device's message when the tool
        fails, `McpTimeoutError`, `McpDisconnectedError` or `McpProtocolError`.
        """
        params: JsonObject = {"name": name, "arguments": dict(arguments or {})}
        try:
            reply = await self.request("tools/call", params, timeout, progress=True, on_progress=on_progress)
        except McpNoAnswerError as err:
            if restarts and err.sent:
                return ToolResult()
            raise
        result = ToolResult.from_dict(reply)
        if result.is_error:
            raise refusal(result.reason)
        return result

    async def list_items[ItemT](
        self,
        method: str,
        member: str,
        parse: Callable[[object], tuple[str, ItemT] | None],
        limit: int,
        params: JsonObject | None = None,
    ) -> tuple[ItemT, ...]:
        """Fetch all pages of a list of at most `limit` items with different keys. Raises `McpError`.

        `parse` returns the key and the item; None for a malformed one, which is left out.
        """
        items: dict[str, ItemT] = {}
        cursor = ""
        for _ in range(_MAX_PAGES):
            entries, cursor = await self._page(method, member, params or {}, cursor)
            # A longer page could only keep us busy.
            for key, item in filter(None, map(parse, entries[: limit + 1])):
                items.setdefault(key, item)
            if not cursor or len(items) > limit:
                break
        found = tuple(items.values())[:limit]
        if cursor or len(items) > limit:
            text = "A device's list of %s is too long, or has no end: it was cut at %d items"
            _LOGGER.warning(text, member, len(found))
        return found

    async def _page(self, method: str, member: str, params: JsonObject, cursor: str) -> tuple[list[Any], str]:
        """Return the entries of a page, and the cursor of the next; empty at the end.

        An error ends the list, unless it is the first page: with only hidden tools left, the firmware returns
        an error.
        """
        try:
            page = await self.request(method, params | {"cursor": cursor} if cursor else params)
            entries = _list_in(page, member)
        except (McpCallError, McpProtocolError) as err:
            if not cursor:
                raise
            _LOGGER.debug("The answers to %s end with an error: %s", method, err)
            return [], ""
        following = page.get("nextCursor")
        # One that is too long would not fit into the next request.
        return entries, following if isinstance(following, str) and len(following) <= 1024 else ""

    def receive(self, payload: JsonObject) -> JsonObject | None:
        """Handle a JSON-RPC object from the device; return the reply unless it follows. Never raises."""
        method, params = payload.get("method"), payload.get("params")
        params = {} if params is None else params
        if "method" not in payload:
            self._take_reply(payload)
        elif not isinstance(method, str) or len(method) > _MAX_METHOD or not method.isprintable():
            self._drop("a method that is no short text")
        elif "id" in payload:
            return self._answer(method, payload["id"], params)
        else:
            self._notify(method, params)
        return None

    def close(self, reason: str) -> None:
        """Fail all calls, now and later, with `McpDisconnectedError`."""
        self._closed = self._closed or reason
        for call in self._calls.values():
            if not call.reply.done():
                call.reply.set_result(McpDisconnectedError(reason, sent=True))

    def message_too_long(self) -> None:
        """Fail the call whose answer was too long, if it is the only one that waits."""
        waiting = [call for call in self._calls.values() if not call.reply.done()]
        if len(waiting) == 1:
            waiting[0].reply.set_result(McpAnswerTooLongError("the answer is too long"))

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification. Raises `McpDisconnectedError`."""
        more = {} if params is None else {"params": params}
        try:
            await self._owner.send_payload({"jsonrpc": "2.0", "method": method, **more})
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

        `patience` in seconds, by default `McpTimeouts.answer`. With `progress`, each report starts it again.
        """
        patience = McpTimeouts.answer if patience is None else patience
        if self._closed is not None:
            raise McpDisconnectedError(self._closed, sent=False)
        sent = False
        request_id = next(self._ids)
        if progress:
            # The firmware ignores unknown members of params.
            params = params | {"_meta": {"progressToken": request_id}}
        try:
            async with asyncio.timeout(patience) as deadline:
                call = self._calls[request_id] = _Call(
                    reply=asyncio.get_running_loop().create_future(),
                    deadline=deadline,
                    patience=patience,
                    latest=loop_time() + (max(patience, McpTimeouts.progress) if progress else patience),
                    on_progress=on_progress,
                )
                await self._owner.send_payload(
                    {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
                )
                sent = True
                reply = await call.reply
        except TimeoutError as err:
            if sent and self.extended:
                self._owner.create_task(self._cancel(request_id), "cancel a call")
            raise McpTimeoutError(f"the device did not answer {method} in time", sent=sent) from err
        except ConnectionError as err:
            raise McpDisconnectedError(str(err), sent=sent) from err
        except MessageTooLongError as err:
            raise McpCallError(str(err)) from err
        finally:
            self._calls.pop(request_id, None)
        if isinstance(reply, McpError):
            raise reply
        return result_of(reply)

    async def _cancel(self, request_id: int) -> None:
        with suppress(McpDisconnectedError):
            params: JsonObject = {"requestId": request_id, "reason": "no answer in time"}
            await self.notify("notifications/cancelled", params)

    def _take_reply(self, payload: JsonObject) -> None:
        reply_id = payload.get("id")
        # True and 1.0 are equal to 1, but never our ids.
        call = self._calls.get(reply_id) if type(reply_id) is int else None
        if call is None or call.reply.done():
            self._drop("an answer to no call")
        else:
            call.reply.set_result(payload)

    def _answer(self, method: str, request_id: Any, params: object) -> JsonObject | None:
        if type(request_id) not in {int, str} or len(str(request_id)) > _MAX_METHOD:
            self._drop("a request whose id is neither a number nor a short text")
            return None
        if method == "ping":
            return result_reply(request_id, {})
        if (handler := self._owner.request_handlers.get(method)) is None:
            return error_reply(Fault(METHOD_NOT_FOUND, "Method not found", request_id))
        if not isinstance(params, dict):
            return error_reply(Fault(INVALID_PARAMS, "The params are no object", request_id))
        if len(self._answering) >= _MAX_PENDING:
            return error_reply(Fault(_BUSY, f"{_MAX_PENDING} requests are not answered yet", request_id))
        task = self._owner.create_task(self._serve(handler, request_id, params), f"answer {method}")
        self._answering.add(task)
        task.add_done_callback(self._answered)
        # The device may ask a person in the middle of a call, which then takes as long.
        for call in self._calls.values():
            call.extend(McpTimeouts.progress)
        return None

    async def _serve(self, handler: RequestHandler, request_id: int | str, params: JsonObject) -> None:
        try:
            reply = result_reply(request_id, await handler(params))
        except RequestError as err:
            reply = error_reply(Fault(err.code, str(err), request_id))
        except Exception:
            _LOGGER.exception("A device's request could not be answered")
            reply = error_reply(Fault(INTERNAL_ERROR, "Internal error", request_id))
        try:
            await self._owner.send_payload(reply)
        except (ConnectionError, MessageTooLongError) as err:
            _LOGGER.debug("An answer was not sent: %s", err)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._answering.remove(task)
        if not self._answering:
            for call in self._calls.values():
                call.extend(call.patience)

    def _notify(self, method: str, params: object) -> None:
        if not isinstance(params, dict) or not is_bounded(params, 8 * 1024):
            self._drop("a notification whose params are no object, or too large")
            return
        if method == "notifications/progress":
            self._progressed(params)
        with self._go_on:
            self._owner.notified(method, params)

    def _progressed(self, params: JsonObject) -> None:
        token = params.get("progressToken")
        call = self._calls.get(token) if type(token) is int else None
        if call is None:
            return
        call.extend(call.patience)
        if (report := call.on_progress) and (progress := Progress.from_dict(params)):
            with self._go_on:
                report(progress)

    def _drop(self, what: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            _LOGGER.debug("Dropped %s; later ones are only counted", what)


def _list_in(page: JsonObject, member: str) -> list[Any]:
    if not isinstance(entries := page.get(member), list):
        raise McpProtocolError(f"the page of the list has no {member}")
    return entries
