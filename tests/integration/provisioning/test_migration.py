"""The update from an older version, and the way back."""

import asyncio
import json
from typing import Any, Final

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.config_entries import ConfigEntryState, ConfigSubentryData
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_LINK, DOMAIN, ENTRY_VERSION
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from tests.integration.boxes import Speech, introduce, mac_of, open_issues, state_of
from tests.integration.http_device import MakeEntry, paired_device
from tests.integration.names import CLIENT_ID, Boot
from tests.paths import ROOT

LINK = LinkKind.MQTT

# As 0.2.0 made them: of a stock device on WebSocket, and of a rover on MQTT.
_ENTITIES: Final[dict[str, dict[str, list[str]]]] = json.loads(
    (ROOT / "tests/integration/provisioning/entities_of_0_2_0.json").read_text()
)
MACS: Final = {kind: mac_of(number) for number, kind in enumerate(LinkKind, 1)}
_BOARDS: Final = {LinkKind.WEBSOCKET: "s3", LinkKind.MQTT: "rover"}
_FORMER: Final = (
    ("climate", "_tool_self.ac.turn_on"),
    ("cover", "_tool_self.chat.open"),
    ("fan", "_tool_self.fan.turn_on"),
    ("humidifier", "_tool_self.humidifier.turn_on"),
    ("lock", "_tool_self.level.lock"),
    ("valve", "_tool_self.valve.open"),
    ("sensor", "_resource_0123456789abcdef"),
    ("image", "_resource_fedcba9876543210"),
)
"""Entities that there are no more: of former platforms, and of resources. Unique ids without their MACs."""


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device for each link."""
    boxes = {kind: paired_device(mac, CLIENT_ID, title=f"{kind} box") for kind, mac in MACS.items()}
    return tuple({**box, "data": {**box["data"], CONF_LINK: kind.value}} for kind, box in boxes.items())


@pytest.fixture
def make_entry(hass: HomeAssistant, make_entry: MakeEntry) -> MakeEntry:
    """Return what makes an entry as 0.2.0 has left it, with a changed name for each entity."""

    def make(*devices: ConfigSubentryData, **data: Any) -> MockConfigEntry:
        entry = make_entry(*devices, **data)
        hass.config_entries.async_update_entry(entry, version=1, minor_version=1)
        registry = er.async_get(hass)
        for subentry in entry.subentries.values():
            mac = subentry.unique_id or ""
            device = dr.async_get(hass).async_get_or_create(
                config_entry_id=entry.entry_id,
                config_subentry_id=subentry.subentry_id,
                identifiers={(DOMAIN, mac)},
            )
            kind = next(kind for kind, known in MACS.items() if known == mac)
            made_by_it = [
                (domain, suffix, f"{kind}_{number}")
                for domain, suffixes in _ENTITIES[kind].items()
                for number, suffix in enumerate(suffixes)
            ]
            for domain, suffix, name in (*made_by_it, *((*former, f"{kind}_former") for former in _FORMER)):
                known = registry.async_get_or_create(
                    domain,
                    DOMAIN,
                    f"{mac}{suffix}",
                    config_entry=entry,
                    config_subentry_id=subentry.subentry_id,
                    device_id=device.id,
                    suggested_object_id=name,
                )
                registry.async_update_entity(known.entity_id, name=f"My {suffix}")
        return entry

    return make


async def test_the_entities_of_0_2_0_come_through_with_their_ids_and_names(
    hass: HomeAssistant, speech: Speech, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """On both links, and none is made again beside them."""
    registry = er.async_get(hass)
    known = er.async_entries_for_config_entry(registry, linked_entry.entry_id)
    for kind, board in _BOARDS.items():
        device = await boot(get_profile(board), mac=MACS[kind])
        if kind is LinkKind.WEBSOCKET:
            await introduce(hass, device)
    await asyncio.sleep(5)
    await hass.async_block_till_done()

    assert linked_entry.version == ENTRY_VERSION
    now = er.async_entries_for_config_entry(registry, linked_entry.entry_id)
    # Since they have listed their tools.
    listed = ("select.{}_box_wake_word", "button.{}_box_renew_fonts_and_faces")
    new = {name.format(kind) for kind in MACS for name in listed}
    assert {entity.entity_id for entity in now} == {entity.entity_id for entity in known} | new
    names = {entity.entity_id: entity.name for entity in now}
    for kind in MACS:
        for domain, suffixes in _ENTITIES[kind].items():
            for number, suffix in enumerate(suffixes):
                entity_id = f"{domain}.{kind}_{number}"
                assert names.pop(entity_id) == f"My {suffix}"
                state = state_of(hass, entity_id)
                assert "restored" not in state.attributes, f"nothing provides {entity_id} ({suffix}) any more"
                # Version 0.2.0 stored no pictures.
                if kind is LinkKind.MQTT and domain != "image":
                    assert state.state != STATE_UNAVAILABLE, entity_id
    # What was in the form of the device before 0.4.0, and what every device has now.
    added = (
        "select.{}_box_conversations",
        "select.{}_box_voice_output",
        "calendar.{}_box_alarms",
        "switch.{}_box_microphone",
        "switch.{}_box_do_not_disturb",
        "button.{}_box_record_conversation",
    )
    of_gateway = {each.entity_id for each in now if each.config_subentry_id is None}
    assert len(of_gateway) == 3
    assert names.keys() == {name.format(kind) for kind in MACS for name in added} | new | of_gateway


async def test_an_entity_of_another_platform_keeps_what_its_owner_has_chosen(
    hass: HomeAssistant, speech: Speech, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """As the light effect of 0.1.0, a number. It stays enabled, though one of a new device would not be."""
    registry = er.async_get(hass)
    unique_id = f"{MACS[LINK]}_tool_self.chassis.switch_light_mode"
    select = registry.async_get(registry.async_get_entity_id("select", DOMAIN, unique_id) or "")
    assert select is not None
    registry.async_remove(select.entity_id)
    # Home Assistant would bring it back otherwise.
    registry.deleted_entities.clear()
    number = registry.async_get_or_create(
        "number",
        DOMAIN,
        unique_id,
        device_id=select.device_id,
        config_entry=linked_entry,
        suggested_object_id="stripe",
    )
    registry.async_update_entity(
        number.entity_id, name="Stripe", area_id="garage", categories={"helpers": "lamps"}
    )
    options = {"conversation": {"should_expose": False}, "number": {"unit_of_measurement": "%"}}
    for owner, of_owner in options.items():
        registry.async_update_entity_options(number.entity_id, owner, of_owner)
    await boot(get_profile(_BOARDS[LINK]), mac=MACS[LINK])
    await asyncio.sleep(5)
    await hass.async_block_till_done()
    assert registry.async_get("number.stripe") is None
    now = registry.async_get("select.stripe")
    assert now is not None
    assert (now.unique_id, now.name, now.area_id) == (unique_id, "Stripe", "garage")
    assert now.categories == {"helpers": "lamps"}
    assert now.options == {"conversation": options["conversation"], "select": options["number"]}
    assert not async_should_expose(hass, CONVERSATION_DOMAIN, now.entity_id)
    assert "restored" not in state_of(hass, "select.stripe").attributes


@pytest.mark.own_home
async def test_settings_of_a_newer_version_are_refused_in_words(
    hass: HomeAssistant, make_entry: MakeEntry
) -> None:
    """Home Assistant says no more than that a migration has failed."""
    entry = make_entry()
    hass.config_entries.async_update_entry(entry, version=ENTRY_VERSION + 1)
    assert await async_setup_component(hass, DOMAIN, {})
    await hass.async_block_till_done()
    assert entry.state is ConfigEntryState.MIGRATION_ERROR
    (issue,) = open_issues(hass)
    assert issue.translation_key == "newer_version"
