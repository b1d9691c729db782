"""A device on MQTT, the folder for its firmware, and its update entity as the owner uses it."""

from dataclasses import replace
from pathlib import Path

from homeassistant.components.homeassistant import SERVICE_UPDATE_ENTITY
from homeassistant.components.update import ATTR_INSTALLED_VERSION, ATTR_LATEST_VERSION, SERVICE_INSTALL
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.firmware.available_firmware import FIRMWARE_FOLDER
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import BOARDS, Pace, SimulatedDevice, get_profile
from tests.integration.boxes import act, state_of, wait_for_state
from tests.integration.names import CONNECTED, MAC, Boot

FIRMWARE = "update.kitchen_box_firmware"
BOARD = BOARDS["s3"].name
SIZE = 256 * 1024
QUICK = Pace(waits=0.02, timeouts=0.1, flash=10, main_loop_delay=0.001)


async def boot_linked(hass: HomeAssistant, boot: Boot, **pace: float) -> SimulatedDevice:
    device = await boot(get_profile(version="2.4.1"), pace=replace(QUICK, **pace))
    await wait_for_state(hass, CONNECTED, "on")
    return device


async def look(hass: HomeAssistant) -> None:
    await act(hass, "homeassistant", SERVICE_UPDATE_ENTITY, FIRMWARE)
    await hass.async_block_till_done()


async def install(hass: HomeAssistant, **data: str) -> None:
    await act(hass, "update", SERVICE_INSTALL, FIRMWARE, **data)


def versions(hass: HomeAssistant) -> tuple[str, str | None, str | None]:
    """Return the entity's state, the installed version and the newest."""
    state = state_of(hass, FIRMWARE)
    return state.state, state.attributes[ATTR_INSTALLED_VERSION], state.attributes[ATTR_LATEST_VERSION]


async def release_notes(hass: HomeAssistant, hass_ws_client: WebSocketGenerator) -> str:
    """Return what the dialog of the entity says."""
    client = await hass_ws_client(hass)
    await client.send_json_auto_id({"type": "update/release_notes", "entity_id": FIRMWARE})
    return str((await client.receive_json())["result"])


def fetches(device: SimulatedDevice) -> int:
    """Return how often the device began to fetch a firmware."""
    return sum(event.kind == "upgrade" for event in device.transcript)


def is_reported(hass: HomeAssistant) -> bool:
    """Whether a repair issue says that the device has lost its pack."""
    return ir.async_get(hass).async_get_issue(DOMAIN, f"pack_lost_{MAC}") is not None


@pytest.fixture
def link() -> LinkKind:
    """Most of it is for devices that can be reached at any time."""
    return LinkKind.MQTT


@pytest.fixture(autouse=True)
async def websocket_api(hass: HomeAssistant, home_assistant: None) -> None:
    """It must be there before the web server starts."""
    assert await async_setup_component(hass, "websocket_api", {})


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, hass: HomeAssistant, tmp_path: Path) -> Path:
    """The folder into which the owner puts files; nothing else of the configuration is here."""
    path = hass.config.path

    def elsewhere(*parts: str) -> str:
        ours = FIRMWARE_FOLDER[0] in parts or STORAGE_DIR in parts
        return str(tmp_path.joinpath(*parts)) if ours else path(*parts)

    monkeypatch.setattr(hass.config, "path", elsewhere)
    firmware = tmp_path.joinpath(*FIRMWARE_FOLDER)
    firmware.mkdir(parents=True)
    return firmware


@pytest.fixture
async def box(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """A device with firmware 2.4.1 that is linked."""
    return await boot_linked(hass, boot)
