"""The client of an access point over real sockets, against servers that do what they should not.

At the end against the doubles of the cloud and of a self-hosted server, with their faults.
"""

import asyncio
from dataclasses import replace
import json
import logging
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from custom_components.xiaozhi.protocol.access_point.reconnecting import EndingKind, Problem
from custom_components.xiaozhi.protocol.timeouts import AccessPointTimeouts
from simulator.access_point import (
    GARBAGE,
    Cable,
    Cloud,
    CloudFaults,
    EndpointServer,
    SelfHostedAgent,
    odd_calls,
    provoke,
)
from tests.protocol.access_point.site import ask, hold, reply, running, scripted_tool, serving, until

pytestmark = pytest.mark.usefixtures("socket_enabled")

LAMP = "light__turn_on"


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_flood_ends_the_connection() -> None:
    async def flood(connection: ServerConnection) -> None:
        for _ in range(600):
            await connection.send('{"jsonrpc":"2.0","method":"notifications/x"}')
        await connection.wait_closed()

    async with serving() as server, running(server.url) as site:
        server.handler = flood
        await until(lambda: site.client.failures > 0)
        server.handler = hold
        await until(lambda: site.client.connected)


async def test_a_server_that_takes_no_answers_is_closed_before_they_fill_memory() -> None:
    """With each, a message of up to a megabyte waits."""
    many = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

    async def deaf(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        for _ in range(300):
            await connection.send(many)
        await asyncio.sleep(10)

    async with serving(ping_interval=None) as server, running(server.url) as site:
        (_, tool) = site.house.made
        site.house.made = [replace(tool, name=f"tool_{n}", description="x" * 1000) for n in range(300)]
        server.handler = deaf
        await until(lambda: site.client.last_ending is not None)
        assert site.client.last_ending is not None
        assert site.client.last_ending.detail == "too many messages"


async def test_a_call_goes_on_when_the_connection_is_lost() -> None:
    """It is not run again, and nothing is sent to the next connection."""
    async with serving() as server, running(server.url) as site:
        await until(lambda: bool(server.connections))
        await server.connections[0].send(
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}'
        )
        await until(lambda: site.client.dispatcher.running == 1)
        server.connections[0].transport.abort()
        await until(lambda: len(server.connections) == 2)
        site.house.release.set()
        await until(lambda: site.client.dispatcher.running == 0)
        assert (await ask(server.connections[1], "ping", 2))["id"] == 2
        assert len(site.house.calls) == 1


@pytest.mark.parametrize("code", [1000, 1008, 4004])
async def test_it_comes_back_after_every_close_code(code: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as server, running(server.url) as site:
        await until(lambda: bool(server.connections))
        await server.connections[0].close(code, "token\nsecret")
        await until(lambda: len(server.connections) == 2, seconds=400)
        ending = site.client.last_ending
        assert ending is not None
        assert (ending.kind, ending.code, ending.reason) == (EndingKind.CLOSED, code, "token …")
        assert server.opened[1] - server.opened[0] < (361 if code == 1008 else 3)
        assert (await ask(server.connections[1], "ping"))["result"] == {}
    mine = [record for record in caplog.records if "access_point" in record.name]
    assert [record.getMessage() for record in mine if record.levelno >= logging.INFO] == [
        f"127.0.0.1:{server.port}: not connected: closed with code {code}: token …",
        f"127.0.0.1:{server.port}: connected again",
    ]
    others = (record.getMessage() for record in caplog.records if record.name != "websockets.server")
    assert "secret" not in "".join(others)


@pytest.mark.timeouts(AccessPointTimeouts, first_retry=45)
async def test_an_attempt_at_once_that_was_asked_for_is_made_once() -> None:
    """A self-hosted server needs the pause after the next loss, however long ago somebody has asked."""
    async with serving() as server, running(server.url) as site:
        # While it is being made already.
        await site.client.reconnect()
        await until(lambda: bool(server.connections))
        await asyncio.sleep(1000)
        lost = now()
        server.connections[0].transport.abort()
        await until(lambda: len(server.connections) == 2)
        assert server.opened[1] - lost >= 45


async def test_a_connection_without_pongs_is_given_up() -> None:
    """A half-open connection looks fine otherwise."""

    async def freeze(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await asyncio.sleep(200)
        connection.transport.abort()

    async with serving() as server, running(server.url) as site:
        server.handler = freeze
        await until(lambda: site.client.failures == 1)
        assert site.client.last_ending is not None
        assert site.client.last_ending.kind is EndingKind.SILENT
        server.handler = hold
        began = now()
        await until(lambda: len(server.opened) == 2)
        assert server.opened[1] - began < 3


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        # It tells the assistant that nobody is there, or another client answers: we see neither.
        ("deaf", EndingKind.DEAF),
        ("other", EndingKind.REPLACED),
        # Silence is deafness, and what is too long is not read.
        ("silent", EndingKind.DEAF),
        ("long", EndingKind.DEAF),
        # A server that cannot be asked is left alone.
        ("closed", None),
        ("away", None),
    ],
)
async def test_a_server_that_does_not_hand_us_requests_is_noticed(way: str, kind: EndingKind | None) -> None:
    tool_side: list[ServerConnection] = []
    tests = 0

    async def endpoint(connection: ServerConnection) -> None:
        assert connection.request is not None
        if "/call/" not in connection.request.path:
            tool_side.append(connection)
            await connection.wait_closed()
            return
        nonlocal tests
        tests += 1
        ping = await connection.recv()
        assert json.loads(ping)["method"] == "ping"
        answer: Any = {"jsonrpc": "2.0", "id": 1, "result": {}}
        if way == "closed":
            await connection.close(1008)
        elif way == "deaf":
            await connection.send("not ours")
            await connection.send('{"method":"notifications/x"}')
            answer |= {"result": None, "error": {"code": -32001, "message": "not connected"}}
        elif way == "long":
            answer["result"] = {"a": "a" * 1024}
        elif way == "well":
            await tool_side[-1].send(ping)
            answer = await reply(tool_side[-1])
        if way not in {"closed", "silent"}:
            await connection.send(json.dumps(answer))
        await connection.wait_closed()

    def refuse(connection: ServerConnection, request: Request) -> Response | None:
        return connection.respond(502, "no") if way == "away" and "/call/" in request.path else None

    async with serving(process_request=refuse) as server:
        server.handler = endpoint
        url = f"ws://127.0.0.1:{server.port}/mcp_endpoint/mcp/?token=secret"
        async with running(url) as site:
            if kind is None:
                await asyncio.sleep(30)
                assert site.client.last_ending is None
                return
            await until(lambda: site.client.failures == 3)
            assert site.client.last_ending is not None
            assert site.client.last_ending.kind is kind
            problem: Problem | None = site.client.reconnecting.problem
            assert problem is Problem.USED_ELSEWHERE
            if way != "other":
                return
            way = "well"
            await until(lambda: site.client.reconnecting.problem is None, seconds=1300)
            before = tests
            await asyncio.sleep(1300)
            assert site.client.connected
            assert site.client.failures == 3
            assert before + 2 <= tests <= before + 4


async def test_a_change_of_the_tools_is_told_and_then_listed_again() -> None:
    """The connection is renewed when no call has come for a minute, and only if the list differs."""
    async with serving() as server, running(server.url) as site:
        await until(lambda: bool(server.connections))
        (cloud,) = server.connections
        await site.client.refresh()
        await ask(cloud, "tools/list")
        await site.client.refresh()
        await ask(cloud, "tools/call", name=LAMP)
        del site.house.made[1]
        began = now()
        await site.client.refresh()
        await site.client.refresh()
        assert (await reply(cloud))["method"] == "notifications/tools/list_changed"
        await until(lambda: len(server.connections) == 2)
        assert 58 < now() - began < 67
        assert site.client.failures == 0
        listed = await ask(server.connections[1], "tools/list")
        assert len(listed["result"]["tools"]) == 1


async def test_the_next_connection_is_renewed_also_after_a_lost_one() -> None:
    async with serving() as server, running(server.url) as site:
        for lost in (True, False):
            await asyncio.sleep(5)
            cloud = server.connections[-1]
            await ask(cloud, "tools/list")
            await ask(cloud, "tools/call", name=LAMP)
            del site.house.made[-1]
            began = now()
            await site.client.refresh()
            if lost:
                await asyncio.sleep(30)
                await cloud.close()
        await until(lambda: len(server.connections) == 3)
        assert 58 < now() - began < 67


@pytest.mark.parametrize("when", ["dialling", "connected", "calling", "pausing"])
async def test_closing_leaves_nothing_running(when: str) -> None:
    gate = asyncio.Event()

    async def wait(connection: ServerConnection, request: Request) -> Response | None:
        if when == "dialling":
            await gate.wait()
        return connection.respond(500, "no") if when == "pausing" else None

    async with serving(process_request=wait) as server:
        before = asyncio.all_tasks()
        async with running(server.url) as site:
            await asyncio.sleep(1.5)
            if when == "calling":
                await server.connections[0].send(
                    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}'
                )
                await until(lambda: site.client.dispatcher.running == 1)
        gate.set()
        await asyncio.sleep(10)
        assert not {task for task in asyncio.all_tasks() - before if "xiaozhi" in task.get_name()}
        if server.connections:
            assert server.connections[0].close_code == 1000
        await site.client.close()


async def test_closing_leaves_no_renewal_behind_where_nobody_reads() -> None:
    async with serving() as server, running(server.url) as site:
        site.house.made += [scripted_tool(f"{number:01000}", site.house.made[0].call) for number in range(60)]
        await until(lambda: bool(server.connections))
        (cloud,) = server.connections
        await ask(cloud, "tools/list")
        cloud.transport.pause_reading()
        for _ in range(400):
            await cloud.send('{"id":1,"method":"tools/list"}')
        await asyncio.sleep(1)
        del site.house.made[1]
        refreshing = asyncio.create_task(site.client.refresh())
        await asyncio.sleep(1)
        await site.client.close()
        await refreshing
        assert "xiaozhi renew access point" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_every_odd_frame_has_a_clear_outcome() -> None:
    """And the process goes on: the next one is answered."""
    wrong: dict[str, Any] = {}
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, running(cloud.url()) as site:
        client = site.client
        for name, garbage in GARBAGE.items():
            await until(lambda: client.connected)
            outcome = await provoke(cloud.sessions[-1], garbage.frame, patience=1)
            if outcome not in garbage.outcomes:
                wrong[name] = outcome
            if outcome == "closed":
                connections = client.connections
                await until(lambda before=connections: client.connections > before)
    assert wrong == {}
    assert len(GARBAGE) > 40


async def test_every_odd_call_has_a_clear_outcome() -> None:
    wrong: dict[str, Any] = {}
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, running(cloud.url()):
        session = await cloud.session()
        for number, (name, (params, outcomes)) in enumerate(odd_calls(LAMP).items()):
            request = {"jsonrpc": "2.0", "id": 1000 + number, "method": "tools/call", "params": params}
            outcome = await provoke(session, json.dumps(request), patience=1)
            if outcome not in outcomes:
                wrong[name] = outcome
        assert not session.violations
    assert wrong == {}


async def test_a_call_may_come_before_initialize() -> None:
    """After a reconnect, an assistant just goes on; another cloud begins several times."""
    faults = CloudFaults(call_first=LAMP, initializations=3, protocol_version="2031-01-01")
    async with Cloud(faults=faults) as cloud, running(cloud.url()) as site:
        session = await (await cloud.session()).ready()
        assert len(site.house.calls) == 1
        assert session.server_info["protocolVersion"] == "2024-11-05"


async def test_the_certificate_of_the_cloud_is_verified() -> None:
    """A trusted one is taken; nothing is sent to a server with another's name."""
    async with Cloud(tls="localhost") as cloud:
        async with running(cloud.url(), tls=cloud.certificates.client_context()):
            await (await cloud.session()).ready()
        async with running(cloud.url()) as site:
            await until(lambda: site.client.failures > 0)
            assert not site.client.connected
        assert len(cloud.attempts) == 1


@pytest.mark.parametrize("when", ["connected", "opening"])
async def test_a_self_hosted_server_after_a_lost_network(when: str) -> None:
    """The wait keeps the server from stalling, and the assistant finds its tools again.

    Where the answer to the handshake was lost, the server forgets us when it gives up that connection.
    """
    async with (
        EndpointServer() as server,
        Cable(server.port) as cable,
        running(cable.through(server.url())) as site,
    ):
        if when == "connected":
            await until(lambda: site.client.connected)
        await server.wait_registered()
        cable.cut()
        await until(lambda: site.client.failures == 1)
        cable.mend()
        await until(lambda: site.client.connected)
        await asyncio.sleep(120)
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert not (await agent.call(LAMP, {})).failed
        assert when == "opening" or site.client.failures == 1
