"""A running MQTT endpoint, and the owner of its links."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from custom_components.xiaozhi.protocol.timeouts import MqttTimeouts
from custom_components.xiaozhi.protocol.transport.local_network import is_local
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.device import MAC
from tests.protocol.transport.mqtt.wire import WireClient
from tests.protocol.transport.websocket.peer import TOKEN, Owner


@dataclass
class Site(Owner):
    """A running endpoint."""

    endpoint: MqttServer = field(init=False)
    audio: UdpServer = field(default_factory=UdpServer)

    async def start(self, **timeouts: float) -> None:
        self.endpoint = MqttServer(
            self.authenticate,
            audio=self.audio,
            timeouts=MqttTimeouts(**{"refusal": 0, "close": 0.05} | timeouts),
            admits=self.admits,
        )
        self.audio.start("127.0.0.1", 0)
        await self.endpoint.start("127.0.0.1", 0)

    async def stop(self) -> None:
        await self.endpoint.stop()
        self.audio.stop()

    @classmethod
    @asynccontextmanager
    async def running(
        cls, *, admits: Callable[[str], bool] = is_local, **timeouts: float
    ) -> AsyncGenerator[Self]:
        site = cls(admits=admits)
        await site.start(**timeouts)
        yield site
        await site.stop()

    async def client(self) -> WireClient:
        return await WireClient.open(self.endpoint.port)

    async def device(self, mac: str = MAC) -> WireClient:
        return await WireClient.login(self.endpoint.port, "xiaozhi-1", mac, TOKEN)

    async def fails(self, *packets: bytes) -> None:
        """Check that a device which sends this is cut off, with an end that its handler hears of once."""
        device = await self.device()
        recorder = self.recorders[-1]
        await device.send(*packets)
        assert await device.closed()
        await recorder.wait_for("link_closed")
        assert recorder.names == ["link_closed"]
        await device.close()
