"""Brokers of the owner's."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.protocol.transport.mqtt.brokers import ANONYMOUS, Mosquitto, PushingBroker, mosquitto


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncGenerator[Mosquitto]:
    """A Mosquitto that lets everybody in."""
    async with mosquitto(tmp_path, ANONYMOUS) as broker:
        yield broker


@pytest.fixture
async def pushing() -> AsyncGenerator[PushingBroker]:
    """A broker that delivers to those that do not subscribe."""
    broker = await PushingBroker().start()
    yield broker
    await broker.stop()
