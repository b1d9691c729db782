"""A self-hosted `mcp-endpoint-server`: it relays between agents and one tool side each, with its bugs.

As measured with version 0.0.6; see section 10 of the reference.
"""

import asyncio
from collections.abc import Callable
import json
from typing import Any, Final, override
from uuid import uuid4

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response

from .link import Json
from .listener import Listener, OpeningFaults, respond
from .timing import Timing
from .tokens import EndpointKey, TokenError

TOOL_PATH: Final = "/mcp_endpoint/mcp/"
CALL_PATH: Final = "/mcp_endpoint/call/"
_NOT_CONNECTED, _FORWARD_FAILED = -32001, -32002


class EndpointServer(Listener):
    """The relay on loopback. It sends nothing by itself but WebSocket pings.

    It has the bugs of the real server: when a second tool side replaces the first, the clean-up of the first
    unregisters the second; while the close frame to a replaced tool side is not answered, nothing is
    forwarded for any agent; and after a binary frame, a tool side stays open but is neither heard nor called.
    """

    _compression = "deflate"
    _keepalive = True

    def __init__(
        self,
        *,
        key: str = "a key of 17 bytes",
        timing: Timing | None = None,
        opening: OpeningFaults | None = None,
        tls: str | None = None,
        port: int = 0,
    ) -> None:
        """Take the server's key, from which it makes tokens, and what a test may want otherwise."""
        super().__init__(timing=timing, faults=opening, tls=tls, port=port)
        self.key = EndpointKey(key)
        self.tool_sides: dict[str, ServerConnection] = {}
        """The registered tool side of each agent, by the agent's id in the token."""
        self._agents: dict[str, ServerConnection] = {}
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()

    def url(self, agent: str = "living room") -> str:
        """Return the address of an agent's tool side."""
        return f"{self.origin}{TOOL_PATH}?token={self.key.token(agent)}"

    async def wait_registered(
        self, registered: Callable[[dict[str, ServerConnection]], object] = bool
    ) -> None:
        """Wait until the registered tool sides are so; without a condition, until there is one."""
        while not registered(self.tool_sides):
            self._news.clear()
            await self._news.wait()

    @override
    def _refusal(self, connection: ServerConnection, path: str, token: str) -> Response | None:
        return None if path in {TOOL_PATH, CALL_PATH} else respond(connection, 403)

    @override
    async def _serve(self, connection: ServerConnection, path: str, token: str) -> None:
        reason, agent = self._judge(token)
        if reason:
            await connection.close(1008, reason)
        elif path == TOOL_PATH:
            await self._serve_tool_side(connection, agent)
        else:
            await self._serve_agent(connection, agent)
        await connection.wait_closed()

    def _judge(self, token: str) -> tuple[str, str]:
        """Return why a token is refused, and the agent."""
        if not token:
            return "缺少token参数", ""
        try:
            content = json.loads(self.key.decrypt(token))
        except TokenError:
            return "token解密失败", ""
        except ValueError:
            return "token数据格式错误", ""
        agent = content.get("agentId") if isinstance(content, dict) else None
        return ("", agent) if isinstance(agent, str) and agent else ("无对应agentId", "")

    async def _serve_tool_side(self, connection: ServerConnection, agent: str) -> None:
        await self._register(connection, agent)
        try:
            while True:
                frame = await connection.recv()
                if isinstance(frame, bytes):
                    break
                await self._pass_to_agent(frame)
        except ConnectionClosed:
            pass
        finally:
            async with self._lock:
                self.tool_sides.pop(agent, None)
                self._news.set()
        self.log("a tool side is no longer registered")

    async def _register(self, connection: ServerConnection, agent: str) -> None:
        async with self._lock:
            if (old := self.tool_sides.get(agent)) is not None:
                self.log("a second tool side replaces the first")
                await old.close(1000, "新连接替换")
            self.tool_sides[agent] = connection
            self._news.set()
        self.log("a tool side is registered")

    async def _serve_agent(self, connection: ServerConnection, agent: str) -> None:
        name = str(uuid4())
        self._agents[name] = connection
        try:
            while isinstance(frame := await connection.recv(), str):
                await self._pass_to_tool_side(frame, name, agent)
        finally:
            del self._agents[name]

    async def _pass_to_tool_side(self, frame: str, name: str, agent: str) -> None:
        request_id, text = _translated(frame, name)
        async with self._lock:
            side = self.tool_sides.get(agent)
            if side is None:
                error: Json | None = {
                    "code": _NOT_CONNECTED,
                    "message": "工具端未连接",
                    "data": {"agent": agent},
                }
            else:
                try:
                    await side.send(text)
                    error = None
                except ConnectionClosed:
                    del self.tool_sides[agent]
                    error = {"code": _FORWARD_FAILED, "message": "转发失败", "data": {"agent": agent}}
        if error is not None:
            reply = {"jsonrpc": "2.0", "id": request_id, "result": None, "error": error}
            await self._agents[name].send(json.dumps(reply, ensure_ascii=False))

    async def _pass_to_agent(self, frame: str) -> None:
        """Pass on a reply; what has no translated id is dropped."""
        try:
            message = json.loads(frame)
        except ValueError:
            return
        request_id = message.get("id") if isinstance(message, dict) else None
        if not isinstance(request_id, str) or request_id.count("_") < 2:
            return
        name, kind, rest = request_id.split("_", 2)
        message["id"] = _restored(kind, rest)
        async with self._lock:
            if (agent := self._agents.get(name)) is not None:
                try:
                    await agent.send(json.dumps(message, ensure_ascii=False))
                except ConnectionClosed:
                    self._agents.pop(name, None)


def _translated(frame: str, name: str) -> tuple[Any, str]:
    """Return the id of a message and the text with the id of the relay; ids that count as false stay."""
    try:
        message = json.loads(frame)
    except ValueError:
        return None, frame
    if not isinstance(message, dict) or not (request_id := message.get("id")):
        return message.get("id") if isinstance(message, dict) else None, frame
    kind = "n" if isinstance(request_id, int) else "s"
    return request_id, json.dumps(message | {"id": f"{name}_{kind}_{request_id}"}, ensure_ascii=False)


def _restored(kind: str, rest: str) -> str | int | None:
    if kind == "n":
        try:
            return int(rest)
        except ValueError:
            return rest
    return None if rest == "null" else rest
