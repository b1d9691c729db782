"""What is fuzzed: for each reader, what makes its inputs and what reads one."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
import io
import json
import random
import struct
from typing import Any, Final
import zipfile

from custom_components.xiaozhi.firmware.image import FirmwareError, read_firmware
from custom_components.xiaozhi.protocol.checkin import CheckInError, parse_checkin
from custom_components.xiaozhi.protocol.device_status import DeviceStatus, StatusError, parse_status
from custom_components.xiaozhi.protocol.mcp.client import McpClient
from custom_components.xiaozhi.protocol.mcp.model import McpError
from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.protocol.messages import (
    AudioFormat,
    JsonObject,
    McpMessage,
    MessageError,
    parse_message,
)
from custom_components.xiaozhi.protocol.multipart import FormError, parse_form
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_packets import (
    MqttProtocolError,
    PacketReader,
    publish,
)
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from custom_components.xiaozhi.protocol.transport.udp.udp_session import AudioCipher, Source
from custom_components.xiaozhi.tools.mapping import map_tools
from simulator import build_image

from .inputs import mutated, spoiled_json
from .samples import ANSWERS, BROKEN_CHECK_IN, CHECK_IN, ERROR, FORM, HEADERS, MESSAGES, STATUS

type Make = Callable[[], bytes]
type Read = Callable[[bytes], Awaitable[bool]]
"""Reads an input; returns whether it was accepted. Any exception is a fault."""
type Target = Callable[[random.Random], tuple[Make, Read]]

_MOST_PAGES: Final = 100
_CONNECT: Final = (
    b"\x10\x35\x00\x04MQTT\x04\xc6\x00\x3c\x00\x09xiaozhi-1\x00\x01w\x00\x01m"
    b"\x00\x1102:00:00:00:00:01\x00\x03abc"
)
_MQTT: Final = (
    _CONNECT,
    publish("xiaozhi/020000000001/up", b'{"type":"listen","state":"start","mode":"auto"}'),
    b"\x32\x09\x00\x04a/bc\x00\x07x",
    b"\x82\x0c\x00\x05\x00\x01#\x00\x00\x03a/b\x01",
    b"\x40\x02\x00\x07",
    b"\xc0\x00",
    b"\xe0\x00",
)
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def _encode(value: Any) -> bytes:
    """Encode as Home Assistant's storage or WebSocket API does. Raises if it cannot."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def messages(chance: random.Random) -> tuple[Make, Read]:
    """Read text frames and MQTT payloads. What was read can be encoded again."""

    async def read(data: bytes) -> bool:
        try:
            message = parse_message(data)
        except MessageError:
            return False
        if isinstance(message, McpMessage):
            _encode(message.payload)
        repr(message).encode()
        return True

    return lambda: spoiled_json(chance, MESSAGES), read


def status(chance: random.Random) -> tuple[Make, Read]:
    """Read status texts. What was read is the same after it was stored."""

    async def read(data: bytes) -> bool:
        try:
            found = parse_status(data.decode(errors="replace"))
        except StatusError:
            return False
        if DeviceStatus.from_dict(json.loads(_encode(found.as_dict()))) != found:
            raise AssertionError(f"{found} is another one after it was stored")
        return True

    return lambda: spoiled_json(chance, (STATUS,)), read


def check_ins(chance: random.Random) -> tuple[Make, Read]:
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

    return make, read


def forms(chance: random.Random) -> tuple[Make, Read]:
    """Read what a camera posts: the type with its boundary in the first line, then the body."""

    async def read(data: bytes) -> bool:
        content_type, _, body = data.partition(b"\n")
        try:
            parse_form(content_type.decode("latin-1"), body)
        except FormError:
            return False
        return True

    return lambda: mutated(chance, b'multipart/form-data; boundary="B"\n' + FORM), read


def mcp(chance: random.Random) -> tuple[Make, Read]:
    """Answer requests of the MCP client: the method in the first line, then the answer."""

    def make() -> bytes:
        method = chance.choice([*ANSWERS])
        answers = (ERROR,) if chance.random() < 0.1 else ANSWERS[method]
        return f"{method}\n".encode() + spoiled_json(chance, answers)

    return make, _answer


async def _answer(data: bytes) -> bool:
    method, _, answer = data.partition(b"\n")
    sent: list[JsonObject] = []

    async def send(message: JsonObject) -> None:
        sent.append(message)

    client = McpClient(send)
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
    server = await client.initialize(client_name="a", client_version="1")
    repr(server).encode()


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


_REQUESTS: Final[dict[str, Callable[[McpClient], Awaitable[None]]]] = {
    "initialize": _initialize,
    "tools/list": _list,
    "tools/call": _call,
}


def mqtt(chance: random.Random) -> tuple[Make, Read]:
    """Read packets of MQTT from one connection, and begin another when one ends in an error."""
    readers = [PacketReader(400)]

    async def read(data: bytes) -> bool:
        reader = readers[0]
        reader.feed(data)
        try:
            accepted = reader.next_packet() is not None
            while reader.next_packet() is not None:
                pass
        except MqttProtocolError:
            readers[0] = PacketReader(400)
            return False
        if reader.buffered > reader.limit + 5:
            raise AssertionError(f"{reader.buffered} bytes are kept")
        return accepted

    return lambda: mutated(chance, chance.choice(_MQTT)), read


def udp(chance: random.Random) -> tuple[Make, Read]:
    """Receive datagrams of a conversation, similar ones, and random ones."""
    heard: list[bytes] = []

    def hear(packet: bytes, missing: int) -> None:
        if missing < 0:
            raise AssertionError(f"{missing} packets are missing before {packet.hex()}")
        heard.append(packet)

    listener = UdpServer()
    channel = listener.open_channel(AudioFormat(16000, 60), hear)
    listener.start("127.0.0.1", 0)
    offer = channel.offer("192.0.2.2")
    # Datagrams are handed over below.
    listener.stop()
    nonce, cipher = bytes.fromhex(offer["nonce"]), AudioCipher(bytes.fromhex(offer["key"]))
    sequence = 0

    def make() -> bytes:
        nonlocal sequence
        ahead = chance.choice((1, 1, 1, 1, 2, 3, 90, 200, 2**32 - 1, 0, -1, -5))
        number = (sequence + ahead) & 0xFFFFFFFF
        if 0 < ahead <= 3:
            sequence = number
        packet = bytes([chance.choice((0x58, chance.randrange(256)))]) + chance.randbytes(
            chance.randrange(200)
        )
        header = nonce[:2] + len(packet).to_bytes(2) + nonce[4:8] + struct.pack(">II", 0, number)
        datagram = header + cipher.apply(header, packet)
        return datagram if chance.random() < 0.5 else mutated(chance, datagram)

    async def read(data: bytes) -> bool:
        heard.clear()
        listener.datagram_received(data, Source("127.0.0.1", 9, bytes(4)))
        channel.deliver()
        return bool(heard)

    return make, read


def firmware(chance: random.Random) -> tuple[Make, Read]:
    """Read images of firmware, and archives that hold one or several."""
    image = build_image(version="2.2.6")
    seeds = [image, build_image(version="1.9.4", chip="esp32")]
    for method in _COMPRESSIONS:
        for names in (("a.bin",), ("a/b.bin", "x.txt"), ("a.bin", "ß.bin")):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", method) as archive:
                for name in names:
                    archive.writestr(name, image)
            seeds.append(buffer.getvalue())

    async def read(data: bytes) -> bool:
        try:
            repr(read_firmware(data)).encode()
        except FirmwareError as err:
            str(err).encode()
            return False
        return True

    return lambda: mutated(chance, chance.choice(seeds)), read


TARGETS: Final[dict[str, Target]] = {
    target.__name__: target for target in (messages, status, check_ins, forms, mcp, mqtt, udp, firmware)
}
