"""The MQTT endpoint for devices, at the level of packets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
import json
import logging
import socket

import pytest

from custom_components.xiaozhi.protocol.messages import tts_start
from custom_components.xiaozhi.protocol.timeouts import MqttTimeouts
from custom_components.xiaozhi.protocol.transport.link import Credentials, Link, LinkClosedError
from custom_components.xiaozhi.protocol.transport.mqtt import mqtt_server
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import downlink_topic, uplink_topic
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_packets import MAX_PACKET_BYTES
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from simulator.link.mqtt_client import packet
from tests.protocol.transport.mqtt import wire
from tests.protocol.transport.mqtt.device import HELLO, LISTEN, MAC, OTHER_MAC, encoded
from tests.protocol.transport.mqtt.wire import WireClient
from tests.protocol.transport.udp.device import until
from tests.protocol.transport.websocket.peer import TOKEN, Owner, failing_in, port_of

pytestmark = pytest.mark.timeouts(MqttTimeouts, refusal=0, close=0.05)


@dataclass
class Site(Owner):
    """A running endpoint."""

    endpoint: MqttServer = field(init=False)
    audio: UdpServer = field(default_factory=UdpServer)
    clients: list[WireClient] = field(default_factory=list)

    async def client(self, address: str = "127.0.0.1") -> WireClient:
        self.clients.append(await WireClient.open(port_of(self.endpoint), address))
        return self.clients[-1]

    async def device(self, mac: str = MAC) -> WireClient:
        self.clients.append(await WireClient.login(port_of(self.endpoint), "xiaozhi-1", mac, TOKEN))
        return self.clients[-1]


@pytest.fixture
async def site(socket_enabled: None) -> AsyncGenerator[Site]:
    """An endpoint whose refusals come at once."""
    site = Site()
    site.audio.start("127.0.0.1", 0)
    site.endpoint = MqttServer(site, audio=site.audio)
    await site.endpoint.start("127.0.0.1", 0)
    yield site
    await site.endpoint.stop()
    site.audio.stop()
    for client in site.clients:
        await client.close()


@pytest.fixture
async def bystander(site: Site) -> AsyncGenerator[None]:
    """Another device, whose conversation must go on whatever the test does."""
    device = await site.device(OTHER_MAC)
    link, recorder = site.links[-1], site.recorders[-1]
    yield
    await device.send(wire.publish(uplink_topic(OTHER_MAC), encoded(LISTEN)))
    await recorder.wait_for("message")
    await link.send(tts_start())
    assert (await device.receive_message())[0] == downlink_topic(OTHER_MAC)
    assert recorder.names == ["message"]
    await device.close()
    await recorder.wait_for("link_closed")


async def test_a_device_shows_mac_token_and_client_id(site: Site) -> None:
    """All its claims are passed on for the decision, with the MAC in one spelling."""
    client = await site.client()
    await client.send(wire.connect("some-id", "02:00:00:00:00:AB", "wrong"))
    assert await client.receive() == (0x20, b"\x00\x05")
    assert await client.closed()
    [credentials] = site.seen
    assert credentials == Credentials(
        mac="02:00:00:00:00:ab", client_id="some-id", token="wrong", remote="127.0.0.1"
    )
    assert not site.links


@pytest.mark.parametrize(
    "packet",
    [
        wire.connect("id", MAC),
        wire.connect("id", "nobody", TOKEN),
        wire.connect("id", None, TOKEN),
        wire.connect("id", MAC, b"\xff\xfe"),
    ],
    ids=["no token", "no MAC", "no user", "binary token"],
)
@pytest.mark.usefixtures("bystander")
async def test_a_bad_connect_is_refused(site: Site, packet: bytes) -> None:
    client = await site.client()
    await client.send(packet)
    assert await client.receive() == (0x20, b"\x00\x05")
    assert await client.closed()
    assert len(site.links) == 1


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize(
    "first",
    [
        wire.publish(uplink_topic(MAC), b"{}"),
        b"G",
        b"\x10\xff\xff\xff\x7f",
        b"\x10\x80\x80\x80\x80",
        b"\x10" + (5000).to_bytes(2, "little") + bytes(5000),
        wire.connect("id", MAC, TOKEN, level=5),
    ],
    ids=["publish", "http", "giant", "endless length", "large connect", "MQTT 5"],
)
async def test_anything_but_a_connect_at_first_ends_the_connection(site: Site, first: bytes) -> None:
    """Without a word, as the standard wants it."""
    client = await site.client()
    await client.send(first)
    assert await client.closed()
    assert len(site.links) == 1


@pytest.mark.timeouts(MqttTimeouts, connect=0.02)
async def test_a_client_that_says_nothing_is_dropped(site: Site) -> None:
    silent, slow = await site.client(), await site.client()
    await slow.send(wire.connect("id", MAC, TOKEN)[:-1])
    assert await silent.closed()
    assert await slow.closed()
    assert not site.seen


@pytest.mark.usefixtures("bystander")
async def test_a_device_reaches_nobody_but_us(site: Site) -> None:
    """Topics of other devices, ours to it, and any other are dropped, and sent to nobody."""
    await site.device(OTHER_MAC)
    device = await site.device()
    for topic in (uplink_topic(OTHER_MAC), downlink_topic(OTHER_MAC), downlink_topic(MAC), "$SYS/x", "a"):
        await device.send(wire.publish(topic, encoded(LISTEN)))
    await device.send(wire.publish(uplink_topic(MAC), encoded(LISTEN)))
    await site.recorders[-1].wait_for("message")
    assert [name for recorder in site.recorders for name in recorder.names] == ["message"]


async def test_a_subscription_is_granted_for_the_own_topic_only(site: Site) -> None:
    """With it or without, the device gets the same."""
    device = await site.device()
    filters = (downlink_topic(MAC), downlink_topic(OTHER_MAC), "#", "xiaozhi/+/down", uplink_topic(MAC))
    await device.send(wire.subscribe(5, *filters))
    assert await device.receive() == (0x90, b"\x00\x05\x00\x80\x80\x80\x80")
    await site.links[0].send(tts_start())
    assert (await device.receive_message())[0] == downlink_topic(MAC)


async def test_a_message_at_qos_1_is_acknowledged(site: Site) -> None:
    """Some programs publish so, and would connect again and again."""
    device = await site.device()
    await device.send(wire.publish(uplink_topic(MAC), encoded(LISTEN), qos=1, packet_id=0x1234))
    assert await device.receive() == (0x40, b"\x12\x34")
    await site.recorders[0].wait_for("message")


async def test_a_disconnect_ends_the_link(site: Site) -> None:
    """What follows it is not looked at; and we may stop in that moment."""
    device = await site.device()
    await device.send(wire.DISCONNECT, wire.publish(uplink_topic(MAC), encoded(LISTEN)))
    assert await site.recorders[0].wait_for("link_closed") == "the device disconnected"
    await site.endpoint.stop()
    assert await device.closed()
    assert site.recorders[0].names == ["link_closed"]
    with pytest.raises(LinkClosedError, match="the device disconnected"):
        await site.links[0].send(tts_start())


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize(
    "packets",
    [
        pytest.param(wire.connect("id", MAC, TOKEN), id="second connect"),
        pytest.param(wire.publish(uplink_topic(MAC), b"{}", qos=2), id="qos 2"),
        pytest.param(packet(0x30, bytes(MAX_PACKET_BYTES + 1))[:10], id="giant"),
        pytest.param(
            wire.publish("elsewhere", bytes(MAX_PACKET_BYTES)) * 3 + b"\xf0\x00", id="giants for others"
        ),
        pytest.param(wire.publish(uplink_topic(MAC), bytes(MAX_PACKET_BYTES)) * 10, id="flood of giants"),
        pytest.param(wire.PINGREQ * 1000, id="ping flood"),
        pytest.param(wire.publish(uplink_topic(MAC), b"garbage") * 100, id="garbage flood"),
    ],
)
async def test_what_a_device_must_not_send_ends_its_link(site: Site, packets: bytes) -> None:
    """Its handler hears of the end once."""
    device = await site.device()
    recorder = site.recorders[-1]
    await device.send(packets)
    assert await device.closed()
    await recorder.wait_for("link_closed")
    assert [name for name in recorder.names if name != "too_long"] == ["link_closed"]


@pytest.mark.parametrize(("keep_alive", "silence"), [(4, 6), (0, 90)])
async def test_silence_beyond_the_keep_alive_ends_the_link(
    site: Site, keep_alive: int, silence: float
) -> None:
    """1.5 times what the device has promised, or else a minute; any packet counts, half of one does not."""
    device = await site.client()
    await device.send(wire.connect("id", MAC, TOKEN, keep_alive=keep_alive))
    await device.receive()
    for _ in range(3):
        await asyncio.sleep(silence - 1)
        await device.send(wire.PINGREQ)
        assert await device.receive() == (0xD0, b"")
    await device.send(wire.PINGREQ[:1])
    await asyncio.sleep(silence)
    assert await site.recorders[0].wait_for("link_closed") == "nothing heard from the device in time"
    assert await device.closed()


async def send_much(link: Link, size: int) -> None:
    while True:
        await link.send({"type": "alert", "message": "x" * size})


@pytest.mark.timeouts(MqttTimeouts, send=0.05)
async def test_a_device_that_reads_nothing_is_given_up(site: Site) -> None:
    """Sending does not wait for ever, nor keep what nobody takes."""
    await site.device()
    with pytest.raises(LinkClosedError, match="does not take"):
        await send_much(site.links[0], 60_000)
    await site.recorders[0].wait_for("link_closed")
    with pytest.raises(LinkClosedError):
        await site.links[0].send(tts_start())


async def test_a_link_that_we_close_holds_no_connection_of_a_silent_reader(site: Site) -> None:
    """However rarely the device has promised to show that it is alive."""
    device = await site.device()
    device.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    device.writer.transport.pause_reading()

    async def ping() -> None:
        while True:
            await device.send(wire.PINGREQ)
            await asyncio.sleep(0.01)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(send_much(site.links[0], 1000), 0.2)
    await site.links[0].close("a newer link has come")
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(ping(), 10)


async def test_stopping_ends_every_link_with_a_goodbye(site: Site) -> None:
    """Devices in a conversation go idle; connections that are half open are dropped."""
    talking, idle, stranger = await site.device(), await site.device(OTHER_MAC), await site.client()
    await talking.send(wire.publish(uplink_topic(MAC), encoded(HELLO)))
    hello = json.loads((await talking.receive_message())[1])
    await site.recorders[0].wait_for("opened")
    port = port_of(site.endpoint)
    await site.endpoint.stop()
    await site.endpoint.stop()
    goodbye = json.loads((await talking.receive_message())[1])
    assert goodbye == {"type": "goodbye", "session_id": hello["session_id"]}
    for client in (talking, idle, stranger):
        assert await client.closed()
    assert [recorder.names[-1] for recorder in site.recorders] == ["link_closed"] * 2
    with pytest.raises(ConnectionError):
        await WireClient.open(port)


@pytest.mark.usefixtures("bystander")
async def test_an_error_of_a_handler_is_logged_once_and_ends_no_link(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.make_handler = partial(failing_in, "message_received")
    device = await site.device()
    for count in (1, 2):
        await device.send(wire.publish(uplink_topic(MAC), encoded(LISTEN)))
        await site.recorders[-1].wait_for("message", count)
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1


async def test_the_owner_may_say_where_devices_reach_the_audio(site: Site) -> None:
    """Behind a container's network our own address is of no use to them."""
    site.addresses[MAC] = "ha.example"
    for mac, address in ((MAC, "ha.example"), (OTHER_MAC, "127.0.0.1")):
        device = await site.device(mac)
        await device.send(wire.publish(uplink_topic(mac), encoded(HELLO)))
        assert json.loads((await device.receive_message())[1])["udp"]["server"] == address


@pytest.mark.usefixtures("bystander")
async def test_500_connections_that_never_finish_lock_nobody_out(site: Site) -> None:
    """The oldest of them go; a device gets in at once, before and after."""
    strangers = [await site.client() for _ in range(250)]
    for stranger in strangers:
        stranger.writer.write(wire.connect("id", MAC, TOKEN)[:9])
    await site.device()
    strangers += [await site.client() for _ in range(250)]
    again = await site.device()
    await site.links[-1].send(tts_start())
    await again.receive_message()
    assert await strangers[0].closed()


@pytest.mark.timeouts(MqttTimeouts, refusal=60)
async def test_wrong_passwords_are_slowed_and_right_ones_are_not(site: Site) -> None:
    """Who guesses waits for the answer; the device behind the same address does not."""
    guessers = [await site.client() for _ in range(100)]
    for guesser in guessers:
        await guesser.send(wire.connect("id", MAC, "guess"))
    await until(lambda: len(site.seen) == len(guessers))
    device = await site.device()
    answer = asyncio.create_task(guesser.receive())
    await device.send(wire.PINGREQ)
    assert await device.receive() == (0xD0, b"")
    assert not answer.done()
    await site.endpoint.stop()
    with pytest.raises(asyncio.IncompleteReadError):
        await answer


async def test_callers_from_outside_the_home_network_are_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even right credentials are read; 64 places wait for devices that are at home."""
    monkeypatch.setattr(mqtt_server, "is_local", lambda address: address != "127.0.0.2")
    waiting = await site.client()
    for _ in range(100):
        outside = await site.client("127.0.0.2")
        with suppress(ConnectionError):
            await outside.send(wire.connect("id", MAC, TOKEN))
        assert await outside.closed()
    await waiting.send(wire.connect("id", MAC, TOKEN))
    assert await waiting.receive() == (0x20, b"\x00\x00")
    assert {credentials.remote for credentials in site.seen} == {"127.0.0.1"}
