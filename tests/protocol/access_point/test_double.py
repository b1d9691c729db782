"""The client against the simulated cloud and self-hosted server, with their bugs and worse."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import ssl

import pytest

from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.client import AccessPointClient
from custom_components.xiaozhi.protocol.access_point.reconnecting import EndingKind, Problem
from custom_components.xiaozhi.protocol.access_point.timeouts import AccessPointTimeouts
from simulator.access_point import (
    GARBAGE,
    Cable,
    Cloud,
    CloudFaults,
    EndpointFaults,
    EndpointServer,
    OpeningFaults,
    SelfHostedAgent,
    odd_calls,
    provoke,
)
from tests.protocol.access_point.site import TLS, House, until

pytestmark = pytest.mark.usefixtures("socket_enabled")


@asynccontextmanager
async def client(url: str, house: House, *, tls: ssl.SSLContext = TLS) -> AsyncGenerator[AccessPointClient]:
    """Stay connected."""
    connecting = AccessPointClient(
        AccessPointAddress.parse(url),
        house,
        version="1",
        tls=tls,
        timeouts=AccessPointTimeouts(),
        jitter=lambda: 0.0,
    )
    connecting.start()
    try:
        yield connecting
    finally:
        await connecting.close()


@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_has_a_clear_outcome(name: str) -> None:
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, client(cloud.url(), House()):
        session = await cloud.session()
        outcome = await provoke(session, GARBAGE[name].frame)
        assert outcome in GARBAGE[name].outcomes
        assert session.violations == []
        session = await cloud.session(2 if outcome == "closed" else 1)
        await session.list_tools()
        assert session.tools


async def test_odd_calls_are_run_once_or_refused() -> None:
    house = House()
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, client(cloud.url(), house):
        session = await cloud.session()
        for number, (name, (params, outcomes)) in enumerate(odd_calls("light__turn_on").items()):
            before = len(house.calls)
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            outcome = await provoke(session, call)
            assert outcome in outcomes, name
            assert len(house.calls) - before <= (outcome == "result"), name
        assert session.violations == []


async def test_a_call_comes_before_everything_else_and_initialize_again() -> None:
    faults = CloudFaults(call_first="light__turn_on", initializations=3)
    house = House()
    async with Cloud(faults=faults) as cloud, client(cloud.url(), house):
        session = await (await cloud.session()).ready()
        assert house.calls == [{}]
        assert session.violations == []


async def test_the_wrong_name_in_a_certificate_is_no_server_of_ours() -> None:
    async with Cloud(tls="elsewhere.example") as cloud:
        assert cloud.certificates is not None
        async with client(cloud.url(), House(), tls=cloud.certificates.client_context()) as connecting:
            await asyncio.sleep(600)
            assert connecting.attempts > 3
            assert cloud.attempts == []
    async with Cloud(tls="localhost") as cloud:
        assert cloud.certificates is not None
        async with client(cloud.url(), House(), tls=cloud.certificates.client_context()):
            await (await cloud.session()).ready()


async def test_a_black_hole_is_tried_again() -> None:
    async with Cloud(opening=OpeningFaults(black_hole=True)) as cloud, client(cloud.url(), House()):
        await until(lambda: len(cloud.attempts) == 3)
        cloud.opening.black_hole = False
        await (await cloud.session()).ready()


async def test_a_half_open_connection_is_replaced() -> None:
    async with Cloud(faults=CloudFaults(freeze_after=30)) as cloud, client(cloud.url(), House()):
        begin = asyncio.get_running_loop().time()
        await (await cloud.session(2)).ready()
        assert asyncio.get_running_loop().time() - begin < 150


async def test_two_sockets_of_one_token_are_both_called() -> None:
    houses = House(), House()
    async with Cloud() as cloud:
        url = cloud.url()
        async with client(url, houses[0]), client(url, houses[1]):
            for number in (1, 2):
                await (await cloud.session(number)).ready()
            for session in cloud.sessions:
                assert not (await session.call("light__turn_on", {}, serial="SN1")).failed
    assert [len(house.calls) for house in houses] == [1, 1]


async def test_agents_whose_ids_are_the_same_get_their_own_answers() -> None:
    """An agent counts its calls from 1, as it does its other requests."""
    house = House()
    async with EndpointServer() as server, client(server.url(), house):
        await server.wait_registered()
        async with (
            SelfHostedAgent.connected(server.url()) as one,
            SelfHostedAgent.connected(server.url()) as two,
        ):
            await asyncio.gather(one.ready(), two.ready())
            for number in range(5):
                answers = await asyncio.gather(
                    *(agent.call("light__turn_on", {"name": f"{number}"}) for agent in (one, two))
                )
                assert [(answer.failed, answer.spoken) for answer in answers] == [(False, False)] * 2
        assert len(house.calls) == 10


async def test_a_network_that_was_cut_comes_back_without_stopping_a_self_hosted_server() -> None:
    house = House()
    async with (
        EndpointServer() as server,
        Cable(server.port) as cable,
        client(cable.through(server.url()), house) as connecting,
    ):
        await until(lambda: connecting.connected)
        cable.cut()
        await until(lambda: connecting.last_ending is not None)
        assert connecting.last_ending is not None
        assert connecting.last_ending.kind is EndingKind.SILENT
        cable.mend()
        await server.wait_registered(lambda sides: not sides)
        await server.wait_registered()
        await asyncio.sleep(30)
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert not (await agent.call("light__turn_on", {})).failed
        assert connecting.counters.deaf == 0


async def test_a_connection_that_another_has_made_deaf_is_replaced() -> None:
    async with EndpointServer() as server, client(server.url(), House()) as first:
        await until(lambda: first.connected)
        async with client(server.url(), House()):
            await until(lambda: first.counters.connections == 2)
            await asyncio.sleep(30)
        await asyncio.sleep(900)
        assert first.connected
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert agent.tools


async def test_two_clients_of_one_self_hosted_token_are_told_to_the_owner() -> None:
    async with (
        EndpointServer(faults=EndpointFaults(deaf_second=False)) as server,
        client(server.url(), House()) as first,
        client(server.url(), House()) as second,
    ):
        await until(lambda: Problem.USED_ELSEWHERE in {first.problem, second.problem})
        await asyncio.sleep(30)
        before = first.counters.connections + second.counters.connections
        await asyncio.sleep(240)
        assert first.counters.connections + second.counters.connections <= before + 2


async def test_the_self_hosted_server_loses_nothing_when_it_starts_again() -> None:
    async with EndpointServer() as server, client(server.url(), House()) as connecting:
        await until(lambda: connecting.connected)
        for code in (1001, 1006):
            await server.stop(code=code)
            await asyncio.sleep(20)
            await server.start()
            await server.wait_registered()
            async with SelfHostedAgent.connected(server.url()) as agent:
                await agent.ready()
                assert agent.tools
