"""The simulated device in a network that is cut, lost, or full of nonsense."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simulator import Misbehaviour, Pace, SimulatedDevice, State
from tests.protocol.transport.mqtt.brokers import mosquitto
from tests.protocol.transport.mqtt.wire import WireClient, connect, publish, subscribe
from tests.simulator.fake_mqtt import CONNECT, DISCONNECT, PINGREQ, PUBLISH, MqttServer, Packet, Session
from tests.simulator.fake_server import FAST, Http, Server
from tests.simulator.talk import settle

PATIENT = Pace(waits=0.002, timeouts=1, uplink=20, downlink=20, main_loop_delay=0.001)
"""Does not notice within a test that nothing comes back."""


@pytest.fixture
async def mqtt() -> AsyncIterator[MqttServer]:
    """A server that accepts devices and answers their hellos."""
    async with MqttServer.serving() as running:
        yield running


async def listening(mqtt: MqttServer, sim: SimulatedDevice) -> Session:
    """Boot, click and wait until the microphone streams."""
    await sim.boot()
    await sim.click()
    session = await mqtt.session()
    await session.expect(type="listen", state="start")
    await mqtt.audio.until(lambda: mqtt.audio.datagrams)
    return session


# Cut


async def test_a_cut_network_loses_audio_and_delays_messages_and_nobody_is_told(mqtt: MqttServer) -> None:
    async with mqtt.device(pace=PATIENT) as sim:
        session = await listening(mqtt, sim)
        sim.cut_network()
        await settle()
        count = len(mqtt.audio.datagrams)
        session.send({"type": "stt", "text": "late"})
        mqtt.audio.send(mqtt.audio.seal(bytes(20)))
        await settle()
        await sim.click()
        await settle()
        assert sim.state is State.IDLE
        assert sim.connected
        assert len(mqtt.audio.datagrams) == count
        assert session.seen(type="goodbye") == 0
        assert not sim.screen.user_text
        assert not session.closed
        sim.restore_network()
        await session.expect(type="goodbye")
        await sim.wait_for(lambda: sim.screen.user_text == "late")
        assert sim.speaker.ignored == 0
        assert len(mqtt.sessions) == 1


async def test_the_device_finds_out_by_its_pings_and_the_server_only_when_the_network_is_back(
    mqtt: MqttServer,
) -> None:
    mqtt.check_in(keepalive=2)
    async with mqtt.device() as sim:
        await sim.boot()
        session = await mqtt.session()
        sim.cut_network()
        await sim.wait_for(lambda: not sim.connected)
        await settle()
        assert len(mqtt.sessions) == 1
        assert not session.closed
        sim.restore_network()
        await mqtt.session(2)
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: sim.connected)


async def test_what_the_server_ended_meanwhile_is_over_when_the_network_is_back(mqtt: MqttServer) -> None:
    async with mqtt.device(pace=PATIENT) as sim:
        await sim.boot()
        session = await mqtt.session()
        sim.cut_network()
        session.writer.transport.abort()
        await settle()
        assert sim.connected
        sim.restore_network()
        await mqtt.session(2)
        assert {"connected": False, "reason": "the server has closed the connection"} in sim.events("link")


async def test_a_device_without_power_leaves_a_connection_that_seems_to_be_there(mqtt: MqttServer) -> None:
    async with mqtt.device() as sim:
        session = await listening(mqtt, sim)
        await sim.lose_power()
        assert sim.state is State.UNKNOWN
        session.send({"type": "stt", "text": "is anybody there?"})
        await settle()
        assert not session.closed
        await sim.boot()
        again = await mqtt.session(2)
        await sim.wait_for(lambda: sim.connected)
        assert not session.closed
        assert not session.of(DISCONNECT)
        await sim.power_off()
        await session.until(lambda: session.closed)
        await again.until(lambda: again.closed)


async def test_lost_wi_fi_ends_the_conversation_in_the_device_alone(mqtt: MqttServer) -> None:
    async with mqtt.device() as sim:
        session = await listening(mqtt, sim)
        sim.lose_network()
        await sim.wait_state(State.IDLE)
        assert not sim.connected
        assert session.seen(type="goodbye") == 0
        assert not session.closed
        sim.restore_network()
        await mqtt.session(2)
        await sim.wait_for(lambda: sim.connected)


async def test_lost_wi_fi_before_there_is_a_link_changes_nothing() -> None:
    async with Http.serving(503) as http, SimulatedDevice(None, http.url, pace=FAST) as sim:
        await sim.boot()
        sim.lose_network()
        assert sim.state is State.ACTIVATING


async def test_without_a_network_the_check_in_fails(mqtt: MqttServer) -> None:
    async with mqtt.device(pace=Pace(waits=0.002, timeouts=0.01)) as sim:
        sim.cut_network()
        await sim.boot()
        assert sim.check_in_error
        sim.restore_network()
        await sim.wait_paired()
        assert sim.link == "mqtt"


async def test_a_conversation_over_websocket_stalls_while_the_network_is_cut(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.click()
        session = await server.session()
        await session.expect(type="listen", state="start")
        sim.cut_network()
        await settle()
        count = len(session.messages)
        await session.send({"type": "stt", "text": "late"})
        await settle()
        assert len(session.messages) == count
        assert not sim.screen.user_text
        assert sim.connected
        sim.restore_network()
        await session.until(lambda: len(session.messages) > count)
        await sim.wait_for(lambda: sim.screen.user_text == "late")


# Misbehaviour over MQTT


async def test_it_connects_with_a_wrong_password(mqtt: MqttServer) -> None:
    async with mqtt.device(misbehaviours=(Misbehaviour.WRONG_PASSWORD,)) as sim:
        await sim.boot()
        assert (await mqtt.session()).of(CONNECT)[0].body.endswith(b"not secret")


async def test_random_bytes_follow_the_connect(mqtt: MqttServer) -> None:
    async with mqtt.device(misbehaviours=(Misbehaviour.MQTT_GARBAGE,)) as sim:
        await sim.boot()
        session = await mqtt.session()
        await session.until(lambda: session.pending or len(session.packets) > 1)
        assert Packet(PINGREQ, 0, b"") not in session.packets


async def test_a_giant_length_is_announced(mqtt: MqttServer) -> None:
    async with mqtt.device(misbehaviours=(Misbehaviour.MQTT_GIANT_LENGTH,)) as sim:
        await sim.boot()
        session = await mqtt.session()
        await session.until(lambda: session.pending)
        assert session.pending == 2**28 - 1


async def test_it_publishes_to_a_topic_that_is_not_its_own(mqtt: MqttServer) -> None:
    async with mqtt.device(misbehaviours=(Misbehaviour.FOREIGN_TOPIC,)) as sim:
        await sim.boot()
        session = await mqtt.session()
        await sim.click()
        await session.expect(type="hello")
        assert {packet.topic for packet in session.of(PUBLISH)} == {"from/box/elsewhere"}


async def test_it_never_pings(mqtt: MqttServer) -> None:
    mqtt.check_in(keepalive=1)
    async with mqtt.device(misbehaviours=(Misbehaviour.NEVER_PING,)) as sim:
        await sim.boot()
        await asyncio.sleep(0.5)
        assert not (await mqtt.session()).of(PINGREQ)
        assert sim.connected


async def test_one_that_stops_reading_still_pings(mqtt: MqttServer) -> None:
    mqtt.check_in(keepalive=1)
    async with mqtt.device(misbehaviours=(Misbehaviour.STOP_READING,)) as sim:
        await sim.boot()
        session = await mqtt.session()
        await sim.click()
        await sim.wait_for(lambda: sim.listening)
        session.send({"type": "stt", "text": "unheard"})
        pings = len(session.of(PINGREQ))
        await session.until(lambda: len(session.of(PINGREQ)) > pings + 3)
        assert not sim.screen.user_text
        assert len(mqtt.sessions) == 1


async def test_the_connection_breaks_in_the_middle_of_a_sentence_and_the_audio_goes_on(
    mqtt: MqttServer,
) -> None:
    async with mqtt.device(misbehaviours=(Misbehaviour.DROP_MID_SENTENCE,)) as sim:
        session = await listening(mqtt, sim)
        await session.until(lambda: session.closed)
        await mqtt.session(2)
        await mqtt.audio.until(lambda: len(mqtt.audio.datagrams) > 30)


@pytest.mark.parametrize(
    ("misbehaviour", "texts"),
    [
        (Misbehaviour.SECOND_HELLO, 1),
        (Misbehaviour.OVERSIZE_TEXT, 1),
        (Misbehaviour.GARBAGE_JSON, 6),
        (Misbehaviour.WRONG_TYPES, 8),
        (Misbehaviour.UNKNOWN_TYPES, 20),
        (Misbehaviour.FLOOD, 5000),
    ],
)
async def test_texts_that_no_server_wants_come_over_mqtt_too(
    mqtt: MqttServer, misbehaviour: Misbehaviour, texts: int
) -> None:
    async with mqtt.device(misbehaviours=(misbehaviour,)) as sim:
        await sim.boot()
        session = await mqtt.session()
        await sim.click()
        await session.until(lambda: len(session.of(PUBLISH)) == texts + 2)
        if misbehaviour is Misbehaviour.SECOND_HELLO:
            first, second = (packet.text for packet in session.of(PUBLISH)[:2])
            assert first == second


async def test_audio_before_the_hello_has_no_socket_to_go_to(mqtt: MqttServer) -> None:
    mqtt.hellos = []
    pace = Pace(timeouts=0.01, main_loop_delay=0)
    async with mqtt.device(misbehaviours=(Misbehaviour.BINARY_BEFORE_HELLO,), pace=pace) as sim:
        await sim.boot()
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")
        assert not mqtt.audio.datagrams


# A real broker


@pytest.mark.real_time
async def test_on_a_plain_broker_it_is_heard_and_hears_nothing(mqtt: MqttServer, tmp_path: Path) -> None:
    """Because it never subscribes: its hello arrives, and every answer is lost."""
    async with mosquitto(tmp_path, "allow_anonymous true") as broker:
        mqtt.check_in(endpoint=f"127.0.0.1:{broker.port}", subscribe_topic="to/box")
        observer = await WireClient.open(broker.port)
        await observer.send(connect("observer"), subscribe(1, "#"))
        assert (await observer.receive())[0] == 0x20
        assert (await observer.receive())[0] == 0x90
        async with mqtt.device(pace=Pace(waits=0.002, timeouts=0.03, main_loop_delay=0)) as sim:
            await sim.boot()
            await sim.wait_for(lambda: sim.connected)
            clicking = asyncio.create_task(sim.click())
            topic, hello = await observer.receive_message()
            assert topic == "from/box"
            assert b'"transport":"udp"' in hello
            for other in ("to/box", "from/box", "box", "devices/p2p/box"):
                await observer.send(publish(other, b'{"type":"stt","text":"hello"}'))
            await clicking
            await sim.wait_for(lambda: sim.last_error == "SERVER_TIMEOUT")
            assert sim.connected
            assert not sim.events("received")
        await observer.close()
