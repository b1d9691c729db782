"""MCP: handshake, lists of tools, calls and their errors."""

import json
from typing import Any

from simulator import get_profile
from simulator.board.tools import board_tools
from tests.simulator.trace import (
    LISTENING,
    TTS_START,
    Stage,
    Step,
    device,
    disconnects,
    replays,
    request,
    sees,
    server,
    stage,
    step,
    still,
    streams,
    trace,
)

STATUS = {"name": "self.get_device_status"}
VOLUME = "self.audio_speaker.set_volume"


def call(tool: str, /, **arguments: Any) -> Step:
    return request("tools/call", name=tool, arguments=arguments)


def replies(result: Any = None, **error: Any) -> Step:
    """Expect a text as the result, or just this error."""
    if error:
        return device(type="mcp", payload={"error": lambda found: found == error})
    content = [{"type": "text", "text": result}]
    return device(type="mcp", payload={"result": {"isError": False, "content": content}})


@step
async def slow(on: Stage, seconds: float) -> None:
    """Let the device's status take so long."""
    on.sim.tool_seconds["self.get_device_status"] = seconds


def called(events: list[Any]) -> list[Any]:
    """Return the arguments of the last call of a tool."""
    return [*[event.data["arguments"] for event in events if event.kind == "tool"][-1].values()]


TOO_LARGE = "Failed to add tool  because of payload size limit"
ERRORS: list[tuple[str, Any, str]] = [
    ("ping", {}, "Method not implemented: ping"),
    ("tools/list", {"cursor": "self.nothing"}, TOO_LARGE),
    ("tools/call", {"name": 5}, "Missing name"),
    ("tools/call", {"name": "self.nothing"}, "Unknown tool: self.nothing"),
    ("tools/call", STATUS | {"arguments": None}, "Invalid arguments"),
    ("tools/call", {"name": VOLUME, "arguments": {"volume": "50"}}, "Missing valid argument: volume"),
    ("tools/call", {"name": VOLUME, "arguments": {"volume": 101}}, "Value exceeds maximum allowed: 100"),
]
WAVE = {"action": "wave", "hand": True, "steps": None, "amount": 20}
INITIALIZED = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "waveshare-esp32-s3-touch-amoled-1.8", "version": "2.4.2"},
}
REQUESTS = {
    "initialize": trace(
        "F.2",
        *LISTENING,
        request("initialize", capabilities={}),
        device(
            {
                "session_id": "session-1",
                "type": "mcp",
                "payload": {"jsonrpc": "2.0", "id": 1, "result": INITIALIZED},
            }
        ),
    ),
    **{
        f"the id {sent}": trace("F.1", *LISTENING, request("ping", sent), device(payload={"id": back}))
        for sent, back in ((2**40, 2**31 - 1), (7.9, 7))
    },
    **{
        f"{method} with {params} is an error": trace(
            "F.3", *LISTENING, request(method, **params), replies(message=message)
        )
        for method, params, message in ERRORS
    },
    "errors are not escaped": trace(
        "F.4",
        *LISTENING,
        call('a"b'),
        device(
            '{"session_id":"session-1","type":"mcp","payload":'
            '{"jsonrpc":"2.0","id":1,"error":{"message":"Unknown tool: a"b"}}}'
        ),
    ),
    "a wrong type falls back to the default": trace(
        "F.4",
        *LISTENING,
        call("self.electron.hand_action", **WAVE),
        replies("true"),
        still(transcript=lambda events: called(events) == [1, 3, 1, 1000, 20]),
        board="electron",
    ),
    "2.5 refuses a wrong type": trace(
        "L",
        *LISTENING,
        call("self.electron.hand_action", **WAVE),
        replies(code=-32602, message="Invalid type of argument: action"),
        version="2.5.0",
        board="electron",
    ),
    **{
        f"{tool} never answers": trace("F.4", *LISTENING, call(tool), disconnects(), sees(state=state))
        for tool, state in {"self.reboot": "idle", "self.system.reconfigure_wifi": "wifi_configuring"}.items()
    },
    "a call blocks the main task": trace(
        "F.4",
        *LISTENING,
        streams(1),
        slow(0.5),
        request("tools/call", 1, **STATUS),
        request("tools/call", 2, **STATUS),
        server(TTS_START),
        device(payload={"id": 1}, after=1),
        device(payload={"id": 2}, after=0),
        sees(state="speaking", after=0),
    ),
    "some versions run tools beside it": trace(
        "F.4", *LISTENING, slow(60), request("tools/call", 1, **STATUS), streams(20), version="1.9.1"
    ),
}


test_request = replays(REQUESTS)


async def test_every_tool_of_a_board_is_listed_in_order() -> None:
    """F.3: pages of 8000 bytes, the next tool's name as cursor; user-only tools last, marked, on request."""
    listed: list[dict[str, Any]] = []
    async with stage(trace("F.3", board="camera")) as on:
        for row in LISTENING:
            await row(on)
        params: dict[str, Any] = {"withUserTools": True}
        while not listed or "cursor" in params:
            had = len(on.texts())
            await request("tools/list", **params)(on)
            await (await on.link()).until(lambda had=had: len(on.texts()) > had)  # type: ignore[misc]
            result = json.loads(on.texts()[had])["payload"]["result"]
            assert len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()) <= 8000
            listed += result["tools"]
            params = {"withUserTools": True}
            if (found := result.get("nextCursor")) is not None:
                params["cursor"] = found
    assert [tool["name"] for tool in listed] == [tool.name for tool in board_tools(get_profile("camera"))]
    marked = ["annotations" in tool for tool in listed]
    assert marked == sorted(marked)
    assert any(marked)
