"""Stock firmware gets the same bytes as ever, and requests of a device are answered in bounded numbers."""

import asyncio
from typing import Any

import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.mcp.client import McpClient
from custom_components.xiaozhi.protocol.mcp.model import McpTimeoutError, Progress, RequestError
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import Device, advance

VISION = {"url": "http://192.0.2.1:8123/api/xiaozhi/vision", "token": "secret"}
STOCK_ANSWER: JsonObject = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bread-compact-wifi", "version": "2.4.2"},
}
# What this project has always sent to stock firmware, byte for byte.
STOCK_REQUEST = (
    '{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
    '"2024-11-05","capabilities":{"vision":{"url":"http://192.0.2.1:8123/api/xiaozhi/vision","token":"secret"'
    '}},"clientInfo":{"name":"Home Assistant","version":"2026.10.4"}}}}'
)


async def shake_hands(device: Device, **options: Any) -> None:
    await device.client.initialize(
        client_name="Home Assistant", client_version="2026.10.4", vision=VISION, **options
    )


async def test_stock_firmware_gets_the_same_bytes_as_ever_and_nothing_more() -> None:
    """One request and one notification, also when the device is cancelled or does not answer in time."""
    device = Device(initialize=lambda _: {"result": STOCK_ANSWER})
    await shake_hands(device)
    assert messages.encode(messages.mcp(device.sent[0])) == STOCK_REQUEST
    assert device.sent[1:] == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert not device.client.extended
    silent, cancelled = await device.begin(), await device.begin()
    cancelled.cancel()
    with pytest.raises(McpTimeoutError):
        await silent
    assert [message["method"] for message in device.sent[2:]] == ["tools/call", "tools/call"]


@pytest.mark.parametrize(
    ("version", "capabilities", "extended"),
    [
        *((version, {"tools": {}}, False) for version in ("2024-11-05", None, 7, "2099-01-01")),
        *(("2024-11-05", capabilities, False) for capabilities in ({}, None, [], "all")),
        ("2024-11-05", {"tools": {"listChanged": True}}, True),
        ("2024-11-05", {"tools": {}, "prompts": {}}, True),
        ("2025-11-25", {"tools": {}}, True),
    ],
)
async def test_a_device_is_asked_for_no_more_than_it_announces(
    version: Any, capabilities: Any, extended: bool
) -> None:
    """What it may ask is announced to it, in the latest version."""
    result = {"protocolVersion": version, "capabilities": capabilities}
    device = Device(initialize=lambda _: {"result": result})
    await shake_hands(device, capabilities={"sampling": {}})
    assert device.client.extended is extended
    assert len(device.sent) == 2
    assert device.sent[0]["params"]["protocolVersion"] == "2025-11-25"
    assert device.sent[0]["params"]["capabilities"].keys() == {"vision", "sampling"}


@pytest.mark.parametrize("progress", [None, "1", True, [1]])
def test_progress_without_a_number_is_none(progress: Any) -> None:
    assert Progress.from_dict({"progress": progress}) is None


class Asked:
    """Requests of a device, answered by a handler that a test lets go on."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []
        self.going = asyncio.Event()
        self.gone = False
        self.failure: Exception | None = None
        self.client = McpClient(self._send, handlers={"ask": self._serve})

    async def _send(self, message: JsonObject) -> None:
        if self.gone:
            raise ConnectionResetError("gone")
        self.sent.append(message)

    async def _serve(self, params: JsonObject) -> JsonObject:
        await self.going.wait()
        if self.failure is not None:
            raise self.failure
        return {"got": params}

    def ask(self, request_id: Any = 1, **message: Any) -> JsonObject | None:
        return self.client.receive({"method": "ask", "id": request_id, **message})


async def test_a_storm_of_requests_is_refused_beyond_a_few() -> None:
    asked = Asked()
    replies = [asked.ask(number) for number in range(50)]
    assert replies[:4] == [None] * 4
    assert all(reply and reply["error"]["code"] == -32000 for reply in replies[4:])
    asked.going.set()
    await advance(0)
    assert [message["id"] for message in asked.sent] == [0, 1, 2, 3]
    assert asked.ask(0) is None


async def test_faults_of_ours_and_lost_connections_end_a_request() -> None:
    asked = Asked()
    asked.going.set()
    for failure, code in ((RequestError("no", -1), -1), (KeyError("oops"), -32603)):
        asked.failure = failure
        asked.ask()
        await advance(0)
        assert asked.sent[-1]["error"]["code"] == code
    asked.gone = True
    asked.ask()
    await advance(0)
    assert len(asked.sent) == 2
    for params in ([1], "x"):
        reply = asked.ask(params=params)
        assert reply is not None
        assert reply["error"]["code"] == -32602
