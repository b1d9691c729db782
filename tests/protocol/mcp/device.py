"""A scripted device, the passing of time, and arbitrary JSON: what the tests of the MCP client share."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
import json
from typing import Any

from custom_components.xiaozhi.protocol.mcp.client import McpClient
from custom_components.xiaozhi.protocol.mcp.model import RequestHandler
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.any_json import any_json

type Script = Callable[[JsonObject], JsonObject | None]

DONE: JsonObject = {"result": {"content": [{"type": "text", "text": "true"}], "isError": False}}

JSON_VALUES = any_json()


class Device:
    """A device that answers each method as scripted, over JSON text; an unscripted method gets no answer."""

    def __init__(self, **scripts: Script) -> None:
        """Take the scripts: from params to `result` or `error`; `tools_list` for `tools/list`."""
        self.request_handlers: dict[str, RequestHandler] = {}
        self.client = McpClient(self)
        self.sent: list[JsonObject] = []
        self.notifications: list[tuple[str, JsonObject]] = []
        self.gone = False
        self._scripts = {name.replace("_", "/"): script for name, script in scripts.items()}

    def notified(self, method: str, params: JsonObject) -> None:
        self.notifications.append((method, params))

    def create_task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=what)

    async def send_payload(self, message: JsonObject) -> None:
        if self.gone:
            raise ConnectionResetError("the device hung up")
        message = json.loads(json.dumps(message))
        self.sent.append(message)
        script = self._scripts.get(message.get("method"))
        if script and (reply := script(message["params"])) is not None:
            self.answer(message["id"], reply)

    def answer(self, request_id: Any, reply: JsonObject) -> None:
        """Answer in the next pass of the loop."""
        payload = json.loads(json.dumps({"jsonrpc": "2.0", "id": request_id, **reply}))
        asyncio.get_running_loop().call_soon(self.client.receive, payload)

    async def begin(self, name: str = "self.lamp.turn_on", **options: Any) -> asyncio.Task[ToolResult]:
        """Call a tool in the background, until the call was sent."""
        task = asyncio.create_task(self.client.call_tool(name, **options))
        await asyncio.sleep(0)
        return task


async def advance(seconds: float) -> None:
    """Let time pass, and let the tasks whose timers are due end."""
    await asyncio.sleep(seconds)
    for _ in range(5):
        await asyncio.sleep(0)


def a_tool(name: str, **members: Any) -> JsonObject:
    """A tool as the firmware lists it."""
    return {
        "name": name,
        "description": "tool",
        "inputSchema": {"type": "object", "properties": {}},
        **members,
    }


def pages(*listed: JsonObject | Sequence[JsonObject]) -> Script:
    """List tools page by page, with the number of the next one as cursor; an object stands for an error."""

    def page(params: JsonObject) -> JsonObject:
        number = int(params.get("cursor", 0))
        if isinstance(answer := listed[number], dict):
            return {"error": answer}
        more = {"nextCursor": f"{number + 1}"} if number + 1 < len(listed) else {}
        return {"result": {"tools": answer, **more}}

    return page
