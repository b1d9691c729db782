"""The volume of a device's loudspeaker."""

from typing import Any

from homeassistant.core import HomeAssistant, State as EntityState
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import act, state_of, wait_for_state
from tests.integration.home import remember
from tests.integration.names import BRIGHTNESS, OLD, Boot
from tests.protocol.transport.udp.device import until


def player(hass: HomeAssistant) -> EntityState:
    return state_of(hass, PLAYER)


async def do(hass: HomeAssistant, service: str, **data: Any) -> None:
    await act(hass, "media_player", service, PLAYER, **data)


PLAYER = "media_player.kitchen_box_speaker"
LINK = LinkKind.MQTT


# At any time.


async def test_the_volume_is_that_of_the_device_and_a_mute_is_remembered(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75", 30)
    await do(hass, "volume_set", volume_level=0.4)
    assert device.values["volume"] == 40
    await do(hass, "volume_up")
    await hass.async_block_till_done()
    assert device.values["volume"] == 50
    await do(hass, "volume_mute", is_volume_muted=True)
    assert device.values["volume"] == 0
    await hass.async_block_till_done()
    assert player(hass).attributes["is_volume_muted"] is True
    await do(hass, "volume_mute", is_volume_muted=True)
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, PLAYER, "idle", 60)
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 50
    assert player(hass).attributes["is_volume_muted"] is False
    # One that is not muted any more, since somebody has turned it up at the device, stays as it is.
    await do(hass, "volume_mute", is_volume_muted=True)
    device.values["volume"] = 30
    await wait_for_state(hass, BRIGHTNESS, "75", 60)
    await until(lambda: player(hass).attributes["volume_level"] == 0.3, 120)
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 30


@pytest.fixture
def stored_mute(hass: HomeAssistant, request: pytest.FixtureRequest) -> None:
    remember(hass, EntityState(PLAYER, "idle"), {"level": request.param})


@pytest.mark.parametrize("stored_mute", ["loud", [], {"level": None}], indirect=True)
async def test_a_mute_that_is_damaged_on_the_disk_is_none(
    hass: HomeAssistant, stored_mute: None, boot: Boot, known: Device
) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75", 30)
    await known.commands.change("self.audio_speaker.set_volume", {"volume": 0})
    await device.wait_for(lambda: player(hass).attributes.get("volume_level") == 0, 120)
    assert player(hass).attributes["is_volume_muted"] is False
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 0
