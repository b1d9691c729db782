"""MCP: handshake, lists of tools, calls and their errors."""

import json
from typing import Any

import pytest

from simulator import BOARDS, get_profile
from simulator.board.tools import board_tools
from tests.simulator.trace import (
    LISTENING,
    TTS_START,
    Stage,
    Step,
    Trace,
    device,
    disconnects,
    mcp,
    replay,
    replays,
    request,
    sees,
    server,
    stage,
    still,
    streams,
)

STATUS = {"name": "self.get_device_status"}
VOLUME = "self.audio_speaker.set_volume"
SILENT = {"self.reboot", "self.upgrade_firmware", "self.system.reconfigure_wifi"}


def call(tool: str, /, **arguments: Any) -> Step:
    return request("tools/call", name=tool, arguments=arguments)


def replies(result: Any = None, **error: Any) -> Step:
    """Expect a result with these members, a text, or just this error."""
    if error:
        return device(type="mcp", payload={"error": lambda found: found == error})
    if isinstance(result, str):
        content = [{"type": "text", "text": result}]
        return device(type="mcp", payload={"result": {"isError": False, "content": content}})
    return device(type="mcp", payload={"id": 1, "result": result})


IGNORED: dict[str, Any] = {
    "no version": {"id": 1, "method": "ping"},
    "another version": {"jsonrpc": "2.0.1", "id": 1, "method": "ping"},
    "no method": {"jsonrpc": "2.0", "id": 1},
    "a number as method": {"jsonrpc": "2.0", "id": 1, "method": 5},
    "a text as id": {"jsonrpc": "2.0", "id": "1", "method": "ping"},
    "no id": {"jsonrpc": "2.0", "method": "ping"},
    "a boolean as id": {"jsonrpc": "2.0", "id": True, "method": "ping"},
    "null as params": {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None},
    "an array as params": {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
    "a notification": {"jsonrpc": "2.0", "id": 1, "method": "notifications/initialized"},
    "a response": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "no object": "no object",
}
BAD_CALLS: list[tuple[Any, str]] = [
    ({}, "Missing name"),
    ({"name": 5}, "Missing name"),
    ({"name": "self.nothing"}, "Unknown tool: self.nothing"),
    (STATUS | {"arguments": None}, "Invalid arguments"),
    (STATUS | {"arguments": []}, "Invalid arguments"),
    ({"name": VOLUME}, "Missing valid argument: volume"),
    ({"name": VOLUME, "arguments": {"volume": "50"}}, "Missing valid argument: volume"),
    ({"name": VOLUME, "arguments": {"volume": 101}}, "Value exceeds maximum allowed: 100"),
    ({"name": VOLUME, "arguments": {"volume": -1}}, "Value is below minimum allowed: 0"),
]
NEW_CODES: list[tuple[str, Any, int]] = [
    ("ping", {}, -32601),
    ("tools/call", {"name": "self.nothing"}, -32602),
    ("tools/call", {"name": VOLUME, "arguments": {"volume": "50"}}, -32602),
    ("tools/call", {"name": "self.camera.take_photo", "arguments": {"question": "What?"}}, -32603),
    ("tools/list", {"cursor": "self.nothing"}, -32603),
]
WAVE = {"action": "wave", "hand": True, "steps": None, "amount": 20}
REQUESTS = {
    "initialize": Trace(
        section="F.2",
        rows=[
            *LISTENING,
            request("initialize", capabilities={}),
            device(
                {
                    "session_id": "session-1",
                    "type": "mcp",
                    "payload": {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "result": {
                            "protocolVersion": "2024-11-05",
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "waveshare-esp32-s3-touch-amoled-1.8", "version": "2.4.2"},
                        },
                    },
                }
            ),
        ],
    ),
    **{
        f"no reply to {name}": Trace(
            section="F.1",
            rows=[
                *LISTENING,
                server(mcp(payload)),
                request("ping", 2),
                device(type="mcp", payload={"id": 2}),
            ],
        )
        for name, payload in IGNORED.items()
    },
    **{
        f"the id {sent}": Trace(
            section="F.1", rows=[*LISTENING, request("ping", sent), device(type="mcp", payload={"id": back})]
        )
        for sent, back in ((2**40, 2**31 - 1), (-(2**40), -(2**31)), (7.9, 7))
    },
    **{
        f"{method} with {params} is an error": Trace(
            section="F.3", rows=[*LISTENING, request(method, **params), replies(message=message)]
        )
        for method, params, message in (
            ("ping", {}, "Method not implemented: ping"),
            *(("tools/call", params, message) for params, message in BAD_CALLS),
            *(
                ("tools/list", {"cursor": cursor}, "Failed to add tool  because of payload size limit")
                for cursor in ("self.nothing", "self.reboot")
            ),
        )
    },
    **{
        f"2.5 says {code} to {method} with {params}": Trace(
            section="L",
            version="2.5.0",
            board="camera",
            rows=[
                *LISTENING,
                request(method, **params),
                device(type="mcp", payload={"error": {"code": code}}),
            ],
        )
        for method, params, code in NEW_CODES
    },
    "errors are not escaped": Trace(
        section="F.4",
        rows=[
            *LISTENING,
            call('a"b'),
            device(
                '{"session_id":"session-1","type":"mcp","payload":'
                '{"jsonrpc":"2.0","id":1,"error":{"message":"Unknown tool: a"b"}}}'
            ),
        ],
    ),
    "arguments in any case, cut to integers, and unknown ones": Trace(
        section="F.4",
        rows=[*LISTENING, call(VOLUME, Volume=33.9, other=[]), replies("true"), still(values={"volume": 33})],
    ),
    "a wrong type falls back to the default": Trace(
        section="F.4",
        board="electron",
        rows=[
            *LISTENING,
            call("self.electron.hand_action", **WAVE),
            replies("true"),
            still(transcript=lambda events: called(events) == [1, 3, 1, 1000, 20]),
        ],
    ),
    "2.5 refuses a wrong type": Trace(
        section="L",
        version="2.5.0",
        board="electron",
        rows=[
            *LISTENING,
            call("self.electron.hand_action", **WAVE),
            replies(code=-32602, message="Invalid type of argument: action"),
        ],
    ),
    **{
        f"{tool} never answers": Trace(
            section="F.4", rows=[*LISTENING, call(tool), disconnects(), sees(state=state)]
        )
        for tool, state in {"self.reboot": "idle", "self.system.reconfigure_wifi": "wifi_configuring"}.items()
    },
    "a call blocks the main task": Trace(
        section="F.4",
        rows=[
            *LISTENING,
            streams(1),
            lambda on: slow(on, 0.3),
            request("tools/call", 1, **STATUS),
            request("tools/call", 2, **STATUS),
            server(TTS_START),
            device(type="mcp", payload={"id": 1}),
            device(type="mcp", payload={"id": 2}),
            sees(state="speaking"),
            still(transcript=lambda events: gaps(events) == pytest.approx((0.3, 0.3), abs=0.01)),
        ],
    ),
    "some versions run tools beside it": Trace(
        section="F.4",
        version="1.9.1",
        rows=[*LISTENING, lambda on: slow(on, 60), request("tools/call", 1, **STATUS), streams(20)],
    ),
}


def called(events: list[Any]) -> list[Any]:
    """Return the arguments of the last call of a tool."""
    return [*[event.data["arguments"] for event in events if event.kind == "tool"][-1].values()]


def gaps(events: list[Any]) -> tuple[float, float]:
    """Return the seconds between two calls of tools, and from the second to speaking."""
    first, second = [event.time for event in events if event.kind == "tool"]
    (speaking,) = [event.time for event in events if event.data == {"state": "speaking"}]
    return second - first, speaking - second


async def slow(on: Stage, seconds: float) -> None:
    on.sim.tool_seconds["self.get_device_status"] = seconds


@replays(REQUESTS)
async def test_requests(trace: Trace) -> None:
    await replay(trace)


@pytest.mark.parametrize("board", BOARDS)
async def test_every_tool_of_a_board_is_listed_in_order_and_answers(board: str) -> None:
    """F.3: pages of 8000 bytes, the next tool's name as cursor; user-only tools last, marked, on request."""
    async with stage(Trace(section="F.3", board=board, rows=())) as on:
        for row in LISTENING:
            await row(on)

        async def ask(step: Step) -> Any:
            had = len(on.texts())
            await step(on)
            link = await on.link()
            await link.until(lambda: len(on.texts()) > had)
            return json.loads(on.texts()[had])["payload"]

        listed: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        for user in listed:
            params: dict[str, Any] = {"withUserTools": user}
            while True:
                result = (await ask(request("tools/list", **params)))["result"]
                assert len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()) <= 8000
                listed[user] += result["tools"]
                if (cursor := result.get("nextCursor")) is None:
                    break
                params["cursor"] = cursor
        registered = board_tools(get_profile(board))
        assert [tool["name"] for tool in listed[True]] == [tool.name for tool in registered]
        common = [tool for tool in listed[True] if "annotations" not in tool]
        assert listed[False] == common == listed[True][: len(common)]
        examples: dict[str, Any] = {"integer": 1, "string": "http://127.0.0.1:1/", "boolean": True}
        for tool in registered:
            if tool.name not in SILENT:
                arguments = {name: examples[rule["type"]] for name, rule in tool.properties.items()}
                reply = await ask(call(tool.name, **arguments))
                assert "content" in reply.get("result", ()) or "message" in reply["error"]
            used = [value[1:] for value in tool.set.values() if isinstance(value, str) and value[0] == "$"]
            used += [key.partition("$")[2] for key in tool.set if "$" in key]
            assert {*used, *tool.choices} <= {*tool.properties}


STATES: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "lamp": [
        ("self.lamp.turn_on", {}, "true"),
        ("self.lamp.get_state", {}, '{"power":true}'),
    ],
    "led-strip": [
        ("self.led_strip.set_brightness", {"level": 8}, "true"),
        ("self.led_strip.get_brightness", {}, "8"),
    ],
    "rover": [
        ("self.chassis.switch_light_mode", {"light_mode": 5}, "true"),
        ("self.chassis.get_light_mode", {}, "0"),
    ],
    "dog": [
        ("self.light.set_rgb", {"r": 1, "g": 2, "b": 3}, "true"),
        ("self.light.get_power", {}, "true"),
        ("self.dog.basic_control", {"action": "fly"}, "false"),
    ],
    "otto": [
        ("self.otto.set_trim", {"servo_type": "left_foot", "trim_value": -7}, "舵机微调已保存"),
        ("self.battery.get_level", {}, '{"level":82,"charging":false}'),
        ("self.screen.get_info", {}, '{"width":240,"height":240,"monochrome":false}'),
    ],
    "c3": [("self.set_press_to_talk", {"mode": "shout"}, "Invalid mode: shout")],
}


@pytest.mark.parametrize("board", STATES)
async def test_tools_keep_their_state(board: str) -> None:
    rows = [row for name, given, text in STATES[board] for row in (call(name, **given), replies(text))]
    if board == "c3":
        rows[-1] = replies(message=STATES[board][0][2])
    await replay(Trace(section="F.4", board=board, rows=[*LISTENING, *rows]))
