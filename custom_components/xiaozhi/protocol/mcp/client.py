"""The client of a device's MCP server, over any link.

It bends the standard where the firmware does (`main/mcp_server.cc`): tool lists that end with an error, tools
that restart the device unanswered. What stock firmware does not have is asked only where it is announced.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
import logging
from typing import Any, Final

from ..messages import JsonObject
from ..text import one_line
from ..timeouts import McpTimeouts
from .content import ImageContent
from .incoming import IncomingRequests, RequestError, RequestHandler
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
)
from .negotiation import Capabilities, ClientOffer
from .paging import ListCollector
from .prompt import Prompt, PromptResult
from .resource import Resource, ResourceContents, ResourceTemplate, parse_contents
from .result import ToolResult
from .rpc import Progress, Rpc, refusal
from .task import Tasks, is_task, task_params
from .tool import (
    ArgumentError,
    ArgumentFault,
    PropertyKind,
    TaskSupport,
    Tool,
    ToolProperty,
    check_arguments,
)

__all__ = [
    "MAX_TOOLS",
    "ArgumentError",
    "ArgumentFault",
    "Capabilities",
    "ClientOffer",
    "ImageContent",
    "IncomingRequests",
    "McpCallError",
    "McpClient",
    "McpDisconnectedError",
    "McpError",
    "McpNoAnswerError",
    "McpNoReasonError",
    "McpProtocolError",
    "McpTimeoutError",
    "Progress",
    "Prompt",
    "PromptResult",
    "PropertyKind",
    "RequestError",
    "RequestHandler",
    "Resource",
    "ResourceContents",
    "ResourceTemplate",
    "ServerInfo",
    "TaskSupport",
    "Tool",
    "ToolProperty",
    "ToolResult",
    "VisionEndpoint",
    "check_arguments",
]

_LOGGER = logging.getLogger(__name__)

MAX_TOOLS: Final = 512
"""Limit for the tools of one device."""
MAX_RESOURCES: Final = 256
"""Limit for the resources of one device, and for its templates."""
MAX_PROMPTS: Final = 128
"""Limit for the prompts of one device."""
_MAX_VALUES: Final = 100
_MAX_VALUE: Final = 256


class McpClient:
    """Calls the MCP server of one device on one link."""

    def __init__(
        self,
        send: Callable[[JsonObject], Awaitable[None]],
        *,
        on_notification: Callable[[str, JsonObject], None] | None = None,
        incoming: IncomingRequests | None = None,
        timeouts: McpTimeouts | None = None,
    ) -> None:
        """Use `send` for JSON-RPC objects; it raises `ConnectionError` when the device is gone.

        `incoming` answers the requests of the device.
        """
        self._timeouts = timeouts or McpTimeouts()
        self.on_notification = on_notification
        """Called with the method and the params of every notification."""
        self._rpc = Rpc(send, self._timeouts, self._notified, incoming)
        self._tasks = Tasks(self._rpc, self._timeouts)
        self.capabilities = Capabilities()
        """What the device has announced on this link."""

    @property
    def dropped(self) -> int:
        """Invalid messages from the device, including late answers."""
        return self._rpc.dropped

    def receive(self, payload: JsonObject) -> JsonObject | None:
        """Handle a JSON-RPC object from the device; return the reply unless it follows. Never raises."""
        return self._rpc.receive(payload)

    def _notified(self, method: str, params: JsonObject) -> None:
        self._tasks.notified(method, params)
        if self.on_notification is not None:
            self.on_notification(method, params)

    def close(self, reason: str) -> None:
        """Fail all calls, now and later, with `McpDisconnectedError`."""
        self._rpc.close(reason)

    async def initialize(self, *, client_name: str, client_version: str, offer: ClientOffer) -> ServerInfo:
        """Shake hands. Raises `McpError`.

        Tells the device where its photos go, which it forgets when it restarts. The first handshake with a
        device is that of stock firmware; with a device that turns out to be more, it is repeated in the
        latest version.
        """
        info = await self._initialize(offer.params(client_name, client_version))
        if self.capabilities.extended and not offer.latest:
            latest = replace(offer, extended=True)
            try:
                info = await self._initialize(latest.params(client_name, client_version))
            except McpDisconnectedError:
                raise
            except McpError as err:
                _LOGGER.debug("The handshake could not be repeated: %s", err)
        return info

    async def _initialize(self, params: JsonObject) -> ServerInfo:
        result = await self._rpc.request("initialize", params, self._timeouts.initialize)
        await self._rpc.notify("notifications/initialized")
        self.capabilities = Capabilities.from_dict(result)
        self._rpc.cancels = self.capabilities.extended
        return ServerInfo.from_dict(result.get("serverInfo"))

    async def list_tools(self, *, with_user_tools: bool) -> tuple[Tool, ...]:
        """Fetch all pages of the tool list, in the device's order; `with_user_tools` since firmware 2.0.

        An error ends the list, unless it is the first page: with only hidden tools left, the firmware returns
        an error. Raises `McpError`.
        """
        params: JsonObject = {"withUserTools": True} if with_user_tools else {}
        collector = ListCollector("tools", Tool.from_dict, lambda tool: tool.name, MAX_TOOLS)
        return await self._list("tools/list", params, collector)

    async def list_resources(self) -> tuple[Resource, ...]:
        """Fetch the list of resources. Raises `McpError`."""
        collector = ListCollector("resources", Resource.from_dict, lambda item: item.uri, MAX_RESOURCES)
        return await self._list("resources/list", {}, collector)

    async def list_templates(self) -> tuple[ResourceTemplate, ...]:
        """Fetch the list of templates for resources. Raises `McpError`."""
        collector = ListCollector(
            "resourceTemplates", ResourceTemplate.from_dict, lambda item: item.uri_template, MAX_RESOURCES
        )
        return await self._list("resources/templates/list", {}, collector)

    async def list_prompts(self) -> tuple[Prompt, ...]:
        """Fetch the list of prompts. Raises `McpError`."""
        collector = ListCollector("prompts", Prompt.from_dict, lambda item: item.name, MAX_PROMPTS)
        return await self._list("prompts/list", {}, collector)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - progress extends it, which asyncio.timeout around this cannot
        restarts: bool = False,
        as_task: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool; `timeout` in seconds, by default `McpTimeouts.tool`.

        `restarts` says that the tool restarts the device or closes its channel: a call without an answer has
        then succeeded, with an empty result. With `as_task`, the device may answer with a task, which is then
        looked at until it ends. Raises `McpCallError` with the device's message when the tool fails,
        `McpTimeoutError`, `McpDisconnectedError` or `McpProtocolError`.
        """
        patience = self._timeouts.tool if timeout is None else timeout
        params: JsonObject = {"name": name, "arguments": dict(arguments or {})}
        if as_task and self.capabilities.tasks:
            params |= task_params(self._timeouts.progress)

        async def follow(reply: JsonObject) -> JsonObject:
            if not is_task(reply):
                return reply
            return await self._tasks.fetch_result(
                reply, cancels=self.capabilities.cancels_tasks, on_progress=on_progress
            )

        try:
            reply = await self._rpc.request(
                "tools/call", params, patience, progress=True, on_progress=on_progress, follow=follow
            )
        except McpNoAnswerError as err:
            if restarts and err.sent:
                return ToolResult()
            raise
        result = ToolResult.from_dict(reply)
        if result.is_error:
            raise refusal(result.reason)
        return result

    async def read_resource(self, uri: str) -> tuple[ResourceContents, ...]:
        """Read a resource. Raises `McpError`."""
        params = {"uri": uri}
        reply = await self._rpc.request("resources/read", params, self._timeouts.read, progress=True)
        return parse_contents(reply)

    async def subscribe(self, uri: str) -> None:
        """Have changes of a resource reported. Raises `McpError`."""
        await self._rpc.request("resources/subscribe", {"uri": uri}, self._timeouts.read)

    async def unsubscribe(self, uri: str) -> None:
        """End the reports of changes of a resource. Raises `McpError`."""
        await self._rpc.request("resources/unsubscribe", {"uri": uri}, self._timeouts.read)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> PromptResult:
        """Return a prompt with its arguments put in. Raises `McpError`."""
        params = {"name": name, "arguments": dict(arguments)}
        reply = await self._rpc.request("prompts/get", params, self._timeouts.read, progress=True)
        return PromptResult.from_dict(reply)

    async def complete(
        self, reference: JsonObject, argument: str, value: str, others: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the values that the device proposes for an argument that begins with `value`.

        `reference` names the prompt or the template; `others` are the values of its other arguments. Raises
        `McpError`.
        """
        params: JsonObject = {"ref": reference, "argument": {"name": argument, "value": value}}
        if others:
            params["context"] = {"arguments": dict(others)}
        reply = await self._rpc.request("completion/complete", params, self._timeouts.read)
        match reply:
            case {"completion": {"values": [*values]}}:
                texts = (one_line(text, _MAX_VALUE) for text in values[:_MAX_VALUES] if isinstance(text, str))
                return tuple(dict.fromkeys(texts))
        raise McpProtocolError("the completion has no values")

    async def set_log_level(self, level: str) -> None:
        """Have only log messages of this level and above sent. Raises `McpError`."""
        await self._rpc.request("logging/setLevel", {"level": level}, self._timeouts.read)

    async def _list[ItemT](
        self, method: str, params: JsonObject, collector: ListCollector[ItemT]
    ) -> tuple[ItemT, ...]:
        """Fetch all pages of a list. An error ends it, unless it is the first page."""
        cursor: str | None = None
        while True:
            page_params = params if cursor is None else params | {"cursor": cursor}
            try:
                page = await self._rpc.request(method, page_params, self._timeouts.list_tools)
                cursor = collector.add(page)
            except (McpCallError, McpProtocolError) as err:
                if cursor is None:
                    raise
                _LOGGER.debug("The answers to %s end with an error: %s", method, err)
                break
            if cursor is None:
                break
        if collector.excess:
            _LOGGER.warning(
                "A device's list of %s was cut at %d items: %s",
                method.removesuffix("/list").replace("/", " "),
                len(collector.items),
                collector.excess,
            )
        if collector.skipped:
            _LOGGER.debug("%d malformed, too large or repeated items were skipped", collector.skipped)
        return tuple(collector.items.values())
