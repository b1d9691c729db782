"""What passes over the simulated device's MQTT connection: while idle, at a hello and at a goodbye."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from simulator import DeviceCrashed, Pace, State
from tests.simulator.fake_mqtt import MqttServer, Session
from tests.simulator.fake_server import FAST
from tests.simulator.talk import mqtt_idle, mqtt_listening, settle

VERSIONS = ["1.9.0", "2.2.4", "2.4.2"]


@pytest.fixture
async def server() -> AsyncIterator[MqttServer]:
    """A server that accepts devices and answers their hellos."""
    async with MqttServer.serving() as running:
        yield running


# Idle


@pytest.mark.parametrize("version", VERSIONS)
async def test_while_idle_tools_and_messages_work_without_a_conversation(
    server: MqttServer, version: str
) -> None:
    async with server.device(version) as sim:
        session = await mqtt_idle(server, sim)
        params = {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 20}}
        reply = await session.call(1, "tools/call", params)
        assert reply["payload"]["result"]["isError"] is False
        assert reply["session_id"] == ""
        assert sim.values["volume"] == 20
        session.send({"type": "alert", "status": "Door", "message": "The post", "emotion": "happy"})
        session.send({"type": "llm", "emotion": "silly"})
        session.send({"type": "stt", "text": "what you said"})
        session.send({"type": "tts", "state": "sentence_start", "text": "what I say"})
        await sim.wait_for(lambda: sim.screen.assistant_text == "what I say")
        assert (sim.screen.status, sim.screen.system_text) == ("Door", "The post")
        assert sim.screen.user_text == "what you said"
        assert "silly" in sim.screen.emotions
        assert sim.state is State.IDLE
        assert session.seen(type="hello") == 0


async def test_after_a_conversation_replies_name_the_last_session(server: MqttServer) -> None:
    async with server.device() as sim:
        session = await mqtt_listening(server, sim)
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        assert (await session.call(1, "ping"))["session_id"] == "session-1"


async def test_speech_while_idle_cannot_be_heard_and_ends_in_listening_without_a_channel(
    server: MqttServer,
) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        session.send({"type": "tts", "state": "start"})
        await sim.wait_state(State.SPEAKING)
        session.send({"type": "tts", "state": "stop"})
        await sim.wait_state(State.LISTENING)
        await sim.wait_for(lambda: sim.listening)
        await settle()
        assert not server.audio.datagrams


# Hello


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_hello_has_version_3_the_transport_udp_and_no_session(
    server: MqttServer, version: str
) -> None:
    async with server.device(version) as sim:
        session = await mqtt_listening(server, sim)
        hello = session.texts[0]
        assert (hello["type"], hello["version"], hello["transport"]) == ("hello", 3, "udp")
        assert hello["features"]["mcp"] is True
        assert hello["audio_params"]["frame_duration"] == 60
        assert "session_id" not in hello
        assert session.texts[1]["session_id"] == "session-1"


async def test_without_an_answer_the_hello_times_out(server: MqttServer) -> None:
    server.hellos = []
    async with server.device(pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        await mqtt_idle(server, sim)
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")
        assert sim.state is State.IDLE
        assert sim.connected


BAD_HELLOS: list[dict[str, Any]] = [
    {"server": None},
    {"server": 7},
    {"port": None},
    {"key": None},
    {"key": "abcd"},
    {"nonce": None},
    {"nonce": "no hexadecimal digits, 32 of them"[:32]},
]


@pytest.mark.parametrize("udp", [*BAD_HELLOS, {"port": 0}, {"port": 65536}, {"port": "8765"}, {"server": ""}])
async def test_from_2_4_0_on_a_malformed_hello_times_out(server: MqttServer, udp: dict[str, Any]) -> None:
    server.hellos = [server.hello(**udp)]
    async with server.device("2.4.0", pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        await mqtt_idle(server, sim)
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")


@pytest.mark.parametrize("udp", BAD_HELLOS)
async def test_before_2_4_0_a_field_that_is_missing_crashes_it(
    server: MqttServer, udp: dict[str, Any]
) -> None:
    server.hellos = [server.hello(**udp)]
    async with server.device("2.3.0") as sim:
        await mqtt_idle(server, sim)
        with pytest.raises(DeviceCrashed, match="udp"):
            await sim.click()


@pytest.mark.parametrize(
    ("version", "crashes"), [("1.9.0", True), ("2.2.4", True), ("2.3.0", True), ("2.4.0", False)]
)
@pytest.mark.parametrize("transport", [None, 7])
async def test_a_hello_without_a_transport(
    server: MqttServer, version: str, transport: object, crashes: bool
) -> None:
    server.hellos = [server.hello() | {"transport": transport}]
    async with server.device(version, pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        await mqtt_idle(server, sim)
        if crashes:
            with pytest.raises(DeviceCrashed, match="transport"):
                await sim.click()
        else:
            await sim.click()
            await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("change", [{"transport": "websocket"}, {"udp": None}])
async def test_a_hello_for_another_transport_is_ignored(
    server: MqttServer, version: str, change: dict[str, Any]
) -> None:
    server.hellos = [server.hello() | change]
    async with server.device(version, pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        await mqtt_idle(server, sim)
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")


async def test_an_extra_hello_does_not_make_the_next_conversation_start_without_waiting(
    server: MqttServer,
) -> None:
    """Unlike on WebSocket: here the flag is cleared before the wait."""
    async with server.device(pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        session = await mqtt_idle(server, sim)
        session.send(server.hello("extra"))
        await settle()
        server.hellos = []
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")


# Goodbye


async def goodbyes(session: Session) -> int:
    await settle()
    return session.seen(type="goodbye")


@pytest.mark.parametrize("version", VERSIONS)
async def test_hanging_up_says_goodbye_and_stays_connected(server: MqttServer, version: str) -> None:
    async with server.device(version) as sim:
        session = await mqtt_listening(server, sim)
        await sim.click()
        assert await session.expect(type="goodbye") == {"session_id": "session-1", "type": "goodbye"}
        await sim.wait_state(State.IDLE)
        assert sim.connected
        assert len(server.sessions) == 1


@pytest.mark.parametrize(
    ("version", "session_id", "ends"),
    [
        ("1.9.0", None, True),
        ("1.9.0", "another", False),
        ("2.2.4", None, True),
        ("2.2.4", "another", False),
        ("2.3.0", None, False),
        ("2.4.2", None, False),
        ("2.4.2", "another", False),
        ("2.4.2", 7, False),
        *((version, "session-1", True) for version in (*VERSIONS, "2.3.0")),
    ],
)
async def test_the_servers_goodbye_ends_the_conversation_when_it_names_it(
    server: MqttServer, version: str, session_id: object, ends: bool
) -> None:
    async with server.device(version) as sim:
        session = await mqtt_listening(server, sim)
        named = {} if session_id is None else {"session_id": session_id}
        session.send({"type": "goodbye"} | named)
        if ends:
            await sim.wait_state(State.IDLE)
        else:
            await settle()
            assert sim.state is State.LISTENING
        assert sim.channel_open is not ends


async def test_an_old_device_crashes_on_a_goodbye_whose_session_is_no_text(server: MqttServer) -> None:
    async with server.device("2.2.4") as sim:
        session = await mqtt_listening(server, sim)
        session.send({"type": "goodbye", "session_id": 7})
        with pytest.raises(DeviceCrashed, match="session_id"):
            await sim.wait_state(State.IDLE)


@pytest.mark.parametrize(("version", "echoes"), [("1.9.0", 1), ("2.2.1", 1), ("2.2.2", 0), ("2.4.2", 0)])
async def test_up_to_2_2_1_the_servers_goodbye_is_answered_with_one(
    server: MqttServer, version: str, echoes: int
) -> None:
    async with server.device(version) as sim:
        session = await mqtt_listening(server, sim)
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        assert await goodbyes(session) == echoes


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stale_channel_is_replaced_without_a_goodbye(server: MqttServer, version: str) -> None:
    async with server.device(version) as sim:
        session = await mqtt_idle(server, sim)
        await sim.press()
        await session.expect(type="listen", state="start")
        await sim.release()
        await session.expect(type="listen", state="stop")
        await asyncio.sleep(120 * FAST.waits + 0.05)
        assert not sim.channel_open
        server.hellos = [server.hello("session-2")]
        await sim.press()
        await session.expect(type="hello")
        assert (await session.expect(type="listen", state="start"))["session_id"] == "session-2"
        assert await goodbyes(session) == 0


async def test_a_channel_that_hears_something_does_not_become_stale(server: MqttServer) -> None:
    pace = Pace(waits=0.002, timeouts=0.2, main_loop_delay=0)
    async with server.device(pace=pace) as sim:
        session = await mqtt_idle(server, sim)
        await sim.press()
        await session.expect(type="listen", state="start")
        await sim.release()
        for _ in range(6):
            await asyncio.sleep(30 * pace.waits)
            session.send({"type": "llm", "emotion": "neutral"})
        await settle()
        assert sim.channel_open
        await sim.press()
        await session.until(lambda: session.seen(type="listen", state="start") == 2)
        assert session.seen(type="hello") == 1


async def test_when_the_connection_breaks_the_next_message_fails_and_ends_the_conversation(
    server: MqttServer,
) -> None:
    """Audio goes on meanwhile: nothing tells the one of the other."""
    async with server.device(pace=Pace(waits=1, timeouts=0.2, uplink=20, main_loop_delay=0)) as sim:
        session = await mqtt_listening(server, sim)
        session.writer.transport.abort()
        await sim.wait_for(lambda: not sim.connected)
        assert sim.state is State.LISTENING
        count = len(server.audio.datagrams)
        await server.audio.until(lambda: len(server.audio.datagrams) > count + 5)
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_ERROR")
        assert sim.state is State.IDLE
