"""A server made with the official SDK that offers everything, and what it has seen of its client.

As the MCP server of a simulated device, on any link.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
import json
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
import mcp_types as types

type Context = ServerRequestContext[Any]
type Send = Callable[[dict[str, Any]], None]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEMPERATURE = "sensor://room/temperature"
WINDOW = "sensor://room/window"
AIR = "sensor://room/air"
DOOR = "picture://door"
SECRET = "file:///etc/passwd"
_QUESTION = types.CreateMessageRequestParams(
    messages=[
        types.SamplingMessage(role="user", content=types.TextContent(text="Is it raining?")),
        types.SamplingMessage(role="assistant", content=types.TextContent(text="Where?")),
        types.SamplingMessage(role="user", content=types.TextContent(text="In the garden.")),
    ],
    system_prompt="Answer with one word.",
    max_tokens=50,
)
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 1, "maximum": 120},
        "cold": {"type": "boolean", "default": True},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "size": {"type": "number", "minimum": 0},
        "mail": {"type": "string", "title": "Name", "description": "Where to"},
    },
    "required": ["name", "age"],
}
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class FullServer:
    """The server, its contents, and what it has seen."""

    def __init__(self) -> None:
        self.texts = {
            TEMPERATURE: "21.5",
            WINDOW: "true",
            AIR: '{"co2": 600, "humidity": 40.5}',
            SECRET: "root:x:0:0",
        }
        self.subscribed: list[str] = []
        self.unsubscribed: list[str] = []
        self.refused: dict[str, int] = {}
        """Resources that cannot be subscribed to."""
        self.offer: types.InitializeRequestParams | None = None
        """What the client has announced."""
        self.server: Server[Any] = self._make()

    @property
    def options(self) -> InitializationOptions:
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return self.server.create_initialization_options(changes)

    def _make(self) -> Server[Any]:
        server: Server[Any] = Server(
            "full",
            version="9.9",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        server.middleware.append(self._watch)
        return server

    async def _watch(self, ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
        result = await call_next(ctx)
        if ctx.method == "initialize":
            self.offer = types.InitializeRequestParams.model_validate(ctx.params)
        return result

    @staticmethod
    async def _list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        names = ("count", "count_fast", "ask_ai", "ask_person", "warm_up")
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=_SCHEMA) for name in names])

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        act = getattr(self, f"_{params.name}", None)
        if act is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {params.name}")
        told = await act(ctx)
        return types.CallToolResult(content=[types.TextContent(text=json.dumps(told))])

    @staticmethod
    async def _count(ctx: Context) -> Any:
        """Take 24 s in all, with progress every 8 s."""
        for number in range(1, 4):
            await asyncio.sleep(8)
            await ctx.session.report_progress(number, 3, f"{number} of 3")
        return "counted"

    @staticmethod
    async def _count_fast(ctx: Context) -> Any:
        """Take 10 s, with progress every tenth of a second."""
        for number in range(100):
            await asyncio.sleep(0.1)
            await ctx.session.report_progress(number, 100)
        return "counted"

    @staticmethod
    async def _ask_ai(ctx: Context) -> Any:
        request = types.CreateMessageRequest(params=_QUESTION)
        return await _answer(ctx, request, types.CreateMessageResult)

    @staticmethod
    async def _ask_person(ctx: Context) -> Any:
        params = types.ElicitRequestFormParams(message="Who are you?", requested_schema=FORM)
        return await _answer(ctx, types.ElicitRequest(params=params), types.ElicitResult)

    @staticmethod
    async def _warm_up(ctx: Context) -> Any:
        await ctx.session.send_resource_updated(TEMPERATURE)
        return True

    async def _list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        """Give two resources a page."""
        kinds = {AIR: "application/json", DOOR: "image/png"}
        names = [*self.texts, DOOR]
        hidden = types.Annotations(audience=["user"])
        start = int(params.cursor) if params and params.cursor else 0
        page = [
            types.Resource(
                uri=uri,
                name=uri.rpartition("/")[2],
                title=uri.rpartition("/")[2].capitalize(),
                mime_type=kinds.get(uri, "text/plain"),
                annotations=hidden if uri == SECRET else None,
            )
            for uri in names[start : start + 2]
        ]
        more = str(start + 2) if start + 2 < len(names) else None
        return types.ListResourcesResult(resources=page, next_cursor=more)

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        content: types.TextResourceContents | types.BlobResourceContents
        if uri == DOOR:
            content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        elif uri.partition("?")[0] in self.texts:
            content = types.TextResourceContents(
                uri=uri, mime_type="text/plain", text=self.texts[uri.partition("?")[0]]
            )
        else:
            raise MCPError(code=-32002, message="Resource not found")
        return types.ReadResourceResult(contents=[content])

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self.subscribed.append(str(params.uri))
        if (refusal := self.refused.get(str(params.uri))) is not None:
            raise MCPError(code=refusal, message="Resource not found or busy")
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.unsubscribed.append(str(params.uri))
        return types.EmptyResult()

    @staticmethod
    async def _list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
        arguments = [
            types.PromptArgument(name="name", description="Whom", required=True),
            types.PromptArgument(name="day"),
        ]
        prompt = types.Prompt(name="greeting", title="Greeting", description="Greets", arguments=arguments)
        return types.ListPromptsResult(prompts=[prompt])

    @staticmethod
    async def _get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given: Mapping[str, str] = params.arguments or {}
        if params.name != "greeting":
            raise MCPError(code=types.INVALID_PARAMS, message="no such prompt")
        said = f"Greet {given['name']} on {given.get('day', 'any day')}."
        texts = (("user", said), ("assistant", "In which language?"), ("user", "In English."))
        messages = [
            types.PromptMessage.model_validate({"role": role, "content": {"type": "text", "text": text}})
            for role, text in texts
        ]
        return types.GetPromptResult(description="A greeting", messages=messages)


async def _answer(ctx: Context, request: Any, kind: type[Any]) -> Any:
    """Ask the client, and return its answer or its refusal as JSON."""
    try:
        result = await ctx.session.send_request(request, kind)
    except MCPError as err:
        return {"code": err.error.code, "message": err.error.message}
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


class SdkProgram:
    """Runs a server of the SDK in the place of the firmware's own."""

    def __init__(self, full: FullServer, send: Send) -> None:
        self.tools: list[Any] = []
        self._full = full
        self._send = send
        self._inbox: asyncio.Queue[str] = asyncio.Queue()

    def handle(self, message: dict[str, Any]) -> bool:
        self._inbox.put_nowait(json.dumps(message))
        return True

    async def run(self) -> None:
        """Serve until the device is switched off."""
        async with create_client_server_memory_streams() as ((from_server, to_server), server_streams):

            async def pump() -> None:
                async for item in from_server:
                    assert isinstance(item, SessionMessage)
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._send(json.loads(text))

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._full.server.run(*server_streams, self._full.options))
                tasks.create_task(pump())
                while True:
                    message = types.jsonrpc_message_adapter.validate_json(await self._inbox.get())
                    await to_server.send(SessionMessage(message))
