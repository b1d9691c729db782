"""The device's MCP server, over a conversation."""

import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from simulator import Pace, get_profile
from simulator.application.mcp_server import McpServer
from simulator.board.tools import Tool, board_tools
from tests.simulator.fake_server import Server, Session
from tests.simulator.talk import call, linked


async def list_tools(session: Session, *, user: bool = True) -> list[list[dict[str, Any]]]:
    """Return all pages."""
    pages: list[list[dict[str, Any]]] = []
    params: dict[str, Any] = {"withUserTools": user}
    while True:
        result = (await session.call(len(pages) + 1, "tools/list", params))["result"]
        assert len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()) <= 8000
        pages.append(result["tools"])
        if "nextCursor" not in result:
            return pages
        params["cursor"] = result["nextCursor"]


async def test_initialize_names_board_and_version(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        assert await session.call(7, "initialize", {"capabilities": {}}) == {
            "jsonrpc": "2.0",
            "id": 7,
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "waveshare-esp32-s3-touch-amoled-1.8", "version": "2.4.2"},
            },
        }
        assert session.texts[-1]["session_id"] == "session-1"


@pytest.mark.parametrize(
    "payload",
    [
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": "1", "method": "ping"},
        {"jsonrpc": "2.0", "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        "no object",
    ],
)
async def test_what_is_not_well_formed_gets_no_answer(server: Server, payload: object) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        await session.send({"type": "mcp", "payload": payload})
        reply = await session.call(2, "ping")
        assert reply == {"jsonrpc": "2.0", "id": 2, "error": {"message": "Method not implemented: ping"}}
        assert session.seen(type="mcp") == 1


@pytest.mark.parametrize(
    ("sent", "back"), [(2**40, 2**31 - 1), (-(2**40), -(2**31)), (7.9, 7), (1e300, 2**31 - 1)]
)
async def test_ids_become_32_bit_integers(server: Server, sent: float, back: int) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        await session.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "id": sent, "method": "ping"}})
        assert (await session.expect(type="mcp"))["payload"]["id"] == back


async def test_user_only_tools_are_listed_on_request_and_marked(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        names = [tool["name"] for page in await list_tools(session, user=False) for tool in page]
        with_user_tools = [tool for page in await list_tools(session) for tool in page]
        assert names[0] == "self.get_device_status"
        assert "self.reboot" not in names
        marked = {
            tool["name"] for tool in with_user_tools if tool.get("annotations") == {"audience": ["user"]}
        }
        assert {"self.reboot", "self.screen.snapshot", "self.get_system_info"} <= marked
        assert [tool["name"] for tool in with_user_tools if tool["name"] not in marked] == names


async def test_firmware_1_has_no_user_tools(server: Server) -> None:
    async with server.device(profile=get_profile(version="1.9.4")) as sim:
        session = await linked(server, sim)
        names = [tool["name"] for page in await list_tools(session) for tool in page]
        assert "self.audio_speaker.set_volume" in names
        assert "self.reboot" not in names


async def test_a_tool_says_its_arguments_and_which_are_required(server: Server) -> None:
    async with server.device(profile=get_profile("electron")) as sim:
        session = await linked(server, sim)
        tools = {tool["name"]: tool for page in await list_tools(session) for tool in page}
        assert tools["self.audio_speaker.set_volume"]["inputSchema"] == {
            "type": "object",
            "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
            "required": ["volume"],
        }
        assert "required" not in tools["self.electron.hand_action"]["inputSchema"]
        assert tools["self.get_device_status"]["inputSchema"] == {"type": "object", "properties": {}}


async def test_a_robot_has_more_tools_than_fit_a_page(server: Server) -> None:
    async with server.device(profile=get_profile("otto")) as sim:
        session = await linked(server, sim)
        pages = await list_tools(session)
        assert len(pages) > 1
        listed = [tool["name"] for page in pages for tool in page]
        assert listed == [tool.name for tool in board_tools(get_profile("otto"))]
        assert any(len(tool["description"].encode()) > 2000 for page in pages for tool in page)


@pytest.mark.parametrize("params", [{"cursor": "self.nothing"}, {"cursor": "self.reboot"}])
async def test_an_unknown_cursor_or_one_with_only_hidden_tools_behind_it_is_an_error(
    server: Server, params: dict[str, Any]
) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        reply = await session.call(1, "tools/list", params)
        assert reply["error"] == {"message": "Failed to add tool  because of payload size limit"}


def test_a_tool_that_fits_no_page_is_an_error_that_names_it() -> None:
    replies: list[str] = []
    server = McpServer(
        get_profile(),
        [Tool(name="self.huge", description="x" * 8000)],
        reply=replies.append,
        queue_call=lambda _: None,
        run=lambda _, __: pytest.fail("nothing to run"),
    )
    server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert "Failed to add tool self.huge because" in replies[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Missing name"),
        ({"name": 5}, "Missing name"),
        ({"name": "self.nothing"}, "Unknown tool: self.nothing"),
        ({"name": "self.get_device_status", "arguments": None}, "Invalid arguments"),
        ({"name": "self.get_device_status", "arguments": []}, "Invalid arguments"),
        ({"name": "self.audio_speaker.set_volume"}, "Missing valid argument: volume"),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": "50"}},
            "Missing valid argument: volume",
        ),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 101}},
            "Value exceeds maximum allowed: 100",
        ),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": -1}},
            "Value is below minimum allowed: 0",
        ),
    ],
)
async def test_a_bad_call_is_an_error_without_code(
    server: Server, params: dict[str, Any], message: str
) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        assert (await session.call(1, "tools/call", params))["error"] == {"message": message}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("ping", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "self.nothing"}, -32602),
        ("tools/call", {"name": "self.get_device_status", "arguments": []}, -32602),
        ("tools/call", {"name": "self.audio_speaker.set_volume"}, -32602),
        ("tools/call", {"name": "self.audio_speaker.set_volume", "arguments": {"volume": "50"}}, -32602),
        ("tools/call", {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 101}}, -32602),
        ("tools/call", {"name": "self.camera.take_photo", "arguments": {"question": "What?"}}, -32603),
        ("tools/list", {"cursor": "self.nothing"}, -32603),
    ],
)
async def test_from_2_5_on_errors_have_a_code(
    server: Server, method: str, params: dict[str, Any], code: int
) -> None:
    async with server.device(profile=get_profile("camera", "2.5.0")) as sim:
        session = await linked(server, sim)
        error = (await session.call(1, method, params))["error"]
        assert set(error) == {"code", "message"}
        assert error["code"] == code


async def test_from_2_5_on_an_argument_of_a_wrong_type_is_an_error(server: Server) -> None:
    async with server.device(profile=get_profile("electron", "2.5.0")) as sim:
        session = await linked(server, sim)
        arguments: dict[str, Any] = {"action": "wave", "amount": 20}
        reply = await session.call(
            1, "tools/call", {"name": "self.electron.hand_action", "arguments": arguments}
        )
        assert reply["error"] == {"code": -32602, "message": "Invalid type of argument: action"}
        arguments = {"amount": 20}
        assert await call(session, "self.electron.hand_action", **arguments) == "true"


async def test_a_call_without_params_is_an_error(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        await session.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}})
        assert (await session.expect(type="mcp"))["payload"]["error"] == {"message": "Missing params"}


async def test_error_messages_are_not_escaped(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 'a"b'}}
        await session.send({"type": "mcp", "payload": request})
        await session.until(lambda: any("Unknown tool" in str(message) for message in session.messages))
        text = next(message for message in session.messages if "Unknown tool" in str(message))
        assert text == (
            '{"session_id":"session-1","type":"mcp","payload":'
            '{"jsonrpc":"2.0","id":1,"error":{"message":"Unknown tool: a"b"}}}'
        )


async def test_arguments_are_found_in_any_case_cut_to_integers_and_unknown_ones_ignored(
    server: Server,
) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        assert await call(session, "self.audio_speaker.set_volume", Volume=33.9, other=[]) == "true"
        assert sim.values["volume"] == 33


async def test_a_wrong_type_falls_back_to_the_default(server: Server) -> None:
    async with server.device(profile=get_profile("electron")) as sim:
        session = await linked(server, sim)
        arguments = {"action": "wave", "hand": True, "steps": None, "amount": 20}
        assert await call(session, "self.electron.hand_action", **arguments) == "true"
        assert sim.events("tool")[-1]["arguments"] == {
            "action": 1,
            "hand": 3,
            "steps": 1,
            "speed": 1000,
            "amount": 20,
        }


async def test_calls_run_one_after_the_other_and_stop_the_microphone_meanwhile(server: Server) -> None:
    async with server.device(pace=Pace(uplink=20, main_loop_delay=0)) as sim:
        session = await linked(server, sim)
        await session.until(lambda: session.packets)
        sim.tool_seconds["self.get_device_status"] = 0.3
        for request_id in (1, 2):
            request = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call"}
            await session.send(
                {"type": "mcp", "payload": request | {"params": {"name": "self.get_device_status"}}}
            )
        await session.start_speaking()
        await session.expect(type="mcp")
        packets = len(session.packets)
        await session.expect(type="mcp")
        assert len(session.packets) - packets <= 41
        assert [text["payload"]["id"] for text in session.texts if text["type"] == "mcp"] == [1, 2]
        called = [event.time for event in sim.transcript if event.kind == "tool"]
        assert called[1] - called[0] == pytest.approx(0.3)
        states = [event.time for event in sim.transcript if event.data == {"state": "speaking"}]
        assert states[0] >= called[1] + 0.29


async def test_some_versions_run_tools_beside_the_main_task(server: Server) -> None:
    profile = get_profile(version="1.9.1")
    async with server.device(profile=profile, pace=Pace(uplink=20, main_loop_delay=0)) as sim:
        session = await linked(server, sim)
        sim.tool_seconds["self.get_device_status"] = 60
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "self.get_device_status"},
        }
        await session.send({"type": "mcp", "payload": request})
        await sim.wait_for(lambda: bool(sim.events("tool")))
        packets = len(session.packets)
        await session.until(lambda: len(session.packets) > packets + 50)
        assert not session.seen(type="mcp")


async def test_reboot_never_answers_and_the_device_checks_in_again(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "self.reboot"}}
        await session.send({"type": "mcp", "payload": request})
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: len(server.http.requests) == 2)
        assert session.seen(type="mcp") == 0


async def test_leaving_for_the_wifi_set_up_ends_the_conversation_without_answer(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        name = "self.system.reconfigure_wifi"
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
        await session.send({"type": "mcp", "payload": request})
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: sim.state == "wifi_configuring")
        assert session.seen(type="mcp") == 0


async def test_the_system_information_is_that_of_the_check_in(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        text = await call(session, "self.get_system_info")
        assert text.encode() == server.http.requests[0].body


# Anything at all


@given(
    payload=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "cursor", "x"]),
                inner | st.sampled_from(["2.0", "tools/call", "tools/list", "initialize"]),
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_no_request_breaks_the_server(payload: Any) -> None:
    replies: list[str] = []
    server = McpServer(
        get_profile(),
        board_tools(get_profile()),
        reply=replies.append,
        queue_call=lambda _: None,
        run=lambda _, __: pytest.fail("nothing runs before it is queued"),
    )
    if isinstance(payload, dict):
        server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/list"} | payload)
    assert len(replies) <= 1
