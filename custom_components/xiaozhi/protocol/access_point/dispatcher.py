"""Answers the requests of an access point.

Nothing is remembered between two requests: through a mcp-endpoint-server, several assistants share one
connection, each begins with its own `initialize`, and after a reconnect a call may come without any.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
import logging
from typing import Any, Final, Protocol

from ...util.event_loop import loop_time
from ...util.limits import TokenBucket
from ...util.text import label, one_line
from ..json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Fault,
    Request,
    error_reply,
    read_request,
    result_reply,
)
from ..mcp.model import STOCK_VERSION, VERSIONS
from ..messages import JsonObject, encode
from ..timeouts import AccessPointTimeouts
from .tools import OfferedTool, ToolError, ToolList, by_shown_name, error_text, result_content, result_text

_LOGGER = logging.getLogger(__name__)

MAX_CALLS_AT_ONCE: Final = 8
_CALLS_A_MINUTE: Final = 60
# Reading the state of 10,000 entities takes a third of a second.
_READINGS_A_MINUTE: Final = 20
_MAX_TEXT: Final = 2000
_MAX_NAME: Final = 100

_BUSY: Final = f"More than {MAX_CALLS_AT_ONCE} tools are running at once. Call this one again in a moment."
_TOO_OFTEN: Final = f"More than {_CALLS_A_MINUTE} calls a minute are not allowed. Wait a minute."
_READ_TOO_OFTEN: Final = f"More than {_READINGS_A_MINUTE} questions a minute are not answered. Wait a minute."
_TEXT_TOO_LONG: Final = f"A text of the arguments has more than {_MAX_TEXT} characters. Shorten it."
_STILL_WORKING: Final = "The action has been started and is still running. Do not start it again."
_TOO_LONG: Final = "The action took too long and was stopped."
_INTERNAL: Final = "The tool failed. The log of Home Assistant says why."
_NO_LIST: Final = "The list of tools is not ready. Ask again in a moment."


class CallOutcome(StrEnum):
    """How a call ended, as reported to the other side."""

    DONE = "done"
    FAILED = "failed"
    RUNNING = "running"
    """It took longer than the other side waits."""
    REFUSED = "refused"
    """It was not run: no such tool, or too many calls."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that has been answered."""

    tool: str
    """Name, as the owner knows it."""
    outcome: CallOutcome
    milliseconds: int


class AccessPointOwner(Protocol):
    """The owner of an access point, which offers the tools."""

    async def tools(self) -> Sequence[OfferedTool]:
        """Return the tools of this moment."""

    def changed(self) -> None:
        """The connection has come, has ended or was refused, or the list of tools was sent."""

    def called(self, record: CallRecord) -> None:
        """A call was answered."""


class Dispatcher:
    """Answers messages by calling tools. It outlives connections, since actions and limits do."""

    def __init__(self, owner: AccessPointOwner, *, version: str) -> None:
        """`version` is ours, for the other side."""
        self.requests = 0
        self.client_name: str | None = None
        """Name and version of the other side."""
        self.protocol_version: str | None = None
        self.current: ToolList | None = None
        """The list that was made last."""
        self.listed: ToolList | None = None
        """The list that was sent last."""
        self.listed_at: float | None = None
        """Loop time at which it was sent."""
        self.last_call: float | None = None
        """When the last call began or was refused."""
        self._owner = owner
        self._version = version
        self._calls: set[asyncio.Task[Any]] = set()
        self._rate = TokenBucket(rate=_CALLS_A_MINUTE / 60, burst=_CALLS_A_MINUTE)
        self._readings = TokenBucket(rate=_READINGS_A_MINUTE / 60, burst=_READINGS_A_MINUTE)
        self._one_list = asyncio.Lock()
        self._changes = 0
        """Counts `forget`: results that were begun before are not kept."""
        self._kept: Sequence[OfferedTool] | None = None
        self._kept_until = 0.0
        self._described: Sequence[OfferedTool] | None = None
        """The tools of `current`."""

    @property
    def running(self) -> int:
        """Number of actions that are running."""
        return len(self._calls)

    async def close(self) -> None:
        """Cancel the running actions."""
        calls = tuple(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def forget(self) -> None:
        """Forget the kept tools after a change in the house."""
        self._changes += 1
        self._kept = None

    async def list_tools(self) -> ToolList:
        """Return the list of this moment. Raises `TimeoutError`, and errors of the owner."""
        # Describing the arguments of thirty tools takes tens of milliseconds. One at a time, so that many
        # requests do not take all threads.
        async with asyncio.timeout(AccessPointTimeouts.listing), self._one_list:
            tools = await self._tools()
            if self.current is None or self._described is not tools:
                self.current = await asyncio.get_running_loop().run_in_executor(None, ToolList.of, tools)
                self._described = tools
            return self.current

    async def _tools(self) -> Sequence[OfferedTool]:
        """Return the tools of this moment, which are kept for a moment.

        Making them takes a sixth of a second in a house of 10,000 entities.
        """
        if self._kept is not None and loop_time() < self._kept_until:
            return self._kept
        changes = self._changes
        tools = await self._owner.tools()
        if self._changes == changes:
            self._kept, self._kept_until = tools, loop_time() + AccessPointTimeouts.kept
        return tools

    async def answer(self, data: bytes) -> str | None:
        """Return the reply to a message; None if it gets none. Never raises."""
        match read_request(data):
            case None:
                return None
            case Fault() as fault:
                return encode(error_reply(fault))
            case Request() as request:
                self.requests += 1
                return await self._reply(request)

    async def _reply(self, request: Request) -> str:
        match request.method:
            case "initialize":
                result: JsonObject | Fault = self._initialize(request.params)
            case "ping":
                result = {}
            case "tools/list":
                result = await self._list_tools()
            case "tools/call":
                result = await self._call_tool(request.params)
            case _:
                result = Fault(METHOD_NOT_FOUND, "This method is not known.")
        if isinstance(result, Fault):
            return encode(error_reply(Fault(result.code, result.message, request.id)))
        return encode(result_reply(request.id, result))

    def _initialize(self, params: JsonObject) -> JsonObject:
        info = params.get("clientInfo")
        self.client_name = label(info.get("name")) if isinstance(info, dict) else None
        asked = params.get("protocolVersion")
        known = isinstance(asked, str) and asked in VERSIONS
        self.protocol_version = str(asked) if known else STOCK_VERSION
        return {
            "protocolVersion": self.protocol_version,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "Home Assistant", "version": self._version},
        }

    async def _list_tools(self) -> JsonObject | Fault:
        try:
            tools = await self.list_tools()
        except TimeoutError:
            return Fault(INTERNAL_ERROR, _NO_LIST)
        except Exception:
            _LOGGER.exception("Unexpected error while listing tools for an access point")
            return Fault(INTERNAL_ERROR, _NO_LIST)
        self.listed, self.listed_at = tools, loop_time()
        return {"tools": list(tools.tools)}

    async def _call_tool(self, params: JsonObject) -> JsonObject | Fault:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Fault(INVALID_PARAMS, "The name of a tool is missing, or its arguments are no object.")
        began = self.last_call = loop_time()
        if not self._rate.take(began):
            # Not reported: there may be any number of them.
            return result_content(error_text(_TOO_OFTEN))
        tool, outcome, answer = await self._run(name, arguments)
        self._owner.called(CallRecord(tool, outcome, round((loop_time() - began) * 1000)))
        return answer if isinstance(answer, Fault) else result_content(answer)

    async def _run(self, name: str, arguments: JsonObject) -> tuple[str, CallOutcome, str | Fault]:
        """Run a call, and wait for its end as long as the other side does.

        Returns the tool's own name, how the call ended, and what is answered.
        """
        shown = one_line(name, _MAX_NAME)
        if self.running >= MAX_CALLS_AT_ONCE:
            return shown, CallOutcome.REFUSED, error_text(_BUSY)
        if _longest_text(arguments) > _MAX_TEXT:
            return shown, CallOutcome.REFUSED, error_text(_TEXT_TOO_LONG)
        action = asyncio.create_task(self._act(name, arguments), name="xiaozhi access point call")
        self._calls.add(action)
        action.add_done_callback(self._calls.discard)
        await asyncio.wait({action}, timeout=AccessPointTimeouts.call)
        return action.result() if action.done() else (shown, CallOutcome.RUNNING, error_text(_STILL_WORKING))

    async def _act(self, name: str, arguments: JsonObject) -> tuple[str, CallOutcome, str | Fault]:
        """Call a tool; return as `_run`. Never raises."""
        own_name = one_line(name, _MAX_NAME)
        try:
            async with asyncio.timeout(AccessPointTimeouts.finish):
                tool = by_shown_name(await self._tools()).get(name)
                if tool is None:
                    return own_name, CallOutcome.REFUSED, Fault(INVALID_PARAMS, "There is no such tool.")
                own_name = tool.name
                if tool.changes_nothing and not self._readings.take(loop_time()):
                    return own_name, CallOutcome.FAILED, error_text(_READ_TOO_OFTEN)
                return own_name, CallOutcome.DONE, result_text(await tool.call(arguments))
        except ToolError as err:
            return own_name, CallOutcome.FAILED, error_text(str(err))
        except TimeoutError:
            return own_name, CallOutcome.FAILED, error_text(_TOO_LONG)
        except Exception:
            _LOGGER.exception("Unexpected error of the tool %s", own_name)
            return own_name, CallOutcome.FAILED, error_text(_INTERNAL)


def _longest_text(value: object) -> int:
    """Return the length of the longest text in arguments, whose depth is bounded."""
    match value:
        case str():
            return len(value)
        case dict():
            return max(map(_longest_text, (*value, *value.values())), default=0)
        case list():
            return max(map(_longest_text, value), default=0)
    return 0
