"""The XiaoZhi cloud: it speaks first, keeps pinging, and closes a connection with 4004 for any violation."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
import time
from typing import Any, Final, override
from urllib.parse import quote

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Response

from .answer import Answer
from .link import ABSENT, Json, Link, LinkClosedError
from .listener import Listener, OpeningFaults, respond
from .timing import Timing
from .tokens import YEAR, CloudKey, TokenError

PROTOCOL_VERSION: Final = "2024-11-05"
_MAX_RESULT_BYTES: Final = 8192
_INITIALIZE: Final[Json] = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {"sampling": {}, "roots": {"listChanged": False}},
    "clientInfo": {"name": "xz-mcp-broker", "version": "0.0.1"},
}


class _Rejected(Exception):  # noqa: N818 - not an error of the program: the cloud closes with 4004
    """The cloud does not like this."""


@dataclass(slots=True, kw_only=True)
class CloudFaults:
    """Faults and limits of the cloud; may be changed at any time. None means no limit."""

    silent: bool = False
    """Never send anything by itself: the test does it with the session's methods."""
    call_first: str | None = None
    """Call this tool without arguments before `initialize`."""
    initializations: int = 1
    """Send `initialize` so many times in a row."""
    protocol_version: str = PROTOCOL_VERSION
    """The version that `initialize` asks for."""
    max_tools: int | None = None
    """Close with 4004 after a longer list."""


class CloudSession(Link):
    """One connection of a tool side, seen from the cloud."""

    def __init__(self, cloud: Cloud, connection: ServerConnection, agent: int) -> None:
        super().__init__(connection)
        self.agent = agent
        self.tools: dict[str, Json] = {}
        """The listed tools by name."""
        self.server_info: Json = {}
        """The result of `initialize`."""
        self._cloud = cloud
        self._listed = asyncio.Event()

    async def ready(self) -> CloudSession:
        """Wait until the tools are listed. Raises `LinkClosedError` if the connection ends before."""
        await self.until(self._listed)
        return self

    async def initialize(self) -> None:
        """Ask to begin, as the cloud does first of all. What is not answered well ends with 4004."""
        params = _INITIALIZE | {"protocolVersion": self._cloud.faults.protocol_version}
        result = await self._ask("initialize", params)
        version, capabilities = result.get("protocolVersion"), result.get("capabilities")
        if not isinstance(version, str) or not isinstance(capabilities, dict) or "tools" not in capabilities:
            raise _Rejected("the reply to initialize")
        self.server_info = result
        await self.notify("notifications/initialized")

    async def list_tools(self) -> None:
        """Read the list of tools."""
        faults = self._cloud.faults
        result = await self._ask("tools/list", {})
        tools = result.get("tools")
        if not isinstance(tools, list) or not all(_is_tool(tool) for tool in tools):
            raise _Rejected("the list of tools")
        self.tools = {tool["name"]: tool for tool in tools}
        size = len(json.dumps(result, ensure_ascii=False).encode())
        if faults.max_tools is not None and len(tools) > faults.max_tools:
            raise _Rejected("too many tools")
        self._cloud.log(f"{len(tools)} tools in {size} bytes are listed")
        self._listed.set()

    async def call(
        self,
        name: str,
        arguments: object = ABSENT,
        *,
        request_id: object = ABSENT,
    ) -> Answer:
        """Call a tool and return what the model gets. Raises `LinkClosedError`.

        A result that is too long closes the connection.
        """
        loop = asyncio.get_running_loop()
        begin = loop.time()
        seconds = self._cloud.timing.call
        params: Json = {"name": name, "arguments": arguments, "serialNumber": None}
        if arguments is ABSENT:
            del params["arguments"]
        try:
            reply = await self.request("tools/call", params, request_id=request_id, seconds=seconds)
        except TimeoutError:
            error = f"Tool call was aborted due to timeout ({1000 * seconds:.0f}ms)"
            return Answer(text=json.dumps({"success": False, "error": error}), timed_out=True)
        answer = Answer(text=_text(reply), reply=reply, milliseconds=1000 * (loop.time() - begin))
        if len(answer.text.encode(errors="replace")) > _MAX_RESULT_BYTES:
            await self.reject("too long a result")
        return answer

    async def converse(self) -> None:
        """Do what the cloud does by itself: begin, read the tools, ping."""
        faults = self._cloud.faults
        try:
            if faults.call_first is not None:
                await self.call(faults.call_first, {})
            for _ in range(faults.initializations):
                await self.initialize()
            await self.list_tools()
            await self._keep_pinging()
        except (_Rejected, TimeoutError) as why:
            await self.reject(str(why) or "a request that was not answered")
        except LinkClosedError:
            pass

    async def _keep_pinging(self) -> None:
        while True:
            await asyncio.sleep(self._cloud.timing.ping)
            if self.frozen:
                return
            await self._ask("ping")

    async def reject(self, why: str) -> None:
        """Close with 4004, the cloud's only code for everything; the reason is for the log of this double."""
        if not self.frozen:
            self._cloud.log(f"closes with 4004: {why}")
        await self.close(4004, "Internal server error")

    async def _ask(self, method: str, params: object = ABSENT) -> Json:
        reply = await self.request(method, params, seconds=self._cloud.timing.answer)
        result = reply.get("result")
        if not isinstance(result, dict):
            raise _Rejected(f"the reply to {method}")
        return result


class CloudAgent:
    """An agent of the cloud's console: its tools are those of all its connections together."""

    def __init__(self, cloud: Cloud, number: int) -> None:
        self.number = number
        self._cloud = cloud

    @property
    def sessions(self) -> list[CloudSession]:
        """The open connections, the oldest first."""
        return [session for session in self._cloud.sessions if session.agent == self.number and session.open]

    @property
    def tools(self) -> dict[str, Json]:
        """The merged list; of two tools with one name, the newer connection's. The real rule is not known."""
        return {name: tool for session in self.sessions for name, tool in session.tools.items()}

    async def call(self, name: str, arguments: object) -> Answer:
        """Call a tool on the connection that has it. Raises `LinkClosedError` if there is none."""
        for session in reversed(self.sessions):
            if name in session.tools:
                return await session.call(name, arguments)
        raise LinkClosedError("no connection has this tool")


class Cloud(Listener):
    """The cloud's access points, on loopback. Tokens name agents by number."""

    def __init__(
        self,
        *,
        timing: Timing | None = None,
        faults: CloudFaults | None = None,
        opening: OpeningFaults | None = None,
        tls: str | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(timing=timing, faults=opening, tls=tls, port=port)
        self.faults = faults or CloudFaults()
        self.sessions: list[CloudSession] = []
        """All connections that were accepted, in their order, also those that have ended."""
        self._key = CloudKey()
        self._news = asyncio.Event()

    def token(self, agent: int = 1001, *, valid: float | None = YEAR, issued: float | None = None) -> str:
        """Mint a token; the older ones of the agent stay valid. See section 2 of the reference.

        `valid` is in seconds, may be negative for one that has expired, and None for one without `exp`.
        `issued` is the time of day.
        """
        begin = int(time.time() if issued is None else issued)
        payload: Json = {
            "userId": 5000 + agent,
            "agentId": agent,
            "endpointId": f"agent_{agent}",
            "purpose": "mcp-endpoint",
            "iat": begin,
        }
        return self._key.sign(payload if valid is None else payload | {"exp": begin + int(valid)})

    def url(self, token: str | None = None) -> str:
        """Return the address with a token, or with a new one of agent 1001."""
        return f"{self.origin}/mcp/?token={quote(self.token() if token is None else token, safe='')}"

    def agent(self, number: int = 1001) -> CloudAgent:
        """Return an agent."""
        return CloudAgent(self, number)

    async def session(self, number: int = 1) -> CloudSession:
        """Wait for the connection of this number, counting from 1."""
        while len(self.sessions) < number:
            self._news.clear()
            await self._news.wait()
        return self.sessions[number - 1]

    @override
    def _refusal(self, connection: ServerConnection, path: str, token: str) -> Response | None:
        if path != "/mcp/":
            return respond(connection, 404)
        try:
            payload = self._key.read(token)
        except TokenError:
            return respond(connection, 401)
        expired = "exp" in payload and payload["exp"] < time.time()
        return respond(connection, 401) if expired else None

    @override
    async def _serve(self, connection: ServerConnection, path: str, token: str) -> None:
        session = CloudSession(self, connection, self._key.read(token)["agentId"])
        self.sessions.append(session)
        self._news.set()
        self.log(f"connection {len(self.sessions)} of agent {session.agent} is open")
        async with _ending(connection, [] if self.faults.silent else [session.converse()]):
            await session.run()
        await connection.wait_closed()
        self.log(f"connection of agent {session.agent} ended with {session.close_code}")


@asynccontextmanager
async def _ending(
    connection: ServerConnection, works: Iterable[Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Run these meanwhile; the connection does not survive a bug in one."""

    def check(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            connection.transport.abort()

    tasks = [asyncio.ensure_future(work) for work in works]
    for task in tasks:
        task.add_done_callback(check)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


def _is_tool(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str) and "inputSchema" in tool


def _text(reply: Json) -> str:
    """Return what the model reads of a reply; an error's form for it is not known."""
    match reply:
        case {"result": {"content": [{"type": "text", "text": str(text)}, *_]}}:
            return text
        case {"error": error}:
            return json.dumps({"success": False, "error": error}, ensure_ascii=False)
    return json.dumps(reply.get("result"), ensure_ascii=False)
