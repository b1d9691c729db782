"""The cloud's access point and a self-hosted one, as the reference of the access point tells of them.

Each trace names its section there. `tests/protocol/access_point` tests that our side bears their faults;
here a few lines over `websockets` are the tool side.
"""

import asyncio
from contextlib import suppress
import json
from typing import Any

import jwt
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from simulator.access_point import (
    YEAR,
    Cable,
    Cloud,
    CloudFaults,
    EndpointKey,
    EndpointServer,
    LinkClosedError,
    OpeningFaults,
    SelfHostedAgent,
    Timing,
    ask,
    odd_calls,
    refresh,
)
from tests.simulator.access_point_peers import TOOLS, peer, sdk_client

TURN_ON = "intent__HassTurnOn"


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_the_cloud_speaks_first_in_the_order_of_the_logs() -> None:
    """Section 3, and 4: a ping a minute."""
    async with Cloud() as cloud, peer(cloud.url()) as dialled:
        session = await (await cloud.session()).ready()
        await asyncio.sleep(61)
        answer = await session.call(TURN_ON, {"name": "lamp"})
        assert answer.text == f'{TURN_ON} {{"name": "lamp"}}'
        client = {"name": "xz-mcp-broker", "version": "0.0.1"}
        capabilities = {"sampling": {}, "roots": {"listChanged": False}}
        params = {"protocolVersion": "2024-11-05", "capabilities": capabilities, "clientInfo": client}
        called = {"name": TURN_ON, "arguments": {"name": "lamp"}, "serialNumber": None}
        assert dialled.asked == [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
            {"jsonrpc": "2.0", "id": 2, "method": "ping"},
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": called},
        ]
        assert session.tools == {tool["name"]: tool for tool in TOOLS}
        assert session.violations == []


BAD_ANSWERS: list[tuple[str, Any]] = [
    ("initialize", {"error": {"code": -32603, "message": "no"}}),
    ("initialize", {"result": {"protocolVersion": "2024-11-05", "capabilities": {}}}),
    ("tools/list", {"result": {"tools": [{"name": "x"}]}}),
]
ENDS: dict[str, tuple[dict[str, Any], dict[str, Any], int, float]] = {
    "initialize unanswered": ({}, {"deaf_to": {"initialize"}}, 4004, 10),
    "tools/list unanswered": ({}, {"deaf_to": {"tools/list"}}, 4004, 10),
    "ping unanswered": ({}, {"deaf_to": {"ping"}}, 4004, 70),
    "in a tenth of the time": ({"timing": Timing().scaled(0.1)}, {"deaf_to": {"initialize"}}, 4004, 1),
    **{
        f"{method} rejected {number}": ({}, {"replies": {method: reply}}, 4004, 0)
        for number, (method, reply) in enumerate(BAD_ANSWERS)
    },
    "too many tools": ({"faults": CloudFaults(max_tools=1)}, {}, 4004, 0),
    "too long a list": ({"faults": CloudFaults(max_list_bytes=50)}, {}, 4004, 0),
    "idle for an hour": ({"faults": CloudFaults(idle_drop=3600)}, {}, 1006, 3600),
    "half-open": (
        {"faults": CloudFaults(freeze_after=100)},
        {"options": {"ping_interval": 20, "ping_timeout": 20, "close_timeout": 1}},
        1006,
        121,
    ),
    **{
        f"{code} as soon as it is open": ({"opening": OpeningFaults(close_code=code)}, {}, code, 0)
        for code in (1000, 1008, 4004)
    },
}


@pytest.mark.parametrize("name", ENDS)
async def test_the_cloud_ends_a_connection(name: str) -> None:
    """Sections 4 to 6: with 4004 for what it does not take, and without a word when it is idle."""
    options, fields, code, seconds = ENDS[name]
    async with Cloud(**options) as cloud, peer(cloud.url(), **fields) as dialled:
        begin = now()
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == code
        assert now() - begin == pytest.approx(seconds, abs=max(1, seconds / 10))


async def test_tools_of_two_sockets_make_one_list_and_an_agent_has_a_limit() -> None:
    """Section 5."""
    others = [TOOLS[1] | {"description": "newer"}, TOOLS[0] | {"name": "self.dance"}]
    async with Cloud(faults=CloudFaults(max_connections=2)) as cloud:
        url = cloud.url()
        async with peer(url), peer(url, tools=others):
            for number in (1, 2):
                await (await cloud.session(number)).ready()
            agent = cloud.agent()
            assert {*agent.tools} == {TURN_ON, "intent__HassTurnOff", "self.dance"}
            assert agent.tools["intent__HassTurnOff"]["description"] == "newer"
            assert (await agent.call("self.dance", {})).text == "self.dance {}"
            with pytest.raises(LinkClosedError):
                await agent.call("unknown", {})
            async with peer(url) as third:
                await third.connection.wait_closed()
                assert third.connection.close_code == 4004


async def test_calls_run_at_once_end_in_any_order_and_may_be_too_long_or_take_too_long() -> None:
    """Sections 5 and 6."""

    async def work(name: str, arguments: Any) -> str:
        await asyncio.sleep(arguments.get("seconds", 0))
        return "ä" * arguments["letters"]

    async with Cloud(timing=Timing(call=10)) as cloud, peer(cloud.url(), work=work) as dialled:
        session = await (await cloud.session()).ready()
        begin = now()
        calls = [session.call(TURN_ON, {"seconds": 9 - n, "letters": n}) for n in range(9)]
        assert [len(answer.text) for answer in await asyncio.gather(*calls)] == [*range(9)]
        assert now() - begin < 10
        late = await session.call(TURN_ON, {"seconds": 60, "letters": 1})
        assert (late.timed_out, late.failed) == (True, True)
        assert json.loads(late.text)["error"] == "Tool call was aborted due to timeout (10000ms)"
        assert len((await session.call(TURN_ON, {"letters": 4096})).text) == 4096
        await session.call(TURN_ON, {"letters": 4097})
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004


async def test_a_call_is_over_when_the_connection_breaks() -> None:
    async with Cloud() as cloud, peer(cloud.url(), deaf_to={"tools/call"}) as dialled:
        session = await (await cloud.session()).ready()
        call = asyncio.create_task(session.call(TURN_ON, {}))
        await asyncio.sleep(1)
        await session.drop()
        with pytest.raises(LinkClosedError):
            await call
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 1006


async def test_calls_can_come_first_and_initialize_again() -> None:
    faults = CloudFaults(call_first=TURN_ON, initializations=3)
    async with Cloud(faults=faults) as cloud, peer(cloud.url()) as dialled:
        await (await cloud.session()).ready()
        methods = [message["method"] for message in dialled.asked]
        again = 3 * ["initialize", "notifications/initialized"]
        assert methods == ["tools/call", *again, "tools/list"]


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
    """Section 12. A silent cloud sends nothing by itself."""
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, connect(cloud.url()) as connection:
        session = await cloud.session()
        await connection.send(frame)
        await asyncio.sleep(1)
        (noted,) = session.violations
        assert violation in noted


@pytest.mark.parametrize(
    ("sentence", "called", "arguments"),
    [
        ("Turn on Kitchen Light!", TURN_ON, {"name": "Kitchen Light"}),
        ("set the lamp to 40 percent", "light__HassLightSet", {"name": "lamp", "brightness": 40}),
        ("what is on?", "homeassistant__GetLiveContext", {}),
        ("sing", None, {}),
    ],
)
async def test_the_scripted_model_calls_a_tool(sentence: str, called: str | None, arguments: Any) -> None:
    names = (TURN_ON, "light__HassLightSet", "homeassistant__GetLiveContext", f"assist__{TURN_ON}")
    tools = [TOOLS[0] | {"name": name} for name in names]
    async with Cloud() as cloud, peer(cloud.url(), tools=tools):
        await (await cloud.session()).ready()
        spoken = await ask(cloud.agent(), sentence)
        assert (spoken.called, spoken.arguments) == (called, arguments)


def test_odd_calls_name_the_tool_or_do_so_wrongly() -> None:
    for name, (params, outcomes) in odd_calls("HassTurnOn").items():
        assert (params.get("name") == "HassTurnOn") == ("result" in outcomes), name


# Opening


@pytest.mark.parametrize("kind", [Cloud, EndpointServer])
async def test_an_upgrade_can_be_refused(kind: type[Cloud | EndpointServer]) -> None:
    async with kind() as server:
        for status in (200, 401, 426, 502):
            server.opening.status = status
            with pytest.raises(InvalidStatus) as refused:
                await connect(server.url()).__aenter__()
            assert refused.value.response.status_code == server.attempts[-1].status == status


async def test_tokens_expire_are_revoked_and_are_like_published_ones() -> None:
    """Section 2."""
    time = 1_780_000_000.0
    async with Cloud(now=lambda: time, faults=CloudFaults(silent=True)) as cloud:
        payload = jwt.decode(cloud.token(42), options={"verify_signature": False})
        assert jwt.get_unverified_header(cloud.token(42)) == {"alg": "ES256", "typ": "JWT"}
        assert (payload["agentId"], payload["endpointId"], payload["exp"]) == (42, "agent_42", time + YEAR)
        near, endless, past = (cloud.token(valid=valid) for valid in (3600, None, -1))
        revoked = cloud.token()
        cloud.revoked.add(revoked)

        async def status(token: str) -> int:
            with suppress(InvalidStatus):
                await (await connect(cloud.url(token)).__aenter__()).close()
            return cloud.attempts[-1].status

        tokens = (near, endless, past, revoked, "x.y", "")
        assert [await status(token) for token in tokens] == [101, 101, 401, 401, 401, 401]
        time += 3601
        assert await status(near) == 401


async def test_it_can_stop_and_start_again_and_a_cut_cable_tells_neither_side() -> None:
    async with Cloud() as cloud, Cable(cloud.port) as cable:
        async with peer(cloud.url()) as dialled:
            await (await cloud.session()).ready()
            await cloud.stop(code=1001)
            await dialled.connection.wait_closed()
            assert dialled.connection.close_code == 1001
        await cloud.start()
        async with peer(cable.through(cloud.url())) as second:
            session = await (await cloud.session(2)).ready()
            cable.cut()
            await asyncio.sleep(5)
            assert session.open
            cable.reset()
            await second.connection.wait_closed()
            assert second.connection.close_code == 1006


# Self-hosted: section 10


def call_url(url: str) -> str:
    return url.replace("/mcp/?", "/call/?")


async def deaf(url: str) -> bool:
    """Return whether the server says that no tool side is there."""
    async with connect(call_url(url)) as connection:
        await connection.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        reply = json.loads(await asyncio.wait_for(connection.recv(), 60))
        return bool(reply.get("error", {}).get("code") == -32001)


async def test_an_agent_reads_the_tools_when_it_comes_and_calls_one() -> None:
    async with EndpointServer() as server, peer(server.url()) as dialled:
        await server.wait_registered()
        await asyncio.sleep(3600)
        assert dialled.asked == []
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            methods = [message["method"] for message in dialled.asked]
            assert methods == ["initialize", "notifications/initialized", "tools/list"]
            answer = await agent.call(TURN_ON, {"name": "lamp"})
            assert (answer.text, answer.spoken) == (f'{TURN_ON} {{"name": "lamp"}}', False)
            assert dialled.asked[-1]["id"].endswith("_n_1")
        assert await refresh(server.url()) == sorted(tool["name"] for tool in TOOLS)
        async with sdk_client(call_url(server.url())) as client:
            await client.initialize()
            assert {tool.name for tool in (await client.list_tools()).tools} == {
                tool["name"] for tool in TOOLS
            }


@pytest.mark.parametrize(
    ("request_id", "seen", "back"),
    [
        (7, "_n_7", 7),
        ("x_y", "_s_x_y", "x_y"),
        ("null", "_s_null", None),
        (0, 0, "lost"),
        (None, None, "lost"),
    ],
)
async def test_ids_are_translated(request_id: object, seen: object, back: object) -> None:
    async with (
        EndpointServer() as server,
        connect(server.url()) as side,
        connect(call_url(server.url())) as agent,
    ):
        await server.wait_registered()
        await agent.send(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "ping"}))
        message = json.loads(await side.recv())
        assert message["id"] == seen or str(message["id"]).endswith(str(seen))
        await side.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}))
        if back == "lost":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(agent.recv(), 5)
        else:
            assert json.loads(await agent.recv())["id"] == back


async def test_a_bad_token_is_accepted_and_then_closed() -> None:
    async with EndpointServer() as server:
        reasons = {"": "缺少token参数", "?token=" + EndpointKey("another").token("x"): "token解密失败"}
        for query, reason in reasons.items():
            async with connect(f"{server.origin}/mcp_endpoint/mcp/{query}") as connection:
                with pytest.raises(ConnectionClosed):
                    await connection.recv()
                assert (connection.close_code, connection.close_reason) == (1008, reason)


async def test_what_makes_a_server_deaf() -> None:
    """A second tool side, a binary frame, a silent loss; not a clean close."""
    async with EndpointServer() as server, Cable(server.port) as cable:
        for number in range(2):
            async with peer(server.url()):
                await server.wait_registered()
                assert not await deaf(server.url()), number
            await server.wait_registered(lambda sides: not sides)
        async with peer(server.url("two")) as first:
            await server.wait_registered()
            async with peer(server.url("two")):
                await first.connection.wait_closed()
                await asyncio.sleep(1)
                assert await deaf(server.url("two"))
        async with peer(server.url("three")) as dialled:
            await asyncio.sleep(1)
            await dialled.connection.send(b"{}")
            await asyncio.sleep(120)
            assert await deaf(server.url("three"))
            assert dialled.connection.close_code is None
        async with peer(cable.through(server.url("four"))):
            await asyncio.sleep(1)
            cable.cut()
            async with peer(server.url("four")):
                begin = now()
                assert not await deaf(server.url("four"))
                assert now() - begin == pytest.approx(20, abs=2)
                await asyncio.sleep(1)
                assert await deaf(server.url("four"))


@pytest.mark.parametrize(
    ("reply", "text", "spoken"),
    [
        ({"error": {"code": -32602, "message": "no tool"}}, "工具调用出错: no tool", True),
        ({"result": {"isError": True, "content": [{"text": "why"}]}}, "no details given", True),
        ({"result": {"content": [{"text": "one"}, {"text": "two"}]}}, "one", False),
        (
            {"result": {"content": [{"text": '{"action": "x"}'}]}},
            "ValueError: 'x' is not a valid Action",
            True,
        ),
        ({"result": {"content": []}}, '{"content": []}', False),
    ],
)
async def test_what_an_agent_makes_of_a_reply(reply: dict[str, Any], text: str, spoken: bool) -> None:
    async with EndpointServer() as server, peer(server.url(), replies={"tools/call": reply}):
        await server.wait_registered()
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            answer = await agent.call(TURN_ON, {})
            assert (answer.text, answer.spoken) == (text, spoken)


async def test_an_agent_renames_tools_and_apologises_after_30_seconds() -> None:
    tools = [TOOLS[0] | {"name": "light.on"}, TOOLS[1]]
    async with EndpointServer() as server, peer(server.url(), tools=tools, deaf_to={"tools/call"}):
        await server.wait_registered()
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert {*agent.tools} == {"light_on", "intent__HassTurnOff"}
            begin = now()
            answer = await agent.call("light_on", {})
            assert (answer.spoken, answer.timed_out) == (True, True)
            assert now() - begin == pytest.approx(30, abs=1)
