"""The test of an address that the owner has pasted, over real sockets."""

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.dialling import DialError, DialProblem, check_address
from custom_components.xiaozhi.protocol.timeouts import AccessPointTimeouts
from tests.protocol.access_point.site import TLS, serving

pytestmark = pytest.mark.usefixtures("socket_enabled")


def now() -> float:
    return asyncio.get_running_loop().time()


async def check(url: str) -> None:
    await check_address(AccessPointAddress.parse(url), TLS, AccessPointTimeouts(open=5))


async def test_silence_and_requests_are_healthy() -> None:
    async def begin(connection: ServerConnection) -> None:
        await connection.send('{"id":0,"method":"initialize","params":{}}')
        with pytest.raises(ConnectionClosed):
            await connection.recv()

    async with serving() as server:
        began = now()
        await check(server.url)
        assert 2.9 < now() - began < 4
        server.handler = begin
        await check(server.url)
        assert server.connections[1].close_code == 1000


@pytest.mark.parametrize(("code", "problem"), [(1008, DialProblem.REFUSED), (1011, DialProblem.CLOSED)])
async def test_a_server_that_accepts_first_and_refuses_later(code: int, problem: DialProblem) -> None:
    async def refuse(connection: ServerConnection) -> None:
        await asyncio.sleep(1)
        await connection.close(code, "token 无效")

    async with serving() as server:
        server.handler = refuse
        with pytest.raises(DialError) as caught:
            await check(server.url)
    assert (caught.value.problem, caught.value.status) == (problem, code)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", DialProblem.REFUSED),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", DialProblem.BAD_STATUS),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", DialProblem.BAD_STATUS),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://x?token=secret\r\n\r\n", DialProblem.REFUSED),
        (b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\n\r\n", DialProblem.REFUSED),
        (b"SSH-2.0-OpenSSH_9.6\r\n", DialProblem.NO_WEBSOCKET),
        (b"", DialProblem.NO_WEBSOCKET),
    ],
)
async def test_what_is_no_access_point(answer: bytes, problem: DialProblem) -> None:
    seen: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DialError) as caught:
            await check(f"ws://127.0.0.1:{port}/mcp/?token=secret")
    assert caught.value.problem is problem
    assert len(seen) == 1, "a redirect is not followed: the owner has chosen this address"
    assert "secret" not in repr(caught.value)
    assert caught.value.__suppress_context__


async def test_a_server_that_never_answers() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(wait, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DialError, match="no answer in time"):
            await check(f"ws://127.0.0.1:{port}/mcp/?token=secret")
