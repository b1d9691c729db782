"""Addresses of access points: what is accepted, what they tell, and that nothing of the token shows.

At the end the test of an address that the owner has pasted, over real sockets.
"""

import asyncio
import base64
from datetime import UTC, datetime
import json
import re
from typing import Any
from urllib.parse import quote

from hypothesis import given, strategies as st
import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from custom_components.xiaozhi.protocol.access_point.address import (
    AccessPointAddress,
    AddressError,
    AddressProblem,
)
from custom_components.xiaozhi.protocol.access_point.dialling import DialError, DialProblem, check_address
from tests.protocol.access_point.site import TLS, serving
from tests.protocol.any_json import any_json

pytestmark = pytest.mark.usefixtures("socket_enabled")

CLOUD = "wss://api.xiaozhi.me/mcp/?token="


def jwt(claims: Any) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'ES256'})}.{part(claims)}.c2lnbmF0dXJl"


CLAIMS = {
    "userId": 1,
    "agentId": 4711,
    "endpointId": "agent_4711",
    "purpose": "mcp-endpoint",
    "iat": 1760000000,
    "exp": 1791557600,
}


def test_an_address_of_the_cloud_tells_agent_and_expiry() -> None:
    url = CLOUD + jwt(CLAIMS)
    address = AccessPointAddress.parse(f"  {url}\n")
    assert address.url == url
    assert (address.host, address.agent, address.secure) == ("api.xiaozhi.me", "4711", True)
    assert address.expires == datetime.fromtimestamp(1791557600, UTC)
    assert address.identity == "api.xiaozhi.me/agent_4711"
    assert not address.self_hosted
    assert str(address) == "api.xiaozhi.me, agent 4711"
    assert jwt(CLAIMS).split(".")[1] not in repr(address)


def test_an_address_of_a_self_hosted_server() -> None:
    """Its token is no JSON web token, and keeps its escaped plus sign."""
    token = "Xk9%2BYc2b%2Fw0h0%3D"
    url = f"ws://192.168.1.5:8004/mcp_endpoint/mcp/?token={token}"
    address = AccessPointAddress.parse(url)
    assert address.url == url
    assert (address.host, address.agent, address.expires) == ("192.168.1.5:8004", None, None)
    assert not address.secure
    assert address.self_hosted
    assert address.agent_side_url == f"ws://192.168.1.5:8004/mcp_endpoint/call/?token={token}"
    assert str(address) == "192.168.1.5:8004"
    assert "Xk9" not in repr(address) + address.identity
    assert address.identity == AccessPointAddress.parse(url).identity
    assert address.identity != AccessPointAddress.parse(url.replace("Xk9", "Xk8")).identity


@pytest.mark.parametrize(
    "url",
    [
        "wss://watcher-agent-api.seeed.cc/watcher/mcp/ws?token=abc",
        "wss://cloud.example:8443/?a=b&token=abc",
        "WSS://cloud.example/mcp?token=abc",
        "ws://[fd00::1]:8004/mcp_endpoint/mcp/?token=abc",
    ],
)
def test_the_path_of_other_clouds_does_not_matter(url: str) -> None:
    assert AccessPointAddress.parse(url).url == url


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"', '"'),
        ("'", "',"),
        ("<", ">"),
        ("「", "」。"),
        ("(", ")"),
        ("```\n", "\n```"),
        ("接入点：", ""),
        ("MCP endpoint: ", " "),
        ("Address: ", "."),
        ("**", "**"),
        ("", "，请勿泄露"),
        ("\u200b", "\ufeff"),
        ('{"mcpServers": {"x": {"url": "', '", "type": "ws"}}}'),
        ('export MCP_ENDPOINT="', '" # my agent'),
    ],
)
def test_an_address_is_found_in_what_was_pasted_with_it(before: str, after: str) -> None:
    url = "wss://api.xiaozhi.me/mcp/?token=abc"
    assert AccessPointAddress.parse(f"{before}{url}{after}").url == url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", AddressProblem.NOT_WEBSOCKET),
        ("eyJhbGciOiJFUzI1NiJ9.e30.c2ln", AddressProblem.NOT_WEBSOCKET),
        ("https://api.xiaozhi.me/mcp/?token=abc", AddressProblem.NOT_WEBSOCKET),
        ("https://api.xiaozhi.me/?to=wss://api.xiaozhi.me/mcp/?token=abc", AddressProblem.NOT_WEBSOCKET),
        ('"""', AddressProblem.NOT_WEBSOCKET),
        ("wss://api.xiaozhi.me/mcp/", AddressProblem.NO_TOKEN),
        ("wss://api.xiaozhi.me/mcp/?token=", AddressProblem.NO_TOKEN),
        ("wss://api.xiaozhi.me/mcp/?token=%20", AddressProblem.NO_TOKEN),
        ("wss://api.xiaozhi.me/?token=a#part", AddressProblem.INVALID),
        ("wss://?token=abc", AddressProblem.INVALID),
        ("wss://host:port/?token=abc", AddressProblem.INVALID),
        ("wss://[::1/?token=abc", AddressProblem.INVALID),
        ("wss://user:password@host/?token=abc", AddressProblem.INVALID),
        ("wss://host/?token=a b", AddressProblem.INVALID),
        ("wss://höst/?token=abc", AddressProblem.INVALID),
        ("wss://host/?token=" + "a" * 5000, AddressProblem.INVALID),
        ("wss://host/?token=a" + "&b=c" * 50, AddressProblem.INVALID),
        ("ws://host:8004/mcp_endpoint/call/?token=abc", AddressProblem.AGENT_SIDE),
    ],
)
def test_what_is_no_address(text: str, problem: AddressProblem) -> None:
    with pytest.raises(AddressError) as caught:
        AccessPointAddress.parse(text)
    assert caught.value.problem is problem
    # The errors of the libraries have the address in their texts.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "token",
    [
        *("a.b.c", "a.!!!.c", "a.W1tbW1tb.c", "..c", "a.////.c", jwt([]), jwt(1)),
        jwt({"endpointId": 5, "agentId": True, "exp": "soon"}),
        jwt({"exp": 1e300}),
        jwt({"exp": -1e300, "agentId": 2**70}),
        jwt({"agentId": "\u202e" * 5, "endpointId": "\ud800"}),
        jwt({"agentId": 2, "exp": float("nan")}),
    ],
)
def test_a_strange_token_tells_little(token: str) -> None:
    address = AccessPointAddress.parse(CLOUD + token)
    assert (address.host, address.expires) == ("api.xiaozhi.me", None)


def test_a_token_that_a_server_repeats_is_taken_out() -> None:
    address = AccessPointAddress.parse("ws://host/mcp/?a=token=&token=ab%2Bcd&token=&token=ef")
    assert address.without_token("ab+cd or ab%2Bcd or ef") == "… or … or …"


@given(st.text(max_size=200), st.sampled_from(["", "ws://", "wss://", "wss://h/?token="]))
def test_any_text_is_an_address_or_an_error(text: str, start: str) -> None:
    try:
        address = AccessPointAddress.parse(start + text)
    except AddressError:
        return
    # What nobody sees may stand within it.
    assert address.url in re.sub("[\u200b-\u200d\u2060\ufeff]", "", start + text)
    assert address.host.isprintable()


@given(any_json(), st.sampled_from(["agentId", "endpointId", "exp"]))
def test_any_claim_is_read_or_left_out(value: Any, name: str) -> None:
    address = AccessPointAddress.parse(CLOUD + quote(jwt({**CLAIMS, name: value})))
    assert address.agent is None or address.agent.isprintable()
    assert address.identity.isprintable()


async def check(url: str) -> None:
    await check_address(AccessPointAddress.parse(url), TLS)


async def test_silence_and_requests_are_healthy() -> None:
    async def begin(connection: ServerConnection) -> None:
        await connection.send('{"id":0,"method":"initialize","params":{}}')
        with pytest.raises(ConnectionClosed):
            await connection.recv()

    async with serving() as server:
        now = asyncio.get_running_loop().time
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
        (None, DialProblem.NO_ANSWER),
    ],
)
async def test_what_is_no_access_point(answer: bytes | None, problem: DialProblem) -> None:
    seen: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        if answer is None:
            await reader.read()
        else:
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
