"""A device on MQTT, which can be reached while it is idle, and what speaks to it."""

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.const import EVENT_ROOM_PLAYER
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice
from tests.integration.announcements.big_speaker import SELECT, BigSpeaker
from tests.integration.boxes import (
    Speech,
    activity,
    choose,
)
from tests.integration.names import OLD, Boot
from tests.integration.speech import add_entities


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
def announcer(known: Device) -> Announcer:
    return known.part(Announcer)


@pytest.fixture
async def player(
    hass: HomeAssistant,
    speech: Speech,
    linked_entry: MockConfigEntry,
    hass_client_no_auth: ClientSessionGenerator,
) -> BigSpeaker:
    speaker = BigSpeaker()
    await add_entities(hass, "loud", {Platform.MEDIA_PLAYER: [speaker]})
    hass.config.internal_url = str((await hass_client_no_auth()).make_url("")).rstrip("/")
    return speaker


@pytest.fixture
async def chosen(hass: HomeAssistant, player: BigSpeaker, linked_entry: MockConfigEntry) -> None:
    """The owner has chosen the player for the kitchen box."""
    await hass.async_block_till_done()
    await choose(hass, SELECT, "Big speaker")


@pytest.fixture
async def device(boot: Boot, chosen: None) -> SimulatedDevice:
    """A device whose owner has chosen the player."""
    return await boot(OLD)


@pytest.fixture
def reported(hass: HomeAssistant) -> list[str]:
    """The lines in the activity."""
    return activity(hass, EVENT_ROOM_PLAYER)
