"""MQTT clients that others have made, at the endpoint for devices."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
import json
import queue
from typing import Any

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
import pytest

from custom_components.xiaozhi.protocol.messages import ListenMode, ListenStart, tts_start
from custom_components.xiaozhi.protocol.timeouts import MqttTimeouts
from custom_components.xiaozhi.protocol.transport.link import Admission, Credentials, Link, LinkHandler
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import downlink_topic, uplink_topic
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.brokers import command
from tests.protocol.transport.mqtt.device import DOWNLINK, HELLO, LISTEN, MAC, OTHER_MAC, encoded
from tests.protocol.transport.udp.device import DeviceAudio, DeviceSocket, opus_packet, until
from tests.protocol.transport.websocket.peer import Recorder

pytestmark = pytest.mark.real_time

TOKEN = "f00dcafe"
UP, DOWN = uplink_topic(MAC), downlink_topic(MAC)


class _Site:
    """An endpoint for one device."""

    def __init__(self) -> None:
        self.audio = UdpServer()
        self.endpoint = MqttServer(
            self._authenticate, audio=self.audio, downlink=DOWNLINK, timeouts=MqttTimeouts(first_refusal=0)
        )
        self.links: list[Link] = []
        self.recorders: list[Recorder] = []

    def _authenticate(self, credentials: Credentials) -> Admission | None:
        good = (credentials.mac, credentials.client_id, credentials.token) == (MAC, "xiaozhi-1", TOKEN)
        return Admission(attach=self._attach, pings_safe=True) if good else None

    def _attach(self, link: Link) -> LinkHandler:
        self.links.append(link)
        self.recorders.append(Recorder())
        return self.recorders[-1]

    async def linked(self) -> tuple[Link, Recorder]:
        """Wait for the device."""
        await until(lambda: bool(self.links))
        return self.links[-1], self.recorders[-1]


@pytest.fixture
async def site(socket_enabled: None) -> AsyncGenerator[_Site]:
    """An endpoint with its audio server."""
    site = _Site()
    site.audio.start("127.0.0.1", 0)
    await site.endpoint.start("127.0.0.1", 0)
    yield site
    await site.endpoint.stop()
    site.audio.stop()


# aiomqtt


async def test_aiomqtt_talks_to_the_endpoint(site: _Site) -> None:
    """Subscription, messages both ways, a conversation, and an orderly end."""
    client = aiomqtt.Client(
        "127.0.0.1", site.endpoint.port, username=MAC, password=TOKEN, identifier="xiaozhi-1"
    )
    async with client:
        link, recorder = await site.linked()
        codes = await client.subscribe([(DOWN, 1), ("#", 0)])
        assert [code if isinstance(code, int) else code.value for code in codes] == [0, 0x80]
        await client.unsubscribe(DOWN)
        await client.publish(UP, encoded(LISTEN), qos=1)
        assert await recorder.wait_for("message") == ListenStart(ListenMode.AUTO)
        await client.publish(UP, encoded(HELLO))
        hello = await _next(client)
        audio, device_socket = DeviceAudio.from_offer(hello["udp"]), await DeviceSocket.open(site.audio.port)
        device_socket.send(audio.seal(opus_packet()))
        await recorder.wait_for("audio")
        await link.send_audio(opus_packet(b"answer"))
        assert audio.open(await device_socket.receive()) == opus_packet(b"answer")
        large = {"type": "mcp", "payload": {"text": "ö" * 20_000}}
        await link.send(large)
        assert await _next(client) == large
        device_socket.close()
    assert await recorder.wait_for("link_closed") == "the device disconnected"


async def _next(client: aiomqtt.Client) -> Any:
    async with asyncio.timeout(5):
        return json.loads((await anext(aiter(client.messages))).payload)


async def test_aiomqtt_is_told_why_it_is_refused(site: _Site) -> None:
    """With the code of the standard."""
    for options, reason in (
        ({"username": MAC, "password": "wrong", "identifier": "xiaozhi-1"}, "Not authorized"),
        ({"username": MAC, "password": TOKEN, "identifier": "another"}, "Not authorized"),
        ({"username": OTHER_MAC, "password": TOKEN, "identifier": "xiaozhi-1"}, "Not authorized"),
        ({"identifier": "xiaozhi-1"}, "Bad user name or password"),
    ):
        client = aiomqtt.Client("127.0.0.1", site.endpoint.port, **options)  # type: ignore[arg-type]
        with pytest.raises(MqttConnectError, match=reason):
            await client.__aenter__()
    assert not site.links


# paho-mqtt, with a thread of its own


class _Paho:
    """Keeps what a client in its thread reports."""

    def __init__(self, port: int, **options: Any) -> None:
        self.events: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.client = Client(CallbackAPIVersion.VERSION2, client_id="xiaozhi-1", **options)
        self.client.username_pw_set(MAC, TOKEN)
        self.client.on_connect = self._connected
        self.client.on_disconnect = self._disconnected
        self.client.on_message = self._message
        self.client.connect_timeout = 5
        self._port = port

    async def start(self) -> None:
        """Connect, and run the thread."""
        await asyncio.to_thread(self.client.connect, "127.0.0.1", self._port)
        self.client.loop_start()

    async def stop(self) -> None:
        """End the thread."""
        self.client.disconnect()
        await asyncio.to_thread(self.client.loop_stop)

    async def event(self) -> tuple[str, Any]:
        """Wait for what happens next."""
        return await asyncio.to_thread(self.events.get, timeout=5)

    def _connected(
        self,
        _client: Client,
        _data: None,
        _flags: ConnectFlags,
        code: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        self.events.put(("connected", str(code)))

    def _disconnected(
        self,
        _client: Client,
        _data: None,
        _flags: DisconnectFlags,
        code: ReasonCode,
        _more: Properties | None,
    ) -> None:
        self.events.put(("disconnected", code.is_failure))

    def _message(self, _client: Client, _data: None, message: MQTTMessage) -> None:
        self.events.put((message.topic, json.loads(message.payload)))


async def test_paho_hears_us_without_a_subscription(site: _Site) -> None:
    """As the firmware does; and its keep-alive is answered."""
    paho = _Paho(site.endpoint.port)
    await paho.start()
    assert await paho.event() == ("connected", "Success")
    link, recorder = await site.linked()
    await link.send(tts_start())
    assert await paho.event() == (DOWN, {"type": "tts", "state": "start"})
    for qos in (0, 1):
        sent = paho.client.publish(UP, encoded(LISTEN), qos=qos)
        await asyncio.to_thread(sent.wait_for_publish, 5)
        assert sent.is_published()
        await recorder.wait_for("message", qos + 1)
    await paho.stop()
    assert await paho.event() == ("disconnected", False)
    assert await recorder.wait_for("link_closed") == "the device disconnected"


async def test_paho_is_cut_off_for_qos_2(site: _Site) -> None:
    """The message is not taken, and the client learns at once that something is wrong."""
    paho = _Paho(site.endpoint.port, reconnect_on_failure=False)
    await paho.start()
    assert await paho.event() == ("connected", "Success")
    _, recorder = await site.linked()
    sent = paho.client.publish(UP, encoded(LISTEN), qos=2)
    assert await paho.event() == ("disconnected", True)
    assert not sent.is_published()
    assert recorder.events == [("link_closed", "QoS 2 is not offered")]
    await paho.stop()


async def test_paho_with_mqtt_5_is_told_that_the_version_is_wrong(site: _Site) -> None:
    """Before the connection ends."""
    paho = _Paho(site.endpoint.port, protocol=MQTTv5, reconnect_on_failure=False)
    await paho.start()
    assert await paho.event() == ("connected", "Unsupported protocol version")
    await paho.stop()
    assert not site.links


# The commands of Mosquitto


async def _run(name: str, port: int, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        command(name),
        *("-h", "127.0.0.1", "-p", str(port), "-i", "xiaozhi-1", "-u", MAC, *arguments),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )


@pytest.mark.parametrize("qos", ["0", "1"])
async def test_mosquitto_pub_delivers(site: _Site, qos: str) -> None:
    """And exits with success."""
    process = await _run(
        "mosquitto_pub", site.endpoint.port, "-P", TOKEN, "-q", qos, "-t", UP, "-m", json.dumps(LISTEN)
    )
    _, recorder = await site.linked()
    assert await recorder.wait_for("message") == ListenStart(ListenMode.AUTO)
    assert await process.wait() == 0
    await recorder.wait_for("link_closed")


async def test_mosquitto_sub_receives(site: _Site) -> None:
    """What is sent to the device, under the device's topic."""
    process = await _run("mosquitto_sub", site.endpoint.port, "-P", TOKEN, "-v", "-C", "1", "-t", DOWN)
    link, _ = await site.linked()
    await link.send(tts_start())
    output, _ = await process.communicate()
    assert output.decode().strip() == f'{DOWN} {{"type":"tts","state":"start"}}'
    assert process.returncode == 0


async def test_mosquitto_sub_gets_no_topic_of_others(site: _Site) -> None:
    """The command gives up when no subscription is granted."""
    process = await _run("mosquitto_sub", site.endpoint.port, "-P", TOKEN, "-t", "#")
    _, errors = await process.communicate()
    assert b"subscription requests were denied" in errors


async def test_mosquitto_pub_with_a_wrong_password_fails(site: _Site) -> None:
    """And says why."""
    process = await _run("mosquitto_pub", site.endpoint.port, "-P", "wrong", "-t", UP, "-m", "{}")
    _, errors = await process.communicate()
    assert process.returncode == 5
    assert b"not authorised" in errors
    assert not site.links
