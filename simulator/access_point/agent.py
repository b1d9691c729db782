"""A self-hosted agent (`xiaozhi-esp32-server`) behind the relay; see section 10 of the reference."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import json
import re
from typing import Any, Final, Self

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection

from .answer import Answer
from .endpoint import CALL_PATH, TOOL_PATH
from .link import ABSENT, Json, Link
from .timing import Timing

_INITIALIZE: Final[Json] = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
    "clientInfo": {"name": "XiaozhiMCPEndpointClient", "version": "1.0.0"},
}
_APOLOGY = "抱歉，工具调用超时了"


class SelfHostedAgent(Link):
    """One session of a device: it reads the tools once, and never connects again."""

    _relayed = True

    def __init__(self, connection: Connection, timing: Timing) -> None:
        super().__init__(connection)
        self.tools: dict[str, Json] = {}
        """The tools by the names that the model sees."""
        self.server_info: Json = {}
        self._timing = timing
        self._names: dict[str, str] = {}
        self._calls = 0
        self._listed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def connected(cls, url: str, timing: Timing | None = None) -> AsyncIterator[Self]:
        """Begin a session with the address of the tool side."""
        async with connect(url.replace(TOOL_PATH, CALL_PATH), proxy=None) as connection:
            agent = cls(connection, timing or Timing())
            tasks = [asyncio.create_task(work) for work in (agent.run(), agent.begin())]
            try:
                yield agent
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def begin(self) -> None:
        """Send the first three messages without waiting for a reply, and read the list of tools."""
        first = asyncio.ensure_future(self.request("initialize", _INITIALIZE, request_id=1))
        await asyncio.sleep(0)
        await self.notify("notifications/initialized")
        raw: list[Json] = []
        params: object = ABSENT
        while params is not None:
            result = (await self.request("tools/list", params, request_id=2)).get("result") or {}
            raw += result.get("tools", [])
            cursor = result.get("nextCursor")
            params = {"cursor": cursor} if cursor else None
        self.server_info = (await first).get("result") or {}
        self._names = {sanitized(tool["name"]): tool["name"] for tool in raw}
        for tool in raw:
            text = str(tool.get("description", ""))
            for name in self._names.values():
                text = text.replace(name, sanitized(name))
            self.tools[sanitized(tool["name"])] = tool | {
                "name": sanitized(tool["name"]),
                "description": text,
            }
        self._listed.set()

    async def ready(self) -> Self:
        """Wait until the tools are read, which may be none. Raises `LinkClosedError`."""
        await self.until(self._listed)
        return self

    async def call(self, name: str, arguments: object) -> Answer:
        """Call a tool as the model names it; ids count from 1 again. Raises `LinkClosedError`."""
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self._calls += 1
        params = {"name": self._names.get(name, name), "arguments": arguments}
        try:
            reply = await self.request(
                "tools/call", params, request_id=self._calls, seconds=self._timing.agent_call
            )
        except TimeoutError:
            return Answer(text=_APOLOGY, spoken=True, timed_out=True)
        text, spoken = _heard(reply)
        return Answer(text=text, spoken=spoken, reply=reply, milliseconds=1000 * (loop.time() - begin))


def sanitized(name: str) -> str:
    """Return the name that the model sees."""
    return re.sub(r"[^A-Za-z0-9_\-\u4e00-\u9fff]", "_", name)


def _heard(reply: Json) -> tuple[str, bool]:
    """Return what is made of a reply, and whether it is spoken without the model."""
    if error := reply.get("error"):
        return f"工具调用出错: {error.get('message') if isinstance(error, dict) else error}", True
    result: Any = reply.get("result")
    if isinstance(result, dict) and result.get("isError"):
        error = result.get("error")
        return (error if isinstance(error, str) else "no details given"), True
    match result:
        case {"content": [{"text": str(text)}, *_]}:
            return _acted(text)
    return json.dumps(result, ensure_ascii=False), False


def _acted(text: str) -> tuple[str, bool]:
    """A JSON object with the key `action` is taken for a command of the agent itself, which fails."""
    try:
        content = json.loads(text)
    except ValueError:
        return text, False
    if isinstance(content, dict) and "action" in content:
        return f"ValueError: {content['action']!r} is not a valid Action", True
    return text, False
