"""An MCP server that offers everything that MCP has until 2025-11-25, beside the tools of the stock firmware.

No stock firmware is like this; firmware of one's own, and programs behind a link, may be.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..board.cjson import JsonObject
from ..board.picture import jpeg
from ..board.tools import Tool
from .mcp_server import ProgramFactory
from .mcp_tasks import Refusal, Tasks

__all__ = ["full_mcp"]

_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_CAPABILITIES: Final[JsonObject] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
_TASKS: Final[JsonObject] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
_TOOLS: Final = (
    Tool(name="demo.count", description="Counts to three, and reports its progress"),
    Tool(name="demo.warm_up", description="Makes the room warmer by a degree"),
    Tool(name="demo.ask_ai", description="Asks the language model of the house for a joke"),
    Tool(name="demo.ask_what_is_seen", description="Asks the language model of the house about a picture"),
    Tool(name="demo.bake", description="Bakes bread, which takes six seconds", task_support="optional"),
    Tool(name="demo.dry", description="Dries clothes, as a task only", task_support="required"),
    Tool(name="demo.ask_person", description="Asks a person how warm it should be"),
)
_TEMPERATURE: Final = "room://temperature"
_WINDOW: Final = "room://window"
_VIEW: Final = "room://view"
_HISTORY: Final = "room://history/{day}"
_DAYS: Final = ("friday", "monday", "saturday", "sunday", "thursday", "tuesday", "wednesday")
_RESOURCES: Final = (
    (_TEMPERATURE, "Room temperature", "text/plain"),
    (_WINDOW, "Window open", "application/json"),
    (_VIEW, "View", "image/jpeg"),
)
_COUNT_SECONDS: Final = 1.0
_BAKE_SECONDS: Final = 6.0
_NO_METHOD: Final = -32601


def full_mcp() -> ProgramFactory:
    """Return what makes such a server."""
    return _FullMcp


class _FullMcp:
    """The server, without I/O except by `send`."""

    def __init__(self, send: Callable[[JsonObject], None]) -> None:
        self.tools = list(_TOOLS)
        self._send = send
        self._temperature = 21.5
        self._subscribed: set[str] = set()
        self._level = 0
        self._last_id = 0
        self._asked: dict[int, asyncio.Future[JsonObject]] = {}
        self._calls: asyncio.Queue[JsonObject] = asyncio.Queue()
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._tasks = Tasks(self._notify)
        self._has_tasks = False
        self._answers: dict[str, Callable[[JsonObject], JsonObject]] = {
            "initialize": self._initialize,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
            "tasks/get": self._tasks.get,
            "tasks/list": self._tasks.list,
            "tasks/cancel": self._tasks.cancel,
            "ping": lambda _: {},
        }

    def handle(self, message: JsonObject) -> bool:
        """Handle a message; return whether the stock server is not to see it."""
        params, method = message.get("params"), message.get("method")
        params = params if isinstance(params, dict) else {}
        if "method" not in message:
            if (future := self._asked.pop(message.get("id", 0), None)) and not future.done():
                future.set_result(message)
            return True
        if method == "notifications/cancelled":
            if task := self._running.get(params.get("requestId")):
                task.cancel()
            return True
        is_call = method == "tools/call" and params.get("name") in {tool.name for tool in self.tools}
        if is_call or method == "tasks/result":
            self._calls.put_nowait(message)
            return True
        if (answer := self._answers.get(str(method))) is None:
            return False
        reply: JsonObject = {"jsonrpc": "2.0", "id": message.get("id")}
        try:
            self._send(reply | {"result": answer(params)})
        except Refusal as refusal:
            self._send(reply | {"error": refusal.error})
        return True

    async def run(self) -> None:
        """Run the calls of its own tools, each in a task of its own."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    message = await self._calls.get()
                    call = tasks.create_task(self._serve(message))
                    self._running[message["id"]] = call
                    call.add_done_callback(partial(self._ended, message["id"]))
        finally:
            self._tasks.end()

    def _ended(self, request_id: Any, call: asyncio.Task[None]) -> None:
        del self._running[request_id]

    async def _serve(self, message: JsonObject) -> None:
        params = message["params"]
        reply: JsonObject = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if message["method"] == "tasks/result":
                reply["result"] = await self._tasks.result(params)
            elif self._as_task(params):
                reply["result"] = self._tasks.create(params["task"], self._call(params))
            else:
                reply["result"] = await self._call(params)
        except Refusal as refusal:
            reply["error"] = refusal.error
        self._send(reply)

    def _as_task(self, params: JsonObject) -> bool:
        """Return whether a call is one of a task. Raises `Refusal` if it must be, or must not."""
        support = next(tool.task_support for tool in self.tools if tool.name == params["name"])
        wanted = self._has_tasks and isinstance(params.get("task"), dict)
        if self._has_tasks and support == ("required" if not wanted else None):
            raise Refusal(_NO_METHOD, f"As a task: {support or 'forbidden'}")
        return wanted

    async def _call(self, params: JsonObject) -> JsonObject:
        token = params.get("_meta", {}).get("progressToken")
        match params["name"]:
            case "demo.count":
                for number in range(1, 4):
                    await asyncio.sleep(_COUNT_SECONDS)
                    if token is not None:
                        self._notify("progress", progressToken=token, progress=number, total=3)
                text = "three"
            case "demo.bake" | "demo.dry" as name:
                for number in range(1, 4):
                    await asyncio.sleep(_BAKE_SECONDS / 3)
                    if token is not None and "task" in params:
                        self._notify("progress", progressToken=token, progress=number, total=3)
                text = "baked" if name == "demo.bake" else "dry"
            case "demo.warm_up":
                self._temperature += 1
                self._log("info", f"It is {self._temperature} degrees now")
                if _TEMPERATURE in self._subscribed:
                    self._notify("resources/updated", uri=_TEMPERATURE)
                text = "true"
            case "demo.ask_ai":
                text = await self._ask_ai({"type": "text", "text": "Tell a joke"})
            case "demo.ask_what_is_seen":
                data = b64encode(jpeg(64, 48)).decode()
                picture = {"type": "image", "data": data, "mimeType": "image/jpeg"}
                text = await self._ask_ai([{"type": "text", "text": "What is this?"}, picture])
            case _:
                field = {"type": "integer", "title": "Degrees", "minimum": 15, "maximum": 25}
                schema = {"type": "object", "properties": {"degrees": field}, "required": ["degrees"]}
                text = await self._ask(
                    "elicitation/create",
                    {"message": "How warm should it be?", "requestedSchema": schema},
                )
        return {"content": [{"type": "text", "text": text}], "isError": False}

    async def _ask_ai(self, content: Any) -> str:
        params = {"messages": [{"role": "user", "content": content}], "maxTokens": 60}
        return await self._ask("sampling/createMessage", params)

    async def _ask(self, method: str, params: JsonObject) -> str:
        """Ask the client, and return a text for its answer or its refusal."""
        self._last_id += 1
        future = self._asked[self._last_id] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        match await future:
            case {"result": {"content": {"text": str(text)}}}:
                return text
            case {"result": {"action": str(action), **more}}:
                return f"{action} {more.get('content', '')}".strip()
            case {"error": {"message": str(reason)}}:
                return f"refused: {reason}"
        return "no answer"

    def _notify(self, what: str, **params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params})

    def _log(self, level: str, data: Any) -> None:
        if _LEVELS.index(level) >= self._level:
            self._notify("message", level=level, logger="room", data=data)

    def _initialize(self, params: JsonObject) -> JsonObject:
        asked = params.get("protocolVersion")
        version = asked if asked in _VERSIONS else _VERSIONS[-1]
        self._has_tasks = version == _VERSIONS[-1]
        return {
            "protocolVersion": version,
            "capabilities": _CAPABILITIES | ({"tasks": _TASKS} if self._has_tasks else {}),
            "serverInfo": {"name": "full", "version": "2.4.2"},
        }

    @staticmethod
    def _list_resources(params: JsonObject) -> JsonObject:
        """Give a resource a page."""
        number = int(params.get("cursor") or 0)
        uri, title, kind = _RESOURCES[number]
        more = {"nextCursor": str(number + 1)} if number + 1 < len(_RESOURCES) else {}
        name = uri.removeprefix("room://")
        return {"resources": [{"uri": uri, "name": name, "title": title, "mimeType": kind}]} | more

    @staticmethod
    def _list_templates(params: JsonObject) -> JsonObject:
        return {"resourceTemplates": [{"uriTemplate": _HISTORY, "name": "history", "title": "History"}]}

    def _read(self, params: JsonObject) -> JsonObject:
        content: JsonObject
        match params.get("uri"):
            case "room://temperature":
                content = {"mimeType": "text/plain", "text": str(self._temperature)}
            case "room://window":
                content = {"mimeType": "application/json", "text": "false"}
            case "room://view":
                content = {"mimeType": "image/jpeg", "blob": b64encode(jpeg(64, 48)).decode()}
            case str(uri) if uri.removeprefix("room://history/") in _DAYS:
                content = {"mimeType": "text/plain", "text": "20 degrees"}
            case _:
                raise Refusal(-32002, "Resource not found")
        return {"contents": [{"uri": params["uri"], **content}]}

    def _subscribe(self, params: JsonObject) -> JsonObject:
        self._subscribed.add(params.get("uri", ""))
        return {}

    def _unsubscribe(self, params: JsonObject) -> JsonObject:
        self._subscribed.discard(params.get("uri", ""))
        return {}

    @staticmethod
    def _list_prompts(params: JsonObject) -> JsonObject:
        arguments = [{"name": "day", "description": "Which day", "required": True}]
        return {"prompts": [{"name": "weather", "title": "Weather", "arguments": arguments}]}

    @staticmethod
    def _get_prompt(params: JsonObject) -> JsonObject:
        day = (params.get("arguments") or {}).get("day")
        if params.get("name") != "weather" or day is None:
            raise Refusal(-32602, "No such prompt, or no day")
        content = {"type": "text", "text": f"How was the weather on {day}?"}
        return {"description": "Weather", "messages": [{"role": "user", "content": content}]}

    @staticmethod
    def _complete(params: JsonObject) -> JsonObject:
        begin = (params.get("argument") or {}).get("value", "")
        values = [day for day in _DAYS if day.startswith(begin)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    def _set_level(self, params: JsonObject) -> JsonObject:
        if params.get("level") not in _LEVELS:
            raise Refusal(-32602, "No such level")
        self._level = _LEVELS.index(params["level"])
        return {}
