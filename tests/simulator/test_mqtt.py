"""The MQTT connection of the simulated device: like the firmware's, it never subscribes and comes back."""

import asyncio
from collections.abc import AsyncIterator
import os

import pytest
from pytest_socket import socket_allow_hosts

from simulator import Nvs, Pace, State
from tests.simulator.fake_mqtt import (
    CONNECT,
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    SUBSCRIBE,
    MqttServer,
    packet,
    string,
)
from tests.simulator.fake_server import FAST
from tests.simulator.talk import mqtt_idle, mqtt_listening, settle

# A loopback address of this process: a fixed port may be in use at the usual one.
OWN_HOST = f"127.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}.83"
VERSIONS = ["1.9.0", "2.2.4", "2.4.2"]


@pytest.fixture
async def server() -> AsyncIterator[MqttServer]:
    """A server that accepts devices and answers their hellos."""
    async with MqttServer.serving() as running:
        yield running


def client_ids(server: MqttServer) -> list[str]:
    """Return the client ids of all attempts."""
    return [packet.body[12:17].decode() for session in server.sessions for packet in session.of(CONNECT)]


# Connecting


async def test_it_connects_at_the_end_of_the_activation_with_the_settings_of_the_check_in(
    server: MqttServer,
) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        assert sim.link == "mqtt"
        assert sim.state is State.IDLE
        (connect,) = session.of(CONNECT)
        variable_header = string("MQTT") + b"\x04" + b"\xc2" + (60).to_bytes(2)
        assert connect.body == variable_header + string("box-1") + string("box") + string("secret")


async def test_an_empty_user_name_and_password_are_left_out_and_the_default_keep_alive_is_four_minutes(
    server: MqttServer,
) -> None:
    server.settings = {"endpoint": f"127.0.0.1:{server.port}"}
    server.check_in(client_id="box")
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        (connect,) = session.of(CONNECT)
        assert connect.body == string("MQTT") + b"\x04\x02" + (240).to_bytes(2) + string("box")


async def test_a_keep_alive_of_zero_becomes_that_of_the_client_library(server: MqttServer) -> None:
    nvs = Nvs({"mqtt": {"keepalive": 30}})
    server.check_in(keepalive=0)
    async with server.device(nvs=nvs) as sim:
        (connect,) = (await mqtt_idle(server, sim)).of(CONNECT)
        assert connect.body[8:10] == (120).to_bytes(2)


async def test_it_never_subscribes_and_publishes_with_qos_0_to_its_one_topic_only(
    server: MqttServer,
) -> None:
    server.check_in(subscribe_topic="to/box")
    async with server.device() as sim:
        session = await mqtt_listening(server, sim)
        await sim.click()
        await session.expect(type="goodbye")
        assert not session.of(SUBSCRIBE)
        assert {(message.topic, message.flags) for message in session.of(PUBLISH)} == {("from/box", 0)}


async def test_without_a_topic_it_can_say_nothing(server: MqttServer) -> None:
    server.check_in(publish_topic="")
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        await sim.click()
        await settle()
        assert not session.of(PUBLISH)


async def test_it_hears_whatever_the_topic_however_long_and_acknowledges_what_asks_for_it(
    server: MqttServer,
) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        text = '{"type":"stt","text":"%s"}'
        session.send(text % "any topic", topic="nobody/asked/for")
        await sim.wait_for(lambda: sim.screen.user_text == "any topic")
        session.send(text % ("x" * 100_000))
        await sim.wait_for(lambda: len(sim.screen.user_text) == 100_000)
        session.writer.write(packet(0x32, string("a") + b"\x00\x07" + (text % "once").encode()))
        session.writer.write(packet(0x34, string("a") + b"\x00\x08" + (text % "exactly once").encode()))
        await sim.wait_for(lambda: sim.screen.user_text == "exactly once")
        session.writer.write(packet(0x62, b"\x00\x08"))
        await session.until(lambda: session.of(PUBCOMP))
        assert [one.body for kind in (PUBACK, PUBREC, PUBCOMP) for one in session.of(kind)] == [
            b"\x00\x07",
            b"\x00\x08",
            b"\x00\x08",
        ]


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "{}", '{"type":7}', '{"type":"tomorrow"}', ""])
async def test_what_it_does_not_understand_is_ignored(server: MqttServer, text: str) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        session.send(text)
        session.send({"type": "stt", "text": "fine"})
        await sim.wait_for(lambda: sim.screen.user_text == "fine")


@pytest.mark.parametrize(
    "data", [b"\x30\xff\xff\xff\xff\x01", b"\x30\x01\x00", packet(0x32, string("topic") + b"\x01")]
)
async def test_a_malformed_packet_makes_it_reconnect(server: MqttServer, data: bytes) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        session.writer.write(data)
        await server.session(2)
        await session.until(lambda: session.closed)


@pytest.mark.parametrize("connack", [b"\x20\x02\x00\x05", b"\x30\x02\x00\x00", b"\x20\x03\x00\x00\x00"])
async def test_refused_it_shows_an_error_and_tries_again_every_ten_seconds(
    server: MqttServer, connack: bytes
) -> None:
    server.accepts = None
    async with server.device() as sim:
        booting = asyncio.create_task(sim.boot())
        session = await server.session()
        session.writer.write(connack)
        await booting
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")
        assert not sim.connected
        server.accepts = 0
        await server.session(2)
        await sim.wait_for(lambda: sim.connected)


async def test_a_server_that_is_silent_is_given_up_after_ten_seconds_and_tried_again(
    server: MqttServer,
) -> None:
    server.accepts = None
    async with server.device(pace=Pace(waits=0.002, timeouts=0.005)) as sim:
        await sim.boot()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")
        assert {"connected": False, "reason": "no answer"} in sim.events("link")
        await server.session(2)


async def test_over_port_8883_it_wants_tls() -> None:
    """That the port decides is seen from the first bytes: a handshake instead of a CONNECT."""
    # Home Assistant's own test tools allow the usual one only.
    socket_allow_hosts(["127.0.0.1", OWN_HOST], allow_unix_socket=True)
    async with MqttServer.serving(OWN_HOST, 8883) as server, server.device(pace=Pace(timeouts=0.02)) as sim:
        await sim.boot()
        session = await server.session()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")
        assert (session.packets[0].kind << 4) + session.packets[0].flags == 0x16


# Keep-alive


async def test_it_pings_at_half_the_keep_alive_and_stays_when_it_is_answered(server: MqttServer) -> None:
    server.check_in(keepalive=2)
    async with server.device() as sim:
        started = asyncio.get_running_loop().time()
        session = await mqtt_idle(server, sim)
        await session.until(lambda: len(session.of(PINGREQ)) == 3)
        assert asyncio.get_running_loop().time() - started >= 3 * 1 * FAST.timeouts
        assert sim.connected
        assert len(server.sessions) == 1


async def test_unanswered_pings_make_it_reconnect(server: MqttServer) -> None:
    server.answers_pings = False
    server.check_in(keepalive=2)
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        await server.session(2)
        assert len(session.of(PINGREQ)) == 1
        assert session.closed


# Coming back


async def test_it_comes_back_by_itself(server: MqttServer) -> None:
    async with server.device() as sim:
        (await mqtt_idle(server, sim)).writer.transport.abort()
        session = await server.session(2)
        await sim.wait_for(lambda: sim.connected)
        session.send({"type": "stt", "text": "hello again"})
        await sim.wait_for(lambda: sim.screen.user_text == "hello again")
        assert [event["connected"] for event in sim.events("link")] == [True, False, True]


@pytest.mark.parametrize(("version", "answers"), [("1.6.6", False), ("1.7.5", False), ("1.9.0", True)])
async def test_up_to_1_7_5_it_cannot_send_after_coming_back_until_the_next_conversation(
    server: MqttServer, version: str, answers: bool
) -> None:
    """Its client does not know that it has reconnected; a new conversation makes a new client."""
    async with server.device(version) as sim:
        first = await mqtt_idle(server, sim)
        await first.call(1, "ping")
        first.writer.close()
        again = await server.session(2)
        await again.until(lambda: again.of(CONNECT))
        again.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 2, "method": "ping"}})
        if answers:
            await again.expect(type="mcp")
            return
        await sim.wait_for(lambda: sim.last_error == "SERVER_ERROR")
        assert not again.of(PUBLISH)
        await sim.click()
        talking = await server.session(3)
        await talking.expect(type="hello")
        await talking.call(3, "ping")


@pytest.mark.parametrize(("version", "seconds"), [("2.4.2", 60), ("1.9.0", 60), ("1.8.9", 10)])
async def test_while_idle_the_client_is_replaced_when_the_server_stays_away(
    server: MqttServer, version: str, seconds: int
) -> None:
    """The new client reads its settings again; the old one reconnects with its first ones."""
    pace = Pace(waits=0.002, timeouts=0.2)
    async with server.device(version, pace=pace) as sim:
        session = await mqtt_idle(server, sim)
        server.accepts = 3
        sim.nvs.set("mqtt", "client_id", "box-2")
        lost = asyncio.get_running_loop().time()
        session.writer.transport.abort()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")
        assert asyncio.get_running_loop().time() - lost >= seconds * pace.waits
        assert client_ids(server)[-1] == "box-2"
        assert "box-1" in client_ids(server)
        server.accepts = 0
        await sim.wait_for(lambda: sim.connected)


async def test_not_idle_it_is_left_to_the_client(server: MqttServer) -> None:
    """The timer rings once, and looks only at the state of that moment."""
    pace = Pace(waits=0.001, timeouts=0.2, main_loop_delay=0)
    async with server.device(pace=pace, mac="24:6f:28:aa:bb:09") as sim:
        session = await mqtt_listening(server, sim)
        server.accepts = 3
        sim.nvs.set("mqtt", "client_id", "box-2")
        session.writer.transport.abort()
        await server.session(12)
        assert sim.state is State.LISTENING
        assert set(client_ids(server)) == {"box-1"}


async def test_a_click_while_the_server_is_away_connects_at_once(server: MqttServer) -> None:
    async with server.device(pace=Pace(waits=1, timeouts=0.2, main_loop_delay=0)) as sim:
        (await mqtt_idle(server, sim)).writer.transport.abort()
        await sim.wait_for(lambda: not sim.connected)
        await sim.click()
        session = await server.session(2)
        await session.expect(type="listen", state="start")


async def test_a_click_without_a_server_ends_in_an_error(server: MqttServer) -> None:
    server.check_in(endpoint="127.0.0.1:9")
    async with server.device() as sim:
        await sim.boot()
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")
        assert sim.state is State.IDLE


async def test_after_ten_failed_check_ins_it_connects_with_what_the_flash_holds(server: MqttServer) -> None:
    """Settings of an earlier life, perhaps those of the vendor's cloud."""
    nvs = Nvs()
    nvs.merge("mqtt", server.settings)
    server.http.replies[0] = 503
    async with server.device(nvs=nvs, pace=Pace(waits=0.0002, timeouts=0.2)) as sim:
        await sim.boot()
        session = await server.session()
        await sim.wait_for(lambda: sim.connected)
        assert len(server.http.requests) == 10
        session.send({"type": "stt", "text": "hello"})
        await sim.wait_for(lambda: sim.screen.user_text == "hello")


# The end


async def test_a_reboot_leaves_the_server_politely(server: MqttServer) -> None:
    async with server.device() as sim:
        session = await mqtt_idle(server, sim)
        session.send({"type": "system", "command": "reboot"})
        await session.until(lambda: session.closed)
        assert session.packets[-1].kind == DISCONNECT
        assert session.seen(type="goodbye") == 0
        await server.session(2)
        await sim.wait_for(lambda: sim.connected)
        assert len(server.http.requests) == 2


async def test_a_reboot_in_a_conversation_says_goodbye_first(server: MqttServer) -> None:
    async with server.device() as sim:
        session = await mqtt_listening(server, sim)
        session.send({"type": "system", "command": "reboot"})
        await session.until(lambda: session.closed)
        assert session.seen(type="goodbye") == 1
        assert session.packets[-1].kind == DISCONNECT


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_power_it_is_gone_without_a_word(server: MqttServer, version: str) -> None:
    async with server.device(version) as sim:
        session = await mqtt_listening(server, sim)
        await sim.power_off()
        await session.until(lambda: session.closed)
        assert not session.of(DISCONNECT)
        assert session.seen(type="goodbye") == 0
