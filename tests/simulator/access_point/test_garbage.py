"""Frames that no good cloud sends arrive as they are, and their outcomes are told apart."""

import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from simulator.access_point import GARBAGE, Cloud, CloudFaults, odd_calls, provoke
from tests.simulator.access_point.peers import running

PONG = {"jsonrpc": "2.0", "id": "are you there?", "result": {}}


async def strict(connection: ClientConnection, frame: str | bytes) -> None:
    """Answer as strictly as JSON-RPC allows."""
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": None}
    try:
        message = json.loads(frame)
    except ValueError, RecursionError:
        code = -32700
    else:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if isinstance(message, dict) and {"result", "error"} & message.keys():
                return
            code = -32600
        elif "id" not in message:
            return
        elif not isinstance(message["id"], int | str) or isinstance(message["id"], bool):
            code = -32600
        else:
            reply["id"] = message["id"]
            code = 0 if message["method"] in {"ping", "initialize"} else -32601
    content = {"error": {"code": code, "message": "x"}} if code else {"result": {}}
    await connection.send(json.dumps(reply | content))


@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_has_a_right_outcome_with_a_strict_peer(name: str) -> None:
    async with (
        Cloud(faults=CloudFaults(silent=True)) as cloud,
        connect(cloud.url()) as connection,
    ):
        session = await cloud.session()

        async def serve() -> None:
            async for frame in connection:
                await strict(connection, frame)

        async with running(serve()):
            outcome = await provoke(session, GARBAGE[name].frame)
            assert outcome in GARBAGE[name].outcomes
            assert not session.violations
            if outcome != "closed":
                assert session.open


async def test_outcomes_are_told_apart() -> None:
    wanted: list[object] = ["nothing", -32601, "result", "closed"]
    async with (
        Cloud(faults=CloudFaults(silent=True)) as cloud,
        connect(cloud.url()) as connection,
    ):
        session = await cloud.session()

        async def serve() -> None:
            for outcome in wanted:
                await connection.recv()
                if outcome == "closed":
                    await connection.close()
                    return
                if outcome != "nothing":
                    content = (
                        {"result": {}} if outcome == "result" else {"error": {"code": outcome, "message": ""}}
                    )
                    await connection.send(json.dumps({"jsonrpc": "2.0", "id": 77} | content))
                await connection.recv()
                await connection.send(json.dumps(PONG))

        async with running(serve()):
            for outcome in wanted:
                assert await provoke(session, GARBAGE["white space around"].frame) == outcome


async def test_odd_calls_name_the_tool_or_do_so_wrongly() -> None:
    calls = odd_calls("HassTurnOn")
    assert len(calls) == 11
    for name, (params, outcomes) in calls.items():
        named = params.get("name") == "HassTurnOn"
        assert named == ("result" in outcomes), name
