"""Whatever reads a text or bytes from outside takes time linear in its size, however strange it is."""

import base64
from collections.abc import Callable, Iterator
from contextlib import suppress
import json
from typing import Any, Final

import pytest

from custom_components.xiaozhi.guests.mcp_extras.ai_questions import read_question
from custom_components.xiaozhi.guests.mcp_extras.question_form import parse_question_form
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress, AddressError
from custom_components.xiaozhi.protocol.access_point.tools import result_text
from custom_components.xiaozhi.protocol.checkin import parse_checkin
from custom_components.xiaozhi.protocol.device_status import read_status
from custom_components.xiaozhi.protocol.faces import face_of
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion, is_version
from custom_components.xiaozhi.protocol.json_rpc import read_request
from custom_components.xiaozhi.protocol.mcp.model import McpError, Progress, RequestError, is_extended
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.mcp.tool import Tool, ToolProperty, check_arguments
from custom_components.xiaozhi.protocol.messages import MessageTooLongError, encode_within, parse_message
from custom_components.xiaozhi.protocol.multipart import parse_form
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_packets import parse_packet
from custom_components.xiaozhi.util.text import (
    clean_data,
    clean_text,
    distinct_names,
    one_line,
    plain_markdown,
)
from tests.protocol.growth import assert_linear
from tests.protocol.test_checkin import CLIENT_ID, HEADERS, MAC

# What is repeated: patterns for numbers, words, quotes and ends of sentences go wrong with such texts.
UNITS: Final = (
    "a", "A", "0", "1.", "-", "_", " ", "\t", "\n", "\r\n", ".", "!?", ",", ":", "/", "\\", '"', "'",
    "`", "*", "[", "]", "{", "}", "(", ")", "<", ">", "&", "%41", "=", ";", "#", "://", "www.",
    "\u202e", "\u200d", "\ud800", "说", "🙂", "[1,", '{"a":', '"a":1,', "a=b;", "--B\r\n",
    "\x00", "\xff", 'name="', "a b ",
)  # fmt: skip
type Reader = Callable[[str], object]
# What readers say of a text that is none for them.
REFUSALS: Final = (ValueError, McpError, RequestError, AddressError, MessageTooLongError)


def attempt(read: Callable[..., object], *given: Any) -> None:
    """Have something read that may be refused."""
    with suppress(*REFUSALS):
        read(*given)


def tool(**members: Any) -> Tool:
    parsed = Tool.from_dict({"name": "a", "inputSchema": {"type": "object", "properties": {}}, **members})
    assert parsed is not None
    return parsed


TAKES_ANYTHING: Final = Tool(
    name="a",
    description="",
    properties={"a": ToolProperty(kind="unknown"), "b": ToolProperty(kind="string")},
    required=(),
    user_only=False,
    schema={},
)


def shapes(text: str) -> Iterator[Any]:
    """Yield data that holds a text in several places."""
    yield text
    yield [text, {text: text}]
    yield [text[start : start + 8] for start in range(0, len(text), 8)]
    yield {f"{start}{text[start : start + 8]}": start for start in range(0, len(text), 8)}


def packets(text: str) -> None:
    """Parse packets of MQTT."""
    data = text.encode(errors="replace")
    parse_packet(0x30, b"\x00\x01a" + data)
    for first, body in ((0x82, b"\x00\x01" + b"\x00\x01a\x00" * len(data)), (0x10, data), (0x82, data)):
        attempt(parse_packet, first, body)


def results(text: str) -> None:
    for shape in shapes(text):
        result = {"content": [{"type": "text", "text": text}, {"type": "image", "image": text}], "a": shape}
        attempt(ToolResult.from_dict, result)
        refused = {"structuredContent": {"a": shape}, "isError": True}
        attempt(lambda refused=refused: ToolResult.from_dict(refused).reason)


def tools(text: str) -> None:
    for shape in shapes(text):
        parts = shape if isinstance(shape, list) else [shape]
        properties = {
            str(part)[:99]: {"type": "string", "enum": parts, "default": part} for part in parts[:99]
        }
        Tool.from_dict({"name": text, "inputSchema": shape})
        reference = {"a": {"$ref": f"#/{text[:2000]}"}}
        Tool.from_dict({"name": "a", "inputSchema": {"$defs": reference, "properties": reference}})
        Tool.from_dict({"name": "a", "description": text, "title": text, "annotations": {"audience": parts}})
        Tool.from_dict({"name": "a", "inputSchema": {"properties": properties, "required": parts}})


def arguments(text: str) -> None:
    for shape in shapes(text):
        attempt(check_arguments, TAKES_ANYTHING, {"a": shape, "b": text})


def questions(text: str) -> None:
    for shape in shapes(text):
        rules = {f"a{number}": {"type": "string", "title": text, "enum": shape} for number in range(4)}
        for params in (
            {"message": text, "requestedSchema": {"type": "object", "properties": rules, "required": [text]}},
            {"message": "a", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        ):
            attempt(parse_question_form, params)
        content = {"type": "text", "text": text}
        attempt(read_question, {"messages": [{"role": "user", "content": [content] * 2}], "maxTokens": 9})


def addresses(text: str) -> None:
    claims = base64.urlsafe_b64encode(text.encode(errors="replace")).decode().rstrip("=")
    for url in (
        f"wss://a.b/{text}",
        f"wss://{text}/?token=a",
        f"wss://a/?token={text}",
        f"ws://a/?token=a.{claims}.c",
    ):
        attempt(lambda url=url: AccessPointAddress.parse(url).without_token(text))


def check_ins(text: str) -> None:
    body = json.dumps({"board": {"name": text}, "partition_table": [{"type": 0}] * (len(text) // 8)}).encode()
    for headers in (
        HEADERS,
        {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Host": "a", "User-Agent": text},
        {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Host": text},
        {"Device-Id": text},
    ):
        for sent in (body, text.encode(errors="replace")):
            attempt(parse_checkin, headers, sent)


def forms(text: str) -> None:
    data = text.encode(errors="replace")
    part = b'--B\r\nContent-Disposition: form-data; name="a' + data[:1500] + b"\r\n\r\n"
    for content_type in ("multipart/form-data; boundary=B", f"multipart/form-data; {text}boundary=B"):
        for body in (data, part + data + b"\r\n--B--", part * 7 + b"\r\n--B--"):
            attempt(parse_form, content_type, body)


def messages(text: str) -> None:
    quoted = json.dumps(text)
    for frame in (
        text,
        f'{{"type":"listen","state":"detect","text":{quoted}}}',
        f'{{"type":{quoted}}}',
        f'{{"type":"mcp","payload":{{"a":{quoted},{quoted}:1}}}}',
        f'{{"session_id":"","type":"mcp","payload":{{"jsonrpc":"2.0","id":1,"error":{{"message":"{text}"}}}}}}',
        f'{{"type":"goodbye","session_id":{quoted}}}',
    ):
        attempt(parse_message, frame)
        attempt(parse_message, frame.encode(errors="replace"))


def requests(text: str) -> None:
    for shape in shapes(text):
        params = {"name": "a", "arguments": {"a": shape}}
        read_request(json.dumps({"id": text, "method": "tools/call", "params": params}).encode())
        read_request(text.encode(errors="replace"))
        result_text(shape)


def texts(text: str) -> None:
    one_line(text, len(text))
    clean_text(text, len(text))
    plain_markdown(text)
    face_of(text)
    is_version(text)
    FirmwareVersion.parse(text)
    is_extended({"protocolVersion": text})
    Progress.from_dict({"progress": 1, "message": text})
    for shape in shapes(text):
        clean_data(shape)
    attempt(encode_within, {"type": "alert", "message": text, "text": text}, len(text) // 2)


def names(text: str) -> None:
    distinct_names({f"{start}": text[start : start + 70] for start in range(0, len(text), 8)})


def statuses(text: str) -> None:
    for shape in shapes(text):
        attempt(read_status, {"network": shape, "screen": {"theme": text}})


READERS: Final[tuple[Reader, ...]] = (
    addresses, arguments, check_ins, forms, messages, names, packets, questions,
    requests, results, statuses, texts, tools,
)  # fmt: skip


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_time_is_linear_in_the_size(read: Reader) -> None:
    for unit in UNITS:
        assert_linear(read, lambda size, unit=unit: (unit * size)[:size], size=1000)
