"""The cloud's access point and a self-hosted one, as the reference of the access point describes them.

Each test names its section there. `tests/protocol/access_point` tests that our side bears their faults;
here a few lines over `websockets` are the tool side.
"""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect

from simulator.access_point import (
    Cable,
    Cloud,
    CloudFaults,
    EndpointServer,
    SelfHostedAgent,
    Timing,
)
from tests.simulator.access_point_peers import TOOLS, peer

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


@pytest.mark.parametrize(("method", "seconds"), [("initialize", 10), ("tools/list", 10), ("ping", 70)])
async def test_the_cloud_waits_ten_seconds_for_an_answer(method: str, seconds: float) -> None:
    """Sections 4 to 6."""
    async with Cloud() as cloud, peer(cloud.url(), deaf_to={method}) as dialled:
        begin = now()
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004
        assert now() - begin == pytest.approx(seconds, abs=1)


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
        assert json.loads(late.text)["error"] == "Tool call was aborted due to timeout (10000ms)"
        assert len((await session.call(TURN_ON, {"letters": 4096})).text) == 4096
        await session.call(TURN_ON, {"letters": 4097})
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004


@pytest.mark.parametrize(
    ("frame", "violation"),
    [
        (b'{"jsonrpc":"2.0","method":"x"}', "a binary frame"),
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


# Self-hosted: section 10


def call_url(url: str) -> str:
    return url.replace("/mcp/?", "/call/?")


async def deaf(url: str) -> bool:
    """Return whether the server says that no tool side is there."""
    async with connect(call_url(url)) as connection:
        await connection.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        reply = json.loads(await asyncio.wait_for(connection.recv(), 60))
        return bool(reply.get("error", {}).get("code") == -32001)


async def test_an_agent_reads_the_tools_when_it_comes_calls_one_and_apologises_after_30_seconds() -> None:
    tools = [TOOLS[0] | {"name": "light.on"}, TOOLS[1]]
    async with EndpointServer() as server, peer(server.url(), tools=tools) as dialled:
        await server.wait_registered()
        await asyncio.sleep(3600)
        assert dialled.asked == []
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            methods = [message["method"] for message in dialled.asked]
            assert methods == ["initialize", "notifications/initialized", "tools/list"]
            assert {*agent.tools} == {"light_on", "intent__HassTurnOff"}
            answer = await agent.call("intent__HassTurnOff", {"name": "lamp"})
            assert (answer.text, answer.spoken) == ('intent__HassTurnOff {"name": "lamp"}', False)
            dialled.deaf_to.add("tools/call")
            begin = now()
            answer = await agent.call("light_on", {})
            assert (answer.spoken, answer.timed_out) == (True, True)
            assert now() - begin == pytest.approx(30, abs=1)


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
