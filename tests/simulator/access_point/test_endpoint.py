"""A self-hosted server and its agent, with their bugs."""

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from simulator.access_point import (
    Cable,
    EndpointFaults,
    EndpointKey,
    EndpointServer,
    Link,
    SelfHostedAgent,
    refresh,
)
from tests.simulator.access_point.http import get
from tests.simulator.access_point.peers import TOOLS, peer, sdk_client, sdk_server


def call_url(url: str) -> str:
    return url.replace("/mcp/?", "/call/?")


async def deaf(url: str) -> bool:
    """Return whether the server says that no tool side is there."""
    async with connect(call_url(url)) as connection:
        await connection.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        reply = json.loads(await asyncio.wait_for(connection.recv(), 60))
        if "error" in reply:
            assert reply["id"] == 1
            assert reply["result"] is None
        return bool(reply.get("error", {}).get("code") == -32001)


async def test_an_agent_reads_the_tools_without_waiting_and_calls_one() -> None:
    async with EndpointServer() as server, peer(server.url()) as dialled:
        await server.wait_registered()
        await asyncio.sleep(3600)
        assert dialled.asked == []
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            first, note, listing = dialled.asked
            assert first["params"]["clientInfo"]["name"] == "XiaozhiMCPEndpointClient"
            assert first["id"].endswith("_n_1")
            assert note == {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert listing == {"jsonrpc": "2.0", "id": first["id"][:-1] + "2", "method": "tools/list"}
            assert {*agent.tools} == {tool["name"] for tool in TOOLS}
            answer = await agent.call("intent__HassTurnOn", {"name": "lamp"})
            assert (answer.text, answer.spoken) == ('intent__HassTurnOn {"name": "lamp"}', False)
            assert dialled.asked[-1]["id"] == first["id"]
            assert not agent.violations
        assert await refresh(server.url()) == sorted(tool["name"] for tool in TOOLS)


async def test_agents_share_one_socket_and_get_their_own_replies() -> None:
    async with EndpointServer() as server, peer(server.url()) as dialled:
        await server.wait_registered()
        async with (
            SelfHostedAgent.connected(server.url()) as one,
            SelfHostedAgent.connected(server.url()) as two,
        ):
            await asyncio.gather(one.ready(), two.ready())
            answers = await asyncio.gather(
                *(agent.call("intent__HassTurnOn", {"n": n}) for n in range(20) for agent in (one, two))
            )
        assert [answer.text for answer in answers] == [
            f'intent__HassTurnOn {{"n": {n}}}' for n in range(20) for _ in range(2)
        ]
        # An agent counts its calls from 1, too: the first two of each have ids that were there before.
        assert len({message["id"] for message in dialled.asked if "id" in message}) == 2 * 20


async def test_the_official_sdk_on_both_sides() -> None:
    async with (
        EndpointServer() as server,
        sdk_server(server.url()),
        sdk_client(call_url(server.url())) as client,
    ):
        await client.initialize()
        assert {tool.name for tool in (await client.list_tools()).tools} == {"HassTurnOn", "HassTurnOff"}
        result = await client.call_tool("HassTurnOn", {"name": "lamp"})
        assert result.content[0].text == "lamp is on"


@pytest.mark.parametrize(
    ("request_id", "seen", "back"),
    [
        (7, "_n_7", 7),
        ("x_y", "_s_x_y", "x_y"),
        ("null", "_s_null", None),
        (1.5, "_s_1.5", "1.5"),
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


async def test_what_the_tool_side_says_unasked_is_dropped_and_noise_of_an_agent_is_not() -> None:
    async with (
        EndpointServer() as server,
        connect(server.url()) as side,
        connect(call_url(server.url())) as agent,
    ):
        await server.wait_registered()
        for text in ("{", "[]", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', '{"id":1}'):
            await side.send(text)
        await agent.send("not JSON")
        assert await side.recv() == "not JSON"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agent.recv(), 5)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "缺少token参数"),
        ("?token=nonsense", "token解密失败"),
        ("?token=" + EndpointKey("another").token("x"), "token解密失败"),
    ],
)
async def test_a_bad_token_is_accepted_and_then_closed(query: str, reason: str) -> None:
    async with (
        EndpointServer() as server,
        connect(f"{server.origin}/mcp_endpoint/mcp/{query}") as connection,
    ):
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert (connection.close_code, connection.close_reason) == (1008, reason)
        assert [attempt.status for attempt in server.attempts] == [101]


async def test_a_token_with_a_plus_must_stay_as_it_is() -> None:
    async with EndpointServer() as server:
        agent = next(str(n) for n in range(1000) if "%2B" in server.key.token(str(n)))
        async with connect(server.url(agent)):
            await server.wait_registered()
        wrong = f"{server.origin}/mcp_endpoint/mcp/?token={unquote(server.key.token(agent))}"
        async with connect(wrong) as connection:
            await connection.wait_closed()
            assert connection.close_code == 1008


async def test_without_a_tool_side_even_notifications_get_an_error() -> None:
    async with EndpointServer() as server, connect(call_url(server.url())) as agent:
        await agent.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        reply = json.loads(await agent.recv())
        assert (reply["id"], reply["result"], reply["error"]["code"]) == (None, None, -32001)
        async with SelfHostedAgent.connected(server.url()) as other:
            await other.ready()
            assert other.tools == {}
            answer = await other.call("HassTurnOn", {})
            assert answer.spoken
            assert answer.failed


@pytest.mark.parametrize("faithful", [True, False])
async def test_a_second_tool_side_replaces_the_first_and_is_deaf(faithful: bool) -> None:
    async with (
        EndpointServer(faults=EndpointFaults(deaf_second=faithful)) as server,
        peer(server.url()) as first,
    ):
        await server.wait_registered()
        async with peer(server.url()) as second:
            await first.connection.wait_closed()
            assert first.connection.close_code == 1000
            assert first.connection.close_reason
            await asyncio.sleep(1)
            assert await deaf(server.url()) == faithful
            assert second.connection.close_code is None


async def test_a_reconnect_after_a_clean_close_or_a_reset_is_fine() -> None:
    async with EndpointServer() as server:
        for reset in (False, True):
            async with peer(server.url()) as first:
                await server.wait_registered()
                if reset:
                    first.connection.transport.abort()
                    await server.wait_registered(lambda sides: not sides)
            async with peer(server.url()):
                await server.wait_registered()
                assert not await deaf(server.url())


async def test_after_a_silent_loss_the_server_stalls_and_then_is_deaf() -> None:
    loop = asyncio.get_running_loop()
    async with (
        EndpointServer() as server,
        Cable(server.port) as cable,
        peer(cable.through(server.url())),
        peer(server.url("kitchen")),
    ):
        await server.wait_registered(lambda sides: len(sides) == 2)
        cable.cut()
        async with peer(server.url()) as second:
            begin = loop.time()
            assert await asyncio.gather(deaf(server.url()), deaf(server.url("kitchen"))) == [False, False]
            assert loop.time() - begin == pytest.approx(20, abs=2)
            await asyncio.sleep(1)
            assert await deaf(server.url())
            assert second.connection.close_code is None


async def test_a_tool_side_without_pongs_is_closed() -> None:
    loop = asyncio.get_running_loop()
    async with EndpointServer() as server, Cable(server.port) as cable, peer(cable.through(server.url())):
        await server.wait_registered()
        begin = loop.time()
        cable.cut()
        await server.wait_registered(lambda sides: not sides)
        assert 40 <= loop.time() - begin <= 62


@pytest.mark.parametrize("faithful", [True, False])
async def test_a_binary_frame_makes_deaf_without_a_close(faithful: bool) -> None:
    faults = EndpointFaults(deaf_after_binary=faithful)
    async with EndpointServer(faults=faults) as server, peer(server.url()) as dialled:
        await server.wait_registered()
        await dialled.connection.send(b"{}")
        await asyncio.sleep(120)
        assert await deaf(server.url()) == faithful
        assert dialled.connection.close_code is None


@pytest.mark.parametrize(
    ("reply", "text", "spoken"),
    [
        ({"error": {"code": -32602, "message": "no tool"}}, "工具调用出错: no tool", True),
        ({"result": {"isError": True, "content": [{"text": "why"}]}}, "no details given", True),
        ({"result": {"isError": True, "error": "because", "content": []}}, "because", True),
        ({"result": {"content": [{"text": "one"}, {"text": "two"}]}}, "one", False),
        (
            {"result": {"content": [{"text": '{"action": "x"}'}]}},
            "ValueError: 'x' is not a valid Action",
            True,
        ),
        (
            {"result": {"content": [{"text": '{"result": {"action": 1}}'}]}},
            '{"result": {"action": 1}}',
            False,
        ),
        ({"result": {"content": []}}, '{"content": []}', False),
    ],
)
async def test_what_an_agent_makes_of_a_reply(reply: dict[str, Any], text: str, spoken: bool) -> None:
    async with EndpointServer() as server, peer(server.url(), replies={"tools/call": reply}):
        await server.wait_registered()
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            answer = await agent.call("intent__HassTurnOn", {})
            assert (answer.text, answer.spoken) == (text, spoken)


async def test_an_agent_apologises_after_30_seconds() -> None:
    loop = asyncio.get_running_loop()
    async with EndpointServer() as server, peer(server.url(), deaf_to={"tools/call"}):
        await server.wait_registered()
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            begin = loop.time()
            answer = await agent.call("intent__HassTurnOn", {})
            assert (answer.spoken, answer.timed_out) == (True, True)
            assert loop.time() - begin == pytest.approx(30, abs=1)


async def test_an_agent_renames_tools_and_follows_the_cursor() -> None:
    tools = [
        TOOLS[0] | {"name": "light.on", "description": "like light.off"},
        TOOLS[1] | {"name": "light.off"},
    ]
    async with EndpointServer() as server, connect(server.url()) as side:
        link = asyncio.create_task(_serve_pages(side, tools))
        await server.wait_registered()
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert {*agent.tools} == {"light_on", "light_off"}
            assert agent.tools["light_on"]["description"] == "like light_off"
            assert (await agent.call("light_on", {})).text == "light.on"
        link.cancel()


async def _serve_pages(side: Any, tools: list[dict[str, Any]]) -> None:
    while True:
        message = json.loads(await side.recv())
        match message:
            case {"method": "tools/call"}:
                result: dict[str, Any] = {"content": [{"type": "text", "text": message["params"]["name"]}]}
            case {"method": "tools/list", "params": {"cursor": _}}:
                result = {"tools": tools[1:]}
            case {"method": "tools/list"}:
                result = {"tools": tools[:1], "nextCursor": "2"}
            case _:
                result = {}
        if "id" in message:
            await side.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


async def test_health_and_unknown_paths() -> None:
    async with EndpointServer(key="secret") as server, connect(server.url()):
        await server.wait_registered()
        good, bad = [
            json.loads((await get(server.port, f"/mcp_endpoint/health?key={key}"))[1])
            for key in ("secret", "x")
        ]
        assert good["result"]["connections"] == {"tool_connections": 1, "robot_connections": 0}
        assert bad["error"]
        assert (await get(server.port, "/elsewhere"))[0] == 403


async def test_links_can_be_used_at_the_calling_side() -> None:
    """A tool side that looks for its own deafness does this."""
    async with EndpointServer() as server, peer(server.url()), connect(call_url(server.url())) as connection:
        await server.wait_registered()
        link = Link(connection)
        task = asyncio.create_task(link.run())
        assert (await link.request("ping", request_id=1, seconds=5))["result"] == {}
        task.cancel()
