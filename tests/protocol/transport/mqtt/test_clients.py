"""An MQTT client that others have made, at the endpoint for devices."""

import asyncio
from collections.abc import AsyncGenerator
import json
from typing import Any

import aiomqtt
import pytest

from custom_components.xiaozhi.protocol.messages import ListenMode, ListenStart, tts_start
from custom_components.xiaozhi.protocol.timeouts import MqttTimeouts
from custom_components.xiaozhi.protocol.transport.link import Admission, Credentials, Link, LinkHandler
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import downlink_topic, uplink_topic
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.device import DOWNLINK, HELLO, LISTEN, MAC, encoded
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
            self._authenticate, audio=self.audio, downlink=DOWNLINK, timeouts=MqttTimeouts(refusal=0)
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


async def test_aiomqtt_talks_to_the_endpoint(site: _Site) -> None:
    """Without a subscription and with one: messages both ways, a conversation, and an orderly end."""
    client = aiomqtt.Client(
        "127.0.0.1", site.endpoint.port, username=MAC, password=TOKEN, identifier="xiaozhi-1"
    )
    async with client:
        link, recorder = await site.linked()
        await link.send(tts_start())
        assert await _next(client) == {"type": "tts", "state": "start"}, "without a subscription"
        codes = await client.subscribe([(DOWN, 1), ("#", 0)])
        assert [code if isinstance(code, int) else code.value for code in codes] == [0, 0x80]
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
