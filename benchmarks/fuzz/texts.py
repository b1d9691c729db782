"""Texts that devices send: messages, results of MCP, status, check-ins and forms."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
import json
import random
from typing import Any, Final

from custom_components.xiaozhi.protocol.checkin import CheckInError, parse_checkin
from custom_components.xiaozhi.protocol.mcp.client import ClientOffer, McpClient, McpError, RequestError, Tool
from custom_components.xiaozhi.protocol.mcp.content import Named
from custom_components.xiaozhi.protocol.mcp.elicitation import parse_elicitation
from custom_components.xiaozhi.protocol.mcp.sampling import SamplingRequest
from custom_components.xiaozhi.protocol.messages import JsonObject, McpMessage, MessageError, parse_message
from custom_components.xiaozhi.protocol.multipart import FormError, parse_form
from custom_components.xiaozhi.protocol.status import DeviceStatus, StatusError, parse_status
from custom_components.xiaozhi.tools.mapping import map_tools

from .inputs import mutated, spoiled_json
from .samples import BROKEN_CHECK_IN, CHECK_IN, ERROR, FORM, HEADERS, MESSAGES, QUESTIONS, RESULTS, STATUS
from .target import Outcome

__all__ = ["check_ins", "forms", "mcp", "messages", "status"]

_MOST_PAGES: Final = 100


class _Texts:
    """Inputs from a generator, and a reader that tells whether it accepted one."""

    def __init__(self, make: Callable[[], bytes], read: Callable[[bytes], Awaitable[bool]]) -> None:
        self.outcome = Outcome()
        self._make = make
        self._read = read

    def inputs(self) -> Iterator[bytes]:
        """Yield the generated inputs."""
        while True:
            yield self._make()

    async def take(self, data: bytes) -> None:
        """Read one, and count whether it was accepted."""
        if await self._read(data):
            self.outcome.taken += 1
        else:
            self.outcome.refused += 1


@asynccontextmanager
async def messages(chance: random.Random) -> AsyncIterator[_Texts]:
    """Read text frames and MQTT payloads. What was read must go through an encoder again."""

    async def read(data: bytes) -> bool:
        try:
            message = parse_message(data)
        except MessageError:
            return False
        if isinstance(message, McpMessage):
            _encode(message.payload)
        repr(message).encode()
        return True

    yield _Texts(lambda: spoiled_json(chance, MESSAGES), read)


@asynccontextmanager
async def status(chance: random.Random) -> AsyncIterator[_Texts]:
    """Read status texts. What was read is the same after it was stored."""

    async def read(data: bytes) -> bool:
        try:
            found = parse_status(data.decode(errors="replace"))
        except StatusError:
            return False
        if DeviceStatus.from_dict(json.loads(_encode(found.as_dict()))) != found:
            raise AssertionError(f"{found} is another one after it was stored")
        return True

    yield _Texts(lambda: spoiled_json(chance, (STATUS,)), read)


@asynccontextmanager
async def check_ins(chance: random.Random) -> AsyncIterator[_Texts]:
    """Read check-ins: lines of headers, then a body."""

    def make() -> bytes:
        headers = mutated(chance, HEADERS) if chance.random() < 0.5 else HEADERS
        body = spoiled_json(chance, (CHECK_IN,))
        return headers + (mutated(chance, BROKEN_CHECK_IN.encode()) if chance.random() < 0.1 else body)

    async def read(data: bytes) -> bool:
        head, _, body = data.partition(b"\r\n\r\n")
        # As the web server parses them.
        lines = head.decode(errors="surrogateescape").split("\r\n")
        headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        try:
            found = parse_checkin(headers, body)
        except CheckInError:
            return False
        if len(repr(found).encode()) > 4000:
            raise AssertionError("more is kept of a check-in than expected")
        return True

    yield _Texts(make, read)


@asynccontextmanager
async def forms(chance: random.Random) -> AsyncIterator[_Texts]:
    """Read what a camera posts: the type with its boundary in the first line, then the body."""

    async def read(data: bytes) -> bool:
        content_type, _, body = data.partition(b"\n")
        try:
            parse_form(content_type.decode("latin-1"), body)
        except FormError:
            return False
        return True

    yield _Texts(lambda: mutated(chance, b'multipart/form-data; boundary="B"\n' + FORM), read)


@asynccontextmanager
async def mcp(chance: random.Random) -> AsyncIterator[_Texts]:
    """Answer requests of the MCP client, and ask it: the method in the first line, then answer or params."""
    methods = [*RESULTS, *QUESTIONS]

    def make() -> bytes:
        method = chance.choice(methods)
        if method in QUESTIONS:
            return f"{method}\n".encode() + spoiled_json(chance, QUESTIONS[method])
        if chance.random() < 0.1:
            return f"{method}\n".encode() + spoiled_json(chance, (ERROR,))
        return f"{method}\n".encode() + spoiled_json(chance, RESULTS[method])

    yield _Texts(make, _answer)


async def _answer(data: bytes) -> bool:
    method, _, answer = data.partition(b"\n")
    if read := _READERS.get(method.decode()):
        return _ask(read, answer)
    sent: list[JsonObject] = []

    async def send(message: JsonObject) -> None:
        sent.append(message)

    def notified(_method: str, params: JsonObject) -> None:
        _encode(params)

    client = McpClient(send, on_notification=notified)
    request = asyncio.ensure_future(_REQUESTS[method.decode()](client))
    await asyncio.sleep(0)
    with suppress(MessageError):
        message = parse_message(b'{"type":"mcp","payload":' + answer + b"}")
        if isinstance(message, McpMessage):
            await _receive(client, message.payload, sent, request)
    client.close("the end")
    try:
        await request
    except McpError as err:
        str(err).encode()
        return False
    return True


def _ask(read: Callable[[JsonObject], object], params: bytes) -> bool:
    with suppress(MessageError):
        message = parse_message(b'{"type":"mcp","payload":' + params + b"}")
        if isinstance(message, McpMessage):
            try:
                repr(read(message.payload)).encode()
            except RequestError as err:
                str(err).encode()
                return False
            return True
    return False


async def _receive(
    client: McpClient, payload: JsonObject, sent: list[JsonObject], request: asyncio.Future[None]
) -> None:
    """Answer every request with the same answer: a list has several pages."""
    if (reply := client.receive(payload)) is not None:
        _encode(reply)
    for _ in range(_MOST_PAGES):
        await asyncio.sleep(0)
        if request.done() or len(sent) < 2 or "result" not in payload:
            return
        client.receive({"id": sent[-1].get("id"), "result": payload["result"]})


async def _initialize(client: McpClient) -> None:
    server = await client.initialize(client_name="a", client_version="1", offer=ClientOffer(vision=None))
    _encode(server.as_dict())


async def _list(client: McpClient) -> None:
    tools = await client.list_tools(with_user_tools=True)
    for tool in tools:
        if Tool.from_dict(json.loads(_encode(tool.as_dict()))) != tool:
            raise AssertionError(f"{tool} is another one after it was stored")
    for entity in map_tools(tools):
        repr(entity).encode()


async def _call(client: McpClient) -> None:
    result = await client.call_tool("self.get_device_status")
    _encode(result.json())
    with suppress(StatusError):
        parse_status(result.text or "")


async def _stored(listing: Awaitable[tuple[Named, ...]]) -> None:
    for item in await listing:
        if type(item).from_dict(json.loads(_encode(item.as_dict()))) != item:
            raise AssertionError(f"{item} is another one after it was stored")


async def _shown(request: Awaitable[object]) -> None:
    repr(await request).encode()


_REQUESTS: Final[dict[str, Callable[[McpClient], Awaitable[None]]]] = {
    "initialize": _initialize,
    "tools/list": _list,
    "tools/call": _call,
    "resources/list": lambda client: _stored(client.list_resources()),
    "resources/templates/list": lambda client: _stored(client.list_templates()),
    "resources/read": lambda client: _shown(client.read_resource("a:b")),
    "prompts/list": lambda client: _stored(client.list_prompts()),
    "prompts/get": lambda client: _shown(client.get_prompt("a", {"b": "c"})),
    "completion/complete": lambda client: _shown(client.complete({"type": "ref/prompt"}, "a", "")),
}
_READERS: Final[dict[str, Callable[[JsonObject], object]]] = {
    "sampling/createMessage": SamplingRequest.from_dict,
    "elicitation/create": parse_elicitation,
}


def _encode(value: Any) -> bytes:
    """Encode as Home Assistant's storage or WebSocket API does. Raises if it cannot."""
    return json.dumps(value, ensure_ascii=False).encode()
