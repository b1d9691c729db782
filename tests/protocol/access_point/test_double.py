"""The client against the doubles of the cloud and of a self-hosted server, with their faults."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import json
import ssl
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.client import AccessPointClient
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
from tests.protocol.access_point.site import TLS, House, until

pytestmark = pytest.mark.usefixtures("socket_enabled")

LAMP = "light__turn_on"


@asynccontextmanager
async def client_of(
    url: str, house: House | None = None, tls: ssl.SSLContext = TLS
) -> AsyncGenerator[AccessPointClient]:
    client = AccessPointClient(
        AccessPointAddress.parse(url),
        (house or House()).tools,
        version="1",
        tls=tls,
        timeouts=AccessPointTimeouts(),
        jitter=lambda: 0.0,
    )
    client.start()
    try:
        yield client
    finally:
        await client.close()


async def test_every_odd_frame_has_a_clear_outcome() -> None:
    """And the process goes on: the next one is answered."""
    wrong: dict[str, Any] = {}
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, client_of(cloud.url()) as client:
        await until(lambda: client.connected)
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
    house = House()
    async with Cloud(faults=CloudFaults(silent=True)) as cloud, client_of(cloud.url(), house):
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
    house = House()
    faults = CloudFaults(call_first=LAMP, initializations=3, protocol_version="2031-01-01")
    async with Cloud(faults=faults) as cloud, client_of(cloud.url(), house):
        session = await (await cloud.session()).ready()
        assert len(house.calls) == 1
        assert session.server_info["protocolVersion"] == "2024-11-05"


async def test_the_certificate_of_the_cloud_is_verified() -> None:
    """A trusted one is taken; nothing is sent to a server with another's name."""
    async with Cloud(tls="localhost") as cloud:
        trusting = cloud.certificates.client_context()
        async with client_of(cloud.url(), tls=trusting):
            await (await cloud.session()).ready()
        async with client_of(cloud.url()) as client:
            await until(lambda: client.failures > 0)
            assert not client.connected
        assert len(cloud.attempts) == 1


@pytest.mark.parametrize("when", ["connected", "opening"])
async def test_a_self_hosted_server_after_a_lost_network(when: str) -> None:
    """The wait keeps the server from stalling, and the assistant finds its tools again.

    Where the answer to the handshake was lost, the server forgets us when it gives up that connection.
    """
    async with (
        EndpointServer() as server,
        Cable(server.port) as cable,
        client_of(cable.through(server.url())) as client,
    ):
        if when == "connected":
            await until(lambda: client.connected)
        await server.wait_registered()
        cable.cut()
        await until(lambda: client.failures == 1)
        cable.mend()
        await until(lambda: client.connected)
        await asyncio.sleep(120)
        async with SelfHostedAgent.connected(server.url()) as agent:
            await agent.ready()
            assert not (await agent.call(LAMP, {})).failed
        assert when == "opening" or client.failures == 1
