"""A connection of the integration to a broker, and devices at that broker."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import json
from typing import Any

from aiomqtt import Client

from custom_components.xiaozhi.protocol.transport.link import Admission
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import MqttLink, uplink_topic
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_connection import BrokerConnection
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerSettings,
)
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_topics import Address
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.brokers import Mosquitto
from tests.protocol.transport.mqtt.device import MAC, OTHER_MAC, encoded
from tests.protocol.transport.udp.device import until
from tests.protocol.transport.websocket.peer import Owner, Recorder

ANONYMOUS = "allow_anonymous true"
GATEWAY = "00c0ffee"


class Site(Owner):
    """A connection to a broker, and the owner of its links."""

    def __init__(self, port: int, gateway: str = GATEWAY, **settings: Any) -> None:
        super().__init__()
        self.audio = UdpServer()
        self.problems: list[BrokerError | None] = []
        self.devices: list[str] = []
        self.paired = {MAC, OTHER_MAC}
        self.broker = BrokerConnection(
            BrokerSettings(host="127.0.0.1", port=port, **settings),
            self._admit,
            gateway=gateway,
            devices=lambda: self.devices,
            address=lambda _mac: "127.0.0.1",
            audio=self.audio,
            state_changed=self.state_changed,
        )

    def state_changed(self, problem: BrokerError | None) -> None:
        self.problems.append(problem)

    def _admit(self, mac: str) -> Admission | None:
        return self.admission if mac in self.paired else None

    async def linked(self, count: int = 1) -> tuple[MqttLink, Recorder]:
        await until(lambda: len(self.links) >= count)
        return self.links[count - 1], self.recorders[count - 1]


@asynccontextmanager
async def running(port: int, **options: Any) -> AsyncGenerator[Site]:
    site = Site(port, **options)
    site.audio.start("127.0.0.1", 0)
    site.broker.start()
    await until(lambda: site.broker.connected)
    try:
        yield site
    finally:
        await site.broker.stop()
        site.audio.stop()


@asynccontextmanager
async def device_at(broker: Mosquitto, mac: str = MAC, gateway: str = GATEWAY) -> AsyncGenerator[Device]:
    address = Address(mac, gateway)
    async with Client("127.0.0.1", broker.port) as client:
        await client.subscribe(address.downlink)
        yield Device(client, uplink_topic(address.client_id))


class Device:
    """A device whose firmware subscribes."""

    def __init__(self, client: Client, topic: str) -> None:
        self._client = client
        self._topic = topic

    async def say(self, message: Any, **options: Any) -> None:
        await self._client.publish(self._topic, encoded(message), **options)

    async def hear(self) -> Any:
        async with asyncio.timeout(5):
            message = await anext(aiter(self._client.messages))
            return json.loads(message.payload)
