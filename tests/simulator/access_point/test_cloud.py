"""The cloud: what it sends, what it closes, and what a model gets of a call."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from simulator.access_point import Cloud, CloudFaults, LinkClosedError, Timing
from tests.simulator.access_point.peers import TOOLS, peer, sdk_server


async def test_the_cloud_speaks_first_and_in_the_order_of_the_logs() -> None:
    async with Cloud() as cloud, peer(cloud.url()) as dialled:
        session = await (await cloud.session()).ready()
        await asyncio.sleep(61)
        first, note, listing, ping = dialled.asked
        assert (first["id"], first["method"]) == (0, "initialize")
        assert first["params"] == {
            "protocolVersion": "2024-11-05",
            "capabilities": {"sampling": {}, "roots": {"listChanged": False}},
            "clientInfo": {"name": "xz-mcp-broker", "version": "0.0.1"},
        }
        assert note == {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert listing == {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert ping == {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert session.tools == {tool["name"]: tool for tool in TOOLS}
        answer = await session.call("intent__HassTurnOn", {"name": "lamp"})
        assert answer.text == 'intent__HassTurnOn {"name": "lamp"}'
        assert dialled.asked[-1]["id"] == 3
        assert dialled.asked[-1]["params"] == {
            "name": "intent__HassTurnOn",
            "arguments": {"name": "lamp"},
            "serialNumber": None,
        }
        assert session.violations == []


async def test_the_official_sdk_can_be_the_other_side() -> None:
    async with Cloud() as cloud, sdk_server(cloud.url()):
        session = await (await cloud.session()).ready()
        assert {*session.tools} == {"HassTurnOn", "HassTurnOff"}
        answer = await session.call("HassTurnOn", {"name": "lamp"}, serial="SN1")
        assert (answer.text, answer.failed) == ("lamp is on", False)
        assert (await session.call("HassFly", {})).failed
        await asyncio.sleep(200)
        assert session.open
        assert session.violations == []


@pytest.mark.parametrize(
    ("deaf_to", "seconds"), [("initialize", 10), ("tools/list", 10), ("ping", 70), ("", None)]
)
async def test_what_stays_unanswered_ends_with_4004(deaf_to: str, seconds: float | None) -> None:
    loop = asyncio.get_running_loop()
    async with Cloud() as cloud, peer(cloud.url(), deaf_to={deaf_to}) as dialled:
        begin = loop.time()
        if seconds is None:
            await asyncio.sleep(2 * 3600)
            assert cloud.sessions[0].open
        else:
            await dialled.connection.wait_closed()
            assert loop.time() - begin == pytest.approx(seconds, abs=1)
            assert dialled.connection.close_code == 4004
            assert dialled.connection.close_reason == "Internal server error"


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("initialize", {"error": {"code": -32603, "message": "no"}}),
        ("initialize", {"result": {"capabilities": {"tools": {}}}}),
        ("initialize", {"result": {"protocolVersion": "2024-11-05", "capabilities": {}}}),
        ("tools/list", {"result": {"tools": [{"name": "x"}]}}),
        ("tools/list", {"result": []}),
    ],
)
async def test_a_rejected_answer_ends_with_4004(method: str, reply: dict[str, Any]) -> None:
    async with Cloud() as cloud, peer(cloud.url(), replies={method: reply}) as dialled:
        with pytest.raises(LinkClosedError):
            await (await cloud.session()).ready()
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004


async def test_times_can_be_scaled() -> None:
    loop = asyncio.get_running_loop()
    async with (
        Cloud(timing=Timing().scaled(0.01)) as cloud,
        peer(cloud.url(), deaf_to={"initialize"}) as dialled,
    ):
        begin = loop.time()
        await dialled.connection.wait_closed()
        assert loop.time() - begin == pytest.approx(0.1, abs=0.1)


async def test_two_sockets_of_one_token_make_one_list() -> None:
    others = [TOOLS[1] | {"description": "newer"}, TOOLS[0] | {"name": "self.dance"}]
    async with Cloud() as cloud:
        url = cloud.url()
        async with peer(url), peer(url, tools=others):
            for number in (1, 2):
                await (await cloud.session(number)).ready()
            agent = cloud.agent()
            assert {*agent.tools} == {"intent__HassTurnOn", "intent__HassTurnOff", "self.dance"}
            assert agent.tools["intent__HassTurnOff"]["description"] == "newer"
            assert (await agent.call("self.dance", {})).text == "self.dance {}"
            assert [len(session.replies) for session in cloud.sessions] == [2, 3]
            with pytest.raises(LinkClosedError):
                await agent.call("unknown", {})


async def test_an_agent_has_a_limit_of_connections() -> None:
    async with (
        Cloud(faults=CloudFaults(max_connections=1)) as cloud,
        peer(cloud.url()),
        peer(cloud.url()) as second,
        peer(cloud.url(cloud.token(1002))) as other,
    ):
        await second.connection.wait_closed()
        assert second.connection.close_code == 4004
        await (await cloud.session(3)).ready()
        assert other.asked


async def test_calls_run_at_once_and_may_end_in_any_order() -> None:
    async def work(name: str, arguments: Any) -> str:
        await asyncio.sleep(arguments["seconds"])
        return str(arguments["seconds"])

    async with Cloud() as cloud, peer(cloud.url(), work=work) as dialled:
        session = await (await cloud.session()).ready()
        answers = await asyncio.gather(
            *(session.call("intent__HassTurnOn", {"seconds": 100 - n}) for n in range(100))
        )
        assert [answer.text for answer in answers] == [str(100 - n) for n in range(100)]
        calls = [message["id"] for message in dialled.asked if message["method"] == "tools/call"]
        assert calls == sorted(calls)
        assert session.replies[-1]["id"] != calls[-1]
        assert not session.violations


async def test_a_result_that_is_too_long_ends_with_4004() -> None:
    async def work(name: str, arguments: Any) -> str:
        return "ä" * arguments["letters"]

    async with Cloud() as cloud, peer(cloud.url(), work=work) as dialled:
        session = await (await cloud.session()).ready()
        assert len((await session.call("intent__HassTurnOn", {"letters": 4096})).text) == 4096
        await session.call("intent__HassTurnOn", {"letters": 4097})
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004


@pytest.mark.parametrize("closes", [False, True])
async def test_the_model_is_told_of_a_call_that_takes_too_long(closes: bool) -> None:
    faults = CloudFaults(call_timeout_closes=closes)
    timing = Timing(call=10)
    async with (
        Cloud(faults=faults, timing=timing) as cloud,
        peer(cloud.url(), deaf_to={"tools/call"}) as dialled,
    ):
        session = await (await cloud.session()).ready()
        if closes:
            with pytest.raises(LinkClosedError):
                await session.call("intent__HassTurnOn", {})
            await dialled.connection.wait_closed()
            assert dialled.connection.close_code == 4004
            return
        answer = await session.call("intent__HassTurnOn", {})
        assert answer.timed_out
        assert answer.failed
        assert json.loads(answer.text) == {
            "success": False,
            "error": "Tool call was aborted due to timeout (10000ms)",
        }
        assert session.open


async def test_a_call_is_over_when_the_connection_breaks() -> None:
    async with Cloud() as cloud, peer(cloud.url(), deaf_to={"tools/call"}) as dialled:
        session = await (await cloud.session()).ready()
        call = asyncio.create_task(session.call("intent__HassTurnOn", {}))
        await asyncio.sleep(1)
        await session.drop()
        with pytest.raises(LinkClosedError):
            await call
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 1006


@pytest.mark.parametrize("faults", [{"max_tools": 1}, {"max_list_bytes": 50}])
async def test_a_list_that_is_too_long_ends_with_4004(faults: dict[str, Any]) -> None:
    async with Cloud(faults=CloudFaults(**faults)) as cloud, peer(cloud.url()) as dialled:
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004
        assert cloud.sessions[0].list_bytes > 50


async def test_an_idle_connection_is_dropped_without_a_close_frame() -> None:
    loop = asyncio.get_running_loop()
    async with Cloud(faults=CloudFaults(idle_drop=3600)) as cloud, peer(cloud.url()) as dialled:
        session = await (await cloud.session()).ready()
        await asyncio.sleep(1800)
        called = loop.time()
        await session.call("intent__HassTurnOn", {})
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 1006
        assert loop.time() - called == pytest.approx(3600, abs=5)


async def test_a_half_open_connection_answers_nothing_and_does_not_end() -> None:
    options = {"ping_interval": 20, "ping_timeout": 20, "close_timeout": 1}
    async with (
        Cloud(faults=CloudFaults(freeze_after=100)) as cloud,
        peer(cloud.url(), options=options) as dialled,
    ):
        session = await (await cloud.session()).ready()
        begin = asyncio.get_running_loop().time()
        await dialled.connection.wait_closed()
        assert 120 < asyncio.get_running_loop().time() - begin < 150
        assert dialled.connection.close_code == 1006
        assert session.frozen


async def test_calls_can_come_first_and_initialize_again() -> None:
    faults = CloudFaults(call_first="intent__HassTurnOn", initializations=3)
    async with Cloud(faults=faults) as cloud, peer(cloud.url()) as dialled:
        await (await cloud.session()).ready()
        methods = [message["method"] for message in dialled.asked]
        assert methods == [
            "tools/call",
            *["initialize", "notifications/initialized"] * 3,
            "tools/list",
        ]


async def test_a_silent_cloud_is_led_by_the_test() -> None:
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, peer(cloud.url()) as dialled:
        session = await cloud.session()
        await asyncio.sleep(1000)
        assert not dialled.asked
        first, second = await asyncio.gather(
            session.request("ping", request_id="seven"), session.request("ping", request_id="seven")
        )
        assert first == second == {"jsonrpc": "2.0", "id": "seven", "result": {}}
        await session.notify("notifications/cancelled", {"requestId": 1})
        assert not session.violations


@pytest.mark.parametrize(
    ("frame", "violation"),
    [
        (b'{"jsonrpc":"2.0","method":"x"}', "a binary frame"),
        ("{", "a frame that is not JSON"),
        ("[]", "a frame that is not a JSON-RPC 2.0 object"),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}', "a request: ping"),
        ('{"jsonrpc":"2.0","id":1}', "neither of result and error"),
        ('{"jsonrpc":"2.0","id":0,"result":{}}', "a reply too many to the id 0"),
    ],
)
async def test_the_double_notes_what_the_tool_side_must_not_do(frame: str | bytes, violation: str) -> None:
    async with (
        Cloud(faults=CloudFaults(silent=True)) as cloud,
        connect(cloud.url()) as connection,
    ):
        session = await cloud.session()
        await connection.send(frame)
        await asyncio.sleep(1)
        assert len(session.violations) == 1
        assert violation in session.violations[0]


async def test_a_second_reply_to_one_request_is_noted() -> None:
    async with Cloud() as cloud, connect(cloud.url()) as connection:
        assert json.loads(await connection.recv())["id"] == 0
        for _ in range(2):
            await connection.send('{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"x"}}')
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert cloud.sessions[0].violations == ["a reply too many to the id 0"]
