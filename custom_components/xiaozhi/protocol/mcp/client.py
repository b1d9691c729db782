"""The client of a device's MCP server, over any link.

It bends the standard where the firmware does (`main/mcp_server.cc`): tool lists that end with an error, tools
that restart the device unanswered.
"""

from collections.abc import Callable, Mapping
import logging
from typing import Any, Final

from ..messages import JsonObject
from .model import (
    LATEST_VERSION,
    STOCK_VERSION,
    McpCallError,
    McpNoAnswerError,
    McpProtocolError,
    ServerInfo,
)
from .result import ToolResult
from .rpc import Progress, Rpc, refusal
from .tool import Tool

_LOGGER = logging.getLogger(__name__)

MAX_TOOLS: Final = 512
"""Limit for the tools of one device."""
_MAX_PAGES: Final = 64
_MAX_CURSOR: Final = 1024


class McpClient(Rpc):
    """What is asked of the MCP server of one device on one link."""

    extended = False
    """Whether the device is more than stock firmware, and may be sent what that never gets."""

    async def initialize(
        self,
        *,
        client_name: str,
        client_version: str,
        vision: Mapping[str, str] | None = None,
        capabilities: Mapping[str, JsonObject] | None = None,
    ) -> ServerInfo:
        """Shake hands. Raises `McpError`.

        `vision` is the `url` for the device's photos and the `token` for it, which it forgets when it
        restarts. `capabilities` are what it may ask of us, as no stock firmware does: only with them is the
        latest version spoken.
        """
        announced = {} if vision is None else {"vision": vision}
        params = {
            "protocolVersion": LATEST_VERSION if capabilities else STOCK_VERSION,
            "capabilities": {**announced, **(capabilities or {})},
            "clientInfo": {"name": client_name, "version": client_version},
        }
        server = ServerInfo.from_dict(await self.request("initialize", params, self._timeouts.initialize))
        await self.notify("notifications/initialized")
        self.extended = server.extended
        return server

    async def list_tools(self, *, with_user_tools: bool) -> tuple[Tool, ...]:
        """Fetch the tools, in the device's order; `with_user_tools` since firmware 2.0. Raises `McpError`."""
        params: JsonObject = {"withUserTools": True} if with_user_tools else {}
        return await self.list_items(
            "tools/list", "tools", Tool.from_dict, MAX_TOOLS, key=lambda tool: tool.name, params=params
        )

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - progress extends it, which asyncio.timeout around this cannot
        restarts: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool; `timeout` in seconds, by default `McpTimeouts.tool`.

        `restarts` says that the tool restarts the device or closes its channel: a call without an answer has
        then succeeded, with an empty result. Raises `McpCallError` with the device's message when the tool
        fails, `McpTimeoutError`, `McpDisconnectedError` or `McpProtocolError`.
        """
        patience = self._timeouts.tool if timeout is None else timeout
        params: JsonObject = {"name": name, "arguments": dict(arguments or {})}
        try:
            reply = await self.request("tools/call", params, patience, progress=True, on_progress=on_progress)
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
        parse: Callable[[Any], ItemT | None],
        limit: int,
        *,
        key: Callable[[ItemT], str],
        params: JsonObject | None = None,
    ) -> tuple[ItemT, ...]:
        """Fetch all pages of a list of at most `limit` items with different keys. Raises `McpError`.

        Malformed items are left out. An error ends the list, unless it is the first page: with only hidden
        tools left, the firmware returns an error.
        """
        items: dict[str, ItemT] = {}
        cursor = ""
        for _ in range(_MAX_PAGES):
            more = {"cursor": cursor} if cursor else {}
            try:
                entries, cursor = await self._page(method, member, {**(params or {}), **more})
            except (McpCallError, McpProtocolError) as err:
                if not cursor:
                    raise
                _LOGGER.debug("The answers to %s end with an error: %s", method, err)
                entries, cursor = [], ""
            # A longer page could only keep us busy.
            for item in map(parse, entries[: limit + 1]):
                if item is not None:
                    items.setdefault(key(item), item)
            if not cursor or len(items) > limit:
                break
        found = tuple(items.values())[:limit]
        if cursor or len(items) > limit:
            text = "A device's list of %s is too long, or has no end: it was cut at %d items"
            _LOGGER.warning(text, member, len(found))
        return found

    async def _page(self, method: str, member: str, params: JsonObject) -> tuple[list[Any], str]:
        """Return the entries of a page, and the cursor of the next; empty at the end."""
        page = await self.request(method, params, self._timeouts.list_tools)
        entries, cursor = page.get(member), page.get("nextCursor")
        if not isinstance(entries, list):
            raise McpProtocolError(f"the page of the list has no {member}")
        # One that is too long would not fit into the next request.
        return entries, cursor if isinstance(cursor, str) and len(cursor) <= _MAX_CURSOR else ""
