"""A running WebSocket listener, and devices in conversations."""

from collections.abc import AsyncGenerator

import pytest
from websockets.frames import Opcode

from tests.protocol.transport.udp.device import opus_packet
from tests.protocol.transport.websocket.peer import RawDevice, Site


@pytest.fixture
async def site(socket_enabled: None) -> AsyncGenerator[Site]:
    """A listener on loopback."""
    site = Site()
    await site.start()
    yield site
    await site.listener.stop()
    for device in site.devices:
        await device.hang_up()


@pytest.fixture
async def bystander(site: Site) -> AsyncGenerator[None]:
    """Another device, whose conversation must go on whatever happens in the test."""
    device = await RawDevice.talking(site, Device_Id="02:00:00:00:00:02")
    yield
    device.send_frame(Opcode.BINARY, opus_packet(b"still there"))
    assert await device.recorder.wait_for("audio") == (opus_packet(b"still there"), 0)
    await device.link.send({"type": "alert", "text": "yes"})
    assert await device.receive_json() == {"type": "alert", "text": "yes"}
    assert device.recorder.names == ["opened", "audio"]
    await device.hang_up()
    await device.recorder.wait_for("link_closed")


@pytest.fixture
async def device(site: Site) -> RawDevice:
    """A device in a conversation."""
    return await RawDevice.talking(site)
