"""The cloud's access point and a self-hosted one, as the reference of the access point describes them.

Each test names its section there. `tests/protocol/access_point` tests that our side bears their faults;
here a few lines over `websockets` are the tool side.
"""

import asyncio
import json

import pytest
from websockets.asyncio.client import connect

from simulator.access_point import Cloud, CloudFaults, EndpointServer, SelfHostedAgent
from tests.simulator.access_point_peers import TOOLS, peer

TURN_ON = "intent__HassTurnOn"


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_the_cloud_speaks_first_pings_and_closes_for_a_missing_answer() -> None:
    """Sections 3 and 4."""
    async with Cloud() as cloud, peer(cloud.url()) as dialled:
        session = await (await cloud.session()).ready()
        await asyncio.sleep(61)
        assert (await session.call(TURN_ON, {"letters": 2})).text == "ää"
        client = {"name": "xz-mcp-broker", "version": "0.0.1"}
        capabilities = {"sampling": {}, "roots": {"listChanged": False}}
        params = {"protocolVersion": "2024-11-05", "capabilities": capabilities, "clientInfo": client}
        called = {"name": TURN_ON, "arguments": {"letters": 2}, "serialNumber": None}
        assert dialled.asked == [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
            {"jsonrpc": "2.0", "id": 2, "method": "ping"},
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": called},
        ]
        assert session.tools == {tool["name"]: tool for tool in TOOLS}
        assert session.violations == []
        dialled.deaf_to.add("ping")
        begin = now()
        await dialled.connection.wait_closed()
        assert dialled.connection.close_code == 4004
        assert now() - begin == pytest.approx(69, abs=1)


async def test_the_double_notes_what_the_tool_side_must_not_do() -> None:
    """Section 12. A silent cloud sends nothing by itself."""
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, connect(cloud.url()) as connection:
        session = await cloud.session()
        await connection.send(b'{"jsonrpc":"2.0","method":"x"}')
        await connection.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await connection.send('{"jsonrpc":"2.0","id":0,"result":{}}')
        await asyncio.sleep(1)
        assert session.violations == ["a binary frame", "a request: ping", "a reply too many to the id 0"]


# Self-hosted: section 10


async def deaf(url: str) -> bool:
    """Return whether the server says that no tool side is there."""
    async with connect(url.replace("/mcp/?", "/call/?")) as connection:
        await connection.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        reply = json.loads(await asyncio.wait_for(connection.recv(), 60))
        return bool(reply.get("error", {}).get("code") == -32001)


async def test_an_agent_reads_the_tools_when_it_comes_calls_one_and_apologises_after_30_seconds() -> None:
    tools = [TOOLS[0] | {"name": "light.on"}]
    async with EndpointServer() as server, peer(server.url(), tools=tools) as dialled:
        await server.wait_registered()
        await asyncio.sleep(3600)
        assert dialled.asked == []
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            methods = [message["method"] for message in dialled.asked]
            assert methods == ["initialize", "notifications/initialized", "tools/list"]
            answer = await agent.call("light_on", {"letters": 1})
            assert (answer.text, answer.spoken) == ("ä", False)
            begin = now()
            answer = await agent.call("light_on", {"letters": 1, "seconds": 60})
            assert (answer.spoken, answer.timed_out) == (True, True)
            assert now() - begin == pytest.approx(30, abs=1)


async def test_what_makes_a_server_deaf() -> None:
    """A second tool side and a binary frame; not a clean close."""
    async with EndpointServer() as server:
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
