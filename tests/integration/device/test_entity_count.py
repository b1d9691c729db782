"""How many entities of a new device are enabled, and which the page of its room shows."""

import asyncio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from tests.integration.names import Boot

LINK = LinkKind.MQTT

_ALWAYS = {
    *("assist_satellite.kitchen_box", "calendar.kitchen_box_alarms", "media_player.kitchen_box_speaker"),
    *("notify.kitchen_box_screen_message", "switch.kitchen_box_do_not_disturb"),
    "switch.kitchen_box_microphone",
}


@pytest.mark.parametrize(
    ("board", "most", "shown"),
    [
        ("s3", 18, set[str]()),
        ("c3", 18, set()),
        ("ethernet", 18, set()),
        ("lamp", 18, {"light.kitchen_box_lamp"}),
        ("camera", 26, {"button.kitchen_box_take_photo"}),
        ("dog", 26, {"light.kitchen_box_light"}),
        ("electron", 26, set()),
        ("rover", 26, {"button.kitchen_box_take_photo", "light.kitchen_box_led_strip"}),
    ],
)
async def test_few_are_enabled_at_first_and_fewer_are_on_the_page_of_the_room(
    hass: HomeAssistant,
    boot: Boot,
    entity_registry: er.EntityRegistry,
    board: str,
    most: int,
    shown: set[str],
) -> None:
    await boot(get_profile(board))
    await asyncio.sleep(20)
    await hass.async_block_till_done()
    enabled = [
        each
        for each in entity_registry.entities.values()
        if each.platform == DOMAIN and each.config_subentry_id and not each.disabled_by
    ]
    assert 12 < len(enabled) <= most
    # As Home Assistant's own page of an area.
    on_page = {each.entity_id for each in enabled if not (each.hidden_by or each.entity_category)}
    assert on_page == _ALWAYS | shown
