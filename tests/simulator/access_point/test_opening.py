"""What goes wrong while a connection opens, tokens, TLS, restarts, and a cable that is cut."""

import asyncio
from contextlib import suppress
import json
import ssl
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from simulator.access_point import (
    YEAR,
    Cable,
    Cloud,
    CloudFaults,
    CloudKey,
    EndpointKey,
    EndpointServer,
    OpeningFaults,
    TokenError,
)
from tests.simulator.access_point.http import get
from tests.simulator.access_point.peers import peer


@pytest.mark.parametrize("status", [200, 401, 403, 404, 426, 502])
@pytest.mark.parametrize("kind", [Cloud, EndpointServer])
async def test_an_upgrade_can_be_refused(kind: type[Cloud | EndpointServer], status: int) -> None:
    async with kind(opening=OpeningFaults(status=status)) as server:
        with pytest.raises(InvalidStatus) as refused:
            await connect(server.url()).__aenter__()
        response = refused.value.response
        assert response.status_code == status
        assert ("Set-Cookie" in response.headers) == (status == 426)
        assert [attempt.status for attempt in server.attempts] == [status]
        assert "token=" in server.attempts[0].target
        assert "User-Agent" in server.attempts[0].headers


async def test_an_upgrade_can_lead_elsewhere() -> None:
    async with Cloud() as cloud, Cloud(opening=OpeningFaults(redirect=cloud.url())) as first:
        async with peer(first.url()):
            await (await cloud.session()).ready()
        assert [attempt.status for attempt in first.attempts] == [302]


async def test_a_black_hole_never_answers() -> None:
    async with Cloud(opening=OpeningFaults(black_hole=True)) as cloud:
        with pytest.raises(TimeoutError):
            await connect(cloud.url(), open_timeout=3600).__aenter__()
        assert [attempt.status for attempt in cloud.attempts] == [0]


@pytest.mark.parametrize("code", [1000, 1006, 1008, 4004])
async def test_a_connection_can_end_as_soon_as_it_is_open(code: int) -> None:
    async with Cloud(opening=OpeningFaults(close_code=code)) as cloud:
        for _ in range(3):
            async with connect(cloud.url()) as connection:
                await connection.wait_closed()
                assert connection.close_code == code
        assert [attempt.status for attempt in cloud.attempts] == [101] * 3


async def test_tls_is_trusted_with_the_right_name_and_authority_only() -> None:
    async with Cloud(tls="localhost") as cloud, Cloud(tls="elsewhere.example") as wrong:
        assert cloud.certificates is not None
        assert wrong.certificates is not None
        async with peer(cloud.url(), tls=cloud.certificates.client_context()):
            await (await cloud.session()).ready()
        for server, context in (
            (wrong, wrong.certificates.client_context()),
            (cloud, ssl.create_default_context()),
        ):
            with pytest.raises(ssl.SSLCertVerificationError):
                await connect(server.url(), ssl=context).__aenter__()


async def test_the_clouds_tokens_are_like_published_ones() -> None:
    now = 1_780_000_000.0
    async with Cloud(now=lambda: now) as cloud:
        payload = jwt.decode(cloud.token(42), options={"verify_signature": False})
        assert jwt.get_unverified_header(cloud.token(42)) == {"alg": "ES256", "typ": "JWT"}
        assert payload == {
            "userId": 5042,
            "agentId": 42,
            "endpointId": "agent_42",
            "purpose": "mcp-endpoint",
            "iat": now,
            "exp": now + YEAR,
        }
        assert "exp" not in jwt.decode(cloud.token(42, valid=None), options={"verify_signature": False})
        assert cloud.token(42) != cloud.token(42)
        assert parse_qs(urlsplit(cloud.url("a+b/c=")).query)["token"] == ["a+b/c="]


async def test_tokens_expire_are_revoked_and_can_be_wrong() -> None:
    now = 1_780_000_000.0
    async with Cloud(now=lambda: now, faults=CloudFaults(silent=True)) as cloud:
        near, endless, past = (cloud.token(valid=valid) for valid in (3600, None, -1))
        revoked = cloud.token()
        cloud.revoked.add(revoked)
        foreign = CloudKey().sign({"agentId": 1})

        async def status(token: str) -> int:
            with suppress(InvalidStatus):
                await (await connect(cloud.url(token)).__aenter__()).close()
            return cloud.attempts[-1].status

        assert [await status(token) for token in (near, endless, past, revoked, foreign, "x.y", "")] == [
            *(101, 101, 401, 401),
            *(401, 401, 401),
        ]
        now += 3601
        assert await status(near) == 401
        cloud.faults.expired_status = None
        assert await status(near) == 101
        assert (await get(cloud.port, "/elsewhere"))[0] == 404


async def test_tokens_of_a_self_hosted_server() -> None:
    key = EndpointKey("k" * 40)
    token = key.token("single_module")
    assert "=" not in token
    assert EndpointKey("k" * 32).decrypt(key.encrypt("x")) == "x"
    assert json.loads(key.decrypt(key.encrypt('{"agentId": "single_module"}'))) == {
        "agentId": "single_module"
    }
    with pytest.raises(TokenError):
        key.decrypt("x")


@pytest.mark.parametrize("code", [1001, 1006])
async def test_a_server_can_stop_and_start_again_at_its_port(code: int) -> None:
    async with Cloud() as cloud:
        token = cloud.token()
        async with peer(cloud.url(token)) as dialled:
            await (await cloud.session()).ready()
            await cloud.stop(code=code)
            await dialled.connection.wait_closed()
            assert dialled.connection.close_code == code
        with pytest.raises(OSError, match="Connect call failed"):
            await connect(cloud.url(token)).__aenter__()
        await cloud.start()
        async with peer(cloud.url(token)):
            await (await cloud.session(2)).ready()


async def test_a_cut_cable_tells_neither_side() -> None:
    async with Cloud() as cloud, Cable(cloud.port) as cable, peer(cable.through(cloud.url())) as dialled:
        session = await (await cloud.session()).ready()
        cable.cut()
        with pytest.raises(TimeoutError):
            await connect(cable.through(cloud.url()), open_timeout=60).__aenter__()
        dialled.connection.transport.abort()
        await asyncio.sleep(5)
        assert session.open
        cable.mend()
        async with peer(cable.through(cloud.url())) as second:
            await (await cloud.session(2)).ready()
            cable.reset()
            await second.connection.wait_closed()
            assert second.connection.close_code == 1006
        assert cable.connections == 3


async def test_a_bug_in_the_double_fails_the_test() -> None:
    cloud = Cloud(faults=CloudFaults(protocol_version=b"JSON has no bytes"))  # type: ignore[arg-type]
    await cloud.start()
    async with connect(cloud.url()) as connection:
        await connection.wait_closed()
    with pytest.raises(ExceptionGroup, match="double"):
        await cloud.__aexit__()
