"""A broker of the owner's."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.protocol.transport.mqtt.brokers import ANONYMOUS, Mosquitto, mosquitto


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncGenerator[Mosquitto]:
    """A Mosquitto that lets everybody in."""
    async with mosquitto(tmp_path, ANONYMOUS) as broker:
        yield broker
