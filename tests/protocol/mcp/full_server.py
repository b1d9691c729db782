"""A server made with the official SDK that offers everything, and what it has seen of its client."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
import json
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
import mcp_types as types

type Context = ServerRequestContext[Any]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TEMPERATURE = "sensor://room/temperature"
WINDOW = "sensor://room/window"
AIR = "sensor://room/air"
DOOR = "picture://door"
SECRET = "file:///etc/passwd"
HISTORY = "history://{day}"
DAYS = ("friday", "monday", "saturday", "sunday", "thursday", "tuesday", "wednesday")

# What a program that answers about photos may ask for.
_QUESTION = types.CreateMessageRequestParams(
    messages=[
        types.SamplingMessage(role="user", content=types.TextContent(text="Is it raining?")),
        types.SamplingMessage(role="assistant", content=types.TextContent(text="Where?")),
        types.SamplingMessage(
            role="user",
            content=types.ImageContent(data=base64.b64encode(PIXEL).decode(), mime_type="image/png"),
        ),
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
    },
    "required": ["name", "age"],
}
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class FullServer:
    """The server, its contents, and what it has seen."""

    def __init__(self) -> None:
        """Make a server that is not connected."""
        self.texts = {
            TEMPERATURE: "21.5",
            WINDOW: "true",
            AIR: '{"co2": 600, "humidity": 40.5}',
            SECRET: "root:x:0:0",
        }
        self.calls: list[str] = []
        """The tools that were called, in order."""
        self.reads: list[str] = []
        self.subscribed: list[str] = []
        self.unsubscribed: list[str] = []
        self.levels: list[str] = []
        self.cancelled = 0
        """Calls whose client did not want an answer any more."""
        self.tasks: dict[str, int] = {}
        """How often each task was looked at."""
        self.cancelled_tasks: list[str] = []
        self.baked = False
        self._baking: asyncio.Task[None] | None = None
        self.offer: types.InitializeRequestParams | None = None
        """What the client has announced."""
        self.versions: list[str] = []
        """The versions that were agreed on, in order."""
        self.hangs = asyncio.Event()
        """Set while a call of `hang` runs."""
        self.session: Any = None
        """Connection to the client, for notifications, from the last request on."""
        self.server: Server[Any] = self._make()

    @property
    def options(self) -> InitializationOptions:
        """What it announces."""
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = self.server.create_initialization_options(changes)
        options.capabilities.tasks = types.ServerTasksCapability(
            cancel=types.TasksCancelCapability(),
            requests=types.ServerTasksRequestsCapability(
                tools=types.TasksToolsCapability(call=types.TasksCallCapability())
            ),
        )
        return options

    def _make(self) -> Server[Any]:
        server: Server[Any] = Server(
            "full",
            version="9.9",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        server.add_request_handler("tasks/get", types.GetTaskRequestParams, self._get_task)
        server.add_request_handler("tasks/result", types.GetTaskRequestParams, self._task_result)
        server.add_request_handler("tasks/cancel", types.CancelTaskRequestParams, self._cancel_task)
        server.middleware.append(self._watch)
        return server

    async def _watch(self, ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
        """Note who asks; answer a call of a task's tool, of which the SDK has the types only."""
        self.session = ctx.session
        params: Any = ctx.params or {}
        name = params.get("name") if ctx.method == "tools/call" else None
        if name == "long_job" and "task" not in params:
            raise MCPError(code=types.METHOD_NOT_FOUND, message="long_job runs as a task only")
        if name in {"long_job", "bake"} and "task" in params:
            self.calls.append(f"{name} as a task")
            task_id = f"{name}-{len(self.tasks) + 1}"
            self.tasks[task_id] = 0
            if name == "bake":
                self._baking = asyncio.create_task(self._bake_as_task(task_id, params["_meta"]))
            return {"task": self._task(task_id, "working")}
        result = await call_next(ctx)
        if ctx.method == "initialize":
            self.offer = types.InitializeRequestParams.model_validate(ctx.params)
            self.versions.append(self.offer.protocol_version)
        return result

    @staticmethod
    async def _list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        required = types.ToolExecution(task_support="required")
        optional = types.ToolExecution(task_support="optional")
        names = (
            "count", "hang", "ask_ai", "ask_person", "ask_secret", "show_page", "list_roots", "warm_up",
        )  # fmt: skip
        tools = [types.Tool(name=name, input_schema=_SCHEMA) for name in names]
        tools.append(types.Tool(name="long_job", input_schema=_SCHEMA, execution=required))
        tools.append(types.Tool(name="bake", input_schema=_SCHEMA, execution=optional))
        return types.ListToolsResult(tools=tools)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.calls.append(params.name)
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
    async def _bake(ctx: Context) -> Any:
        """Take 8 s, without a sign of life."""
        await asyncio.sleep(8)
        return "baked"

    async def _bake_as_task(self, task_id: str, meta: Mapping[str, Any]) -> None:
        """Report progress and then the end, of which the client would hear late if it only looked."""
        await asyncio.sleep(2)
        token, told = meta["progressToken"], "half way"
        progress = types.ProgressNotificationParams(progress_token=token, progress=1, total=2, message=told)
        await self.session.send_notification(types.ProgressNotification(params=progress))
        await asyncio.sleep(2)
        self.baked = True
        task = types.TaskStatusNotificationParams.model_validate(self._task(task_id, "completed"))
        await self.session.send_notification(types.TaskStatusNotification(params=task))

    async def _hang(self, ctx: Context) -> Any:
        """Never answer."""
        self.hangs.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    @staticmethod
    async def _ask_ai(ctx: Context) -> Any:
        request = types.CreateMessageRequest(params=_QUESTION)
        return await _answer(ctx, request, types.CreateMessageResult)

    @staticmethod
    async def _ask_person(ctx: Context) -> Any:
        params = types.ElicitRequestFormParams(message="Who are you?", requested_schema=FORM)
        return await _answer(ctx, types.ElicitRequest(params=params), types.ElicitResult)

    @staticmethod
    async def _ask_secret(ctx: Context) -> Any:
        schema = {"type": "object", "properties": {"password": {"type": "string"}}}
        params = types.ElicitRequestFormParams(message="Your Wi-Fi password?", requested_schema=schema)
        return await _answer(ctx, types.ElicitRequest(params=params), types.ElicitResult)

    @staticmethod
    async def _show_page(ctx: Context) -> Any:
        params = types.ElicitRequestURLParams(
            message="Sign in", url="https://example.com/sign-in", elicitation_id="e1"
        )
        return await _answer(ctx, types.ElicitRequest(params=params), types.ElicitResult)

    @staticmethod
    async def _list_roots(ctx: Context) -> Any:
        return await _answer(ctx, types.ListRootsRequest(), types.ListRootsResult)

    async def _warm_up(self, ctx: Context) -> Any:
        """Change a resource and tell so."""
        self.texts[TEMPERATURE] = "24.0"
        await ctx.session.send_notification(
            types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=TEMPERATURE))
        )
        return True

    async def log(self, level: types.LoggingLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message."""
        params = types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        await self.session.send_notification(types.LoggingMessageNotification(params=params))

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

    @staticmethod
    async def _list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template=HISTORY, name="history", mime_type="text/plain")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        self.reads.append(uri)
        content: types.TextResourceContents | types.BlobResourceContents
        if uri == DOOR:
            blob = base64.b64encode(PIXEL).decode()
            content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=blob)
        elif uri in self.texts:
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=self.texts[uri])
        elif uri.removeprefix("history://") in DAYS:
            text = f"warm on {uri.removeprefix('history://')}"
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        else:
            raise MCPError(code=-32002, message="Resource not found")
        return types.ReadResourceResult(contents=[content])

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self.subscribed.append(str(params.uri))
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

    @staticmethod
    async def _complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        values = [day for day in DAYS if day.startswith(params.argument.value)]
        if params.argument.name != "day":
            values = []
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values)))

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self.levels.append(params.level)
        return types.EmptyResult()

    def _task(self, task_id: str, status: str) -> dict[str, Any]:
        when = "2026-01-01T00:00:00Z"
        return {
            "taskId": task_id,
            "status": status,
            "statusMessage": f"looked at {self.tasks[task_id]} times",
            "createdAt": when,
            "lastUpdatedAt": when,
            "ttl": 60000,
            "pollInterval": 30_000 if task_id.startswith("bake") else 2000,
        }

    async def _get_task(self, ctx: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        self.tasks[params.task_id] += 1
        done = self.baked if params.task_id.startswith("bake") else self.tasks[params.task_id] >= 3
        return self._task(params.task_id, "completed" if done else "working")

    @staticmethod
    async def _task_result(ctx: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": '"built"'}]}

    async def _cancel_task(self, ctx: Context, params: types.CancelTaskRequestParams) -> dict[str, Any]:
        self.cancelled_tasks.append(params.task_id)
        return self._task(params.task_id, "cancelled")


async def _answer(ctx: Context, request: Any, kind: type[Any]) -> Any:
    """Ask the client, and return its answer or its refusal as JSON."""
    try:
        result = await ctx.session.send_request(request, kind)
    except MCPError as err:
        return {"code": err.error.code, "message": err.error.message}
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)
