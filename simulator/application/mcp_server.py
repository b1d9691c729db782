"""The device's MCP server. Source: the firmware's `mcp_server.cc`.

It deviates from JSON-RPC: most malformed requests get no answer, errors have no code before 2.5.0, and their
messages are not escaped.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from ..board.cjson import JsonObject, dumps, find, int_value, is_number
from ..board.profile import Profile
from ..board.tools import Image, Tool, ToolError, ToolResult
from .mainloop import Job

_MAX_PAGE_BYTES: Final = 8000
_PAGE_RESERVE: Final = 30
_BAD_PARAMS: Final = -32602
_NO_METHOD: Final = -32601
_FAILED: Final = -32603


class McpProgram(Protocol):
    """An MCP server of other firmware, which takes the place of the stock one or adds to it."""

    tools: list[Tool]
    """Tools that it adds to those of the stock firmware's list."""

    def handle(self, message: JsonObject) -> bool:
        """Handle a message; return whether the stock server is not to see it."""

    async def run(self) -> None:
        """Run as long as the firmware."""


type ProgramFactory = Callable[[Callable[[JsonObject], None]], McpProgram]
"""Makes a program that sends its messages with the given function."""


class McpServer:
    """Answers requests, without I/O except by callbacks."""

    def __init__(
        self,
        profile: Profile,
        tools: list[Tool],
        *,
        reply: Callable[[str], None],
        queue_call: Callable[[Job], None],
        run: Callable[[Tool, JsonObject], Awaitable[ToolResult]],
        loops: bool = False,
        program: ProgramFactory | None = None,
    ) -> None:
        """`reply` queues a JSON-RPC text for sending, `queue_call` schedules a call on the main task.

        `run` executes a tool. A server that `loops` returns its first page for every cursor, as no firmware
        does.
        """
        self.tools = tools
        self.vision_url = ""
        self.vision_token = ""
        self._profile = profile
        self._reply = reply
        self._queue_call = queue_call
        self._run = run
        self._loops = loops
        self.program = program(lambda message: reply(dumps(message))) if program else None
        if self.program is not None:
            self.tools = [*tools, *self.program.tools]

    def handle(self, message: JsonObject) -> None:
        """Handle the payload of an `mcp` message."""
        if self.program is not None:
            if find(message, "method") == "initialize":
                self._take_vision(find(message, "params"))
            if self.program.handle(message):
                return
        if find(message, "jsonrpc") != "2.0":
            return
        method = find(message, "method")
        if not isinstance(method, str) or method.startswith("notifications"):
            return
        has_params = any(name.lower() == "params" for name in message)
        params = find(message, "params")
        if has_params and not isinstance(params, dict):
            return
        number = find(message, "id")
        if not is_number(number):
            return
        request_id = int_value(number)
        match method:
            case "initialize":
                self._initialize(request_id, params)
            case "tools/list":
                self._list(request_id, params)
            case "tools/call":
                self._call(request_id, params)
            case _:
                self._error(request_id, _NO_METHOD, f"Method not implemented: {method}")

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification, as custom firmware may; stock firmware sends none."""
        self._reply(dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def _initialize(self, request_id: int, params: JsonObject | None) -> None:
        self._take_vision(params)
        self._result(
            request_id,
            '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"'
            f'{self._profile.board.name}","version":"{self._profile.version}"}}}}',
        )

    def _take_vision(self, params: JsonObject | None) -> None:
        vision = find(find(params, "capabilities"), "vision")
        url, token = find(vision, "url"), find(vision, "token")
        if isinstance(url, str):
            self.vision_url = url
            self.vision_token = token if isinstance(token, str) else ""

    def _list(self, request_id: int, params: JsonObject | None) -> None:
        cursor = find(params, "cursor")
        with_user_tools = self._profile.has_user_tools and find(params, "withUserTools") is True
        page, next_cursor = self._page(cursor if isinstance(cursor, str) else "", with_user_tools)
        if self._loops:
            page, next_cursor = self._page("", with_user_tools)[0], self.tools[0].name
        if not page and self.tools:
            self._error(
                request_id, _FAILED, f"Failed to add tool {next_cursor} because of payload size limit"
            )
            return
        more = f',"nextCursor":"{next_cursor}"' if next_cursor else ""
        self._result(request_id, f'{{"tools":[{",".join(page)}]{more}}}')

    def _page(self, cursor: str, with_user_tools: bool) -> tuple[list[str], str]:
        """Return the entries that fit, from the tool named `cursor` on, and the name of the next tool."""
        annotated = self._profile.number >= (1, 9, 0)
        page: list[str] = []
        length = len('{"tools":[')
        found = not cursor
        for tool in self.tools:
            found = found or tool.name == cursor
            if not found or (tool.user_only and not with_user_tools):
                continue
            entry = tool.as_json(annotated=annotated)
            length += len(entry.encode()) + 1
            if length + _PAGE_RESERVE > _MAX_PAGE_BYTES:
                return page, tool.name
            page.append(entry)
        return page, ""

    def _call(self, request_id: int, params: JsonObject | None) -> None:
        if params is None:
            self._error(request_id, _BAD_PARAMS, "Missing params")
            return
        name, given = find(params, "name"), find(params, "arguments")
        if not isinstance(name, str):
            self._error(request_id, _BAD_PARAMS, "Missing name")
            return
        if not isinstance(given, dict) and any(key.lower() == "arguments" for key in params):
            self._error(request_id, _BAD_PARAMS, "Invalid arguments")
            return
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            self._error(request_id, _BAD_PARAMS, f"Unknown tool: {name}")
            return
        try:
            arguments = _arguments(tool, given, checks_types=self._profile.mcp_checks_types)
        except ToolError as err:
            self._error(request_id, _BAD_PARAMS, str(err))
            return
        self._queue_call(lambda: self._execute(request_id, tool, arguments))

    async def _execute(self, request_id: int, tool: Tool, arguments: JsonObject) -> None:
        try:
            result = await self._run(tool, arguments)
        except ToolError as err:
            self._error(request_id, _FAILED, str(err))
            return
        answer = tool.answer or {"content": [_content(result)], "isError": False}
        self._result(request_id, dumps(answer))

    def _result(self, request_id: int, result: str) -> None:
        self._reply(f'{{"jsonrpc":"2.0","id":{request_id},"result":{result}}}')

    def _error(self, request_id: int, code: int, message: str) -> None:
        member = f'"code":{code},' if self._profile.mcp_checks_types else ""
        self._reply(f'{{"jsonrpc":"2.0","id":{request_id},"error":{{{member}"message":"{message}"}}}}')


def _content(result: ToolResult) -> JsonObject:
    match result:
        case Image():
            return {"type": "image", "image": result.as_json()}
        case bool():
            text = "true" if result else "false"
        case str():
            text = result
        case _:
            text = dumps(result)
    return {"type": "text", "text": text}


def _arguments(tool: Tool, given: JsonObject | None, *, checks_types: bool) -> JsonObject:
    found: JsonObject = {}
    for name, rule in tool.properties.items():
        is_there = any(key.lower() == name.lower() for key in given or {})
        found[name] = _argument(name, rule, find(given, name), must_fit=checks_types and is_there)
    return found


def _argument(name: str, rule: JsonObject, value: Any, *, must_fit: bool) -> bool | int | str:
    """Return the value of an argument; one of a wrong type is an error or counts as missing.

    Raises `ToolError`.
    """
    match rule["type"]:
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" if is_number(value):
            number = int_value(value)
            if "minimum" in rule and number < rule["minimum"]:
                raise ToolError(f"Value is below minimum allowed: {rule['minimum']}")
            if "maximum" in rule and number > rule["maximum"]:
                raise ToolError(f"Value exceeds maximum allowed: {rule['maximum']}")
            return number
        case "string" if isinstance(value, str):
            return value
    if must_fit:
        raise ToolError(f"Invalid type of argument: {name}")
    if "default" not in rule:
        raise ToolError(f"Missing valid argument: {name}")
    default: bool | int | str = rule["default"]
    return default
