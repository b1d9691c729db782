"""Two paired devices, and a message from one to the other."""

from homeassistant.config_entries import ConfigSubentryData
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.device import Device
from simulator.audio.espeak import synthesize
from tests.integration.clock.conftest import handle
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, MAC, OTHER_MAC

__all__ = ["handle"]


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return (paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Bedroom box"))


@pytest.fixture(scope="session")
def message() -> bytes:
    """What somebody says to somebody: 16 kHz mono PCM, with a pause that ends nothing."""
    first, second = (
        synthesize(words, speed=250, sample_rate=16000)[0] for words in ("Dinner is ready.", "Please come.")
    )
    return first + bytes(2 * 16000) + second


@pytest.fixture
def bedroom(linked_entry: MockConfigEntry) -> Device:
    """What Home Assistant knows of the other device."""
    device: Device = linked_entry.runtime_data.devices[OTHER_MAC]
    return device
