"""What a device does wrong on request."""

import json

import pytest
from websockets.exceptions import ConnectionClosed

from simulator import Misbehaviour, Pace, State
from tests.simulator.fake_server import FAST, Server
from tests.simulator.talk import linked


async def test_the_body_of_the_check_in_is_no_json(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.BROKEN_CHECK_IN,)) as sim:
        await linked(server, sim)
        with pytest.raises(ValueError, match="Expecting"):
            json.loads(server.http.requests[0].body)


async def test_a_second_hello_comes_in_the_conversation(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.SECOND_HELLO,)) as sim:
        session = await linked(server, sim)
        await session.until(lambda: session.seen(type="hello") == 2)


async def test_audio_comes_before_the_hello(server: Server) -> None:
    server.hello = None
    async with server.device(
        misbehaviours=(Misbehaviour.BINARY_BEFORE_HELLO,), pace=Pace(timeouts=0.02)
    ) as sim:
        session = await linked(server, sim)
        await session.until(lambda: len(session.messages) == 2)
        assert isinstance(session.messages[0], bytes)


@pytest.mark.parametrize(
    ("misbehaviour", "texts"),
    [
        (Misbehaviour.OVERSIZE_TEXT, 1),
        (Misbehaviour.GARBAGE_JSON, 6),
        (Misbehaviour.WRONG_TYPES, 8),
        (Misbehaviour.UNKNOWN_TYPES, 20),
        (Misbehaviour.FLOOD, 5000),
    ],
)
async def test_texts_that_no_server_wants_come_after_the_hello(
    server: Server, misbehaviour: Misbehaviour, texts: int
) -> None:
    async with server.device(misbehaviours=(misbehaviour,)) as sim:
        session = await linked(server, sim)
        await session.until(
            lambda: sum(isinstance(message, str) for message in session.messages) == texts + 2
        )
        sizes = [len(message) for message in session.messages if isinstance(message, str)]
        assert (max(sizes) > 65535) is (misbehaviour is Misbehaviour.OVERSIZE_TEXT)


async def test_random_bytes_come_instead_of_opus(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.OPUS_GARBAGE,)) as sim:
        session = await linked(server, sim)
        await session.until(lambda: len(session.packets) > 20)
        assert {packet[0] for packet in session.packets} != {0x58}


async def test_a_device_that_stops_reading_blocks_the_server(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.STOP_READING,)) as sim:
        session = await linked(server, sim)
        with pytest.raises(TimeoutError):
            await sim.wait_for(lambda: bool(sim.events("received")), timeout=0.1)
        await session.send({"type": "llm", "emotion": "happy"})
        with pytest.raises(TimeoutError):
            await sim.wait_for(lambda: bool(sim.events("received")), timeout=0.2)
        await session.until(lambda: session.packets)


async def test_mcp_gets_no_answer(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.NEVER_ANSWER_MCP,)) as sim:
        session = await linked(server, sim)
        request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        await session.send({"type": "mcp", "payload": request})
        await session.until(lambda: len(session.packets) > 20)
        assert session.seen(type="mcp") == 0


async def test_a_thousand_tools_are_listed(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.THOUSAND_TOOLS,)) as sim:
        session = await linked(server, sim)
        cursor, names = "", set[str]()
        while True:
            params = {"withUserTools": True, "cursor": cursor}
            result = (await session.call(1, "tools/list", params))["result"]
            names |= {tool["name"] for tool in result["tools"]}
            if not (cursor := result.get("nextCursor", "")):
                break
        assert len(names) == 1000


async def test_the_cursor_leads_in_a_circle(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.LOOPING_CURSOR,)) as sim:
        session = await linked(server, sim)
        first = (await session.call(1, "tools/list"))["result"]
        second = (await session.call(2, "tools/list", {"cursor": first["nextCursor"]}))["result"]
        assert first == second


async def test_the_status_is_no_json(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.STATUS_NOT_JSON,)) as sim:
        session = await linked(server, sim)
        reply = await session.call(1, "tools/call", {"name": "self.get_device_status"})
        with pytest.raises(ValueError, match="Expecting"):
            json.loads(reply["result"]["content"][0]["text"])


async def test_the_connection_is_lost_in_the_middle_of_a_sentence(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.DROP_MID_SENTENCE,)) as sim:
        session = await linked(server, sim)
        sim.say(bytes(32000 * 5))
        await session.until(lambda: session.closed)
        assert session.connection.close_code == 1006
        assert len(session.packets) == 17
        await sim.wait_state(State.IDLE)
        with pytest.raises(ConnectionClosed):
            await session.send("late")


async def test_the_microphone_may_send_nothing_at_all(server: Server) -> None:
    async with server.device(misbehaviours=(Misbehaviour.NO_AUDIO,)) as sim:
        session = await linked(server, sim)
        await session.expect(type="listen", state="start")
        sim.say(bytes(32000))
        await sim.wait_said()
        assert session.packets == []


async def test_misbehaviour_can_begin_and_end_at_any_time(server: Server) -> None:
    async with server.device(pace=FAST) as sim:
        session = await linked(server, sim)
        sim.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
        await session.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "method": "ping"}})
        await sim.wait_for(lambda: bool(sim.events("received")))
        sim.misbehaviours.clear()
        assert (await session.call(2, "ping"))["id"] == 2
