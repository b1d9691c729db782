"""A device on MQTT, and the folder for its firmware."""

from pathlib import Path

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.firmware.library import FIRMWARE_FOLDER
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice
from tests.integration.firmware.updates import boot_linked
from tests.integration.names import Boot


@pytest.fixture
def link() -> LinkKind:
    """Most of it is for devices that can be reached at any time."""
    return LinkKind.MQTT


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, hass: HomeAssistant, tmp_path: Path) -> Path:
    """The folder into which the owner puts files; nothing else of the configuration is here."""
    path = hass.config.path

    def elsewhere(*parts: str) -> str:
        return str(tmp_path.joinpath(*parts)) if parts == FIRMWARE_FOLDER else path(*parts)

    monkeypatch.setattr(hass.config, "path", elsewhere)
    firmware = tmp_path.joinpath(*FIRMWARE_FOLDER)
    firmware.mkdir(parents=True)
    return firmware


@pytest.fixture
async def box(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """A device with firmware 2.4.1 that is linked."""
    return await boot_linked(hass, boot)
