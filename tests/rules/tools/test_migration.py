"""Entities of an older version that there are no more."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.tools.migration import async_migrate_entities

MAC = "94:a9:90:28:a4:5f"


async def test_entities_of_resources_and_of_former_platforms_go(hass: HomeAssistant) -> None:
    """Those of tools with such a name stay."""
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    registry = er.async_get(hass)
    for domain, key in (
        ("sensor", "resource_0123456789abcdef"),
        ("image", "resource_fedcba9876543210"),
        ("cover", "tool_self.chat"),
        ("sensor", "tool_self.my_resource_0123456789abcdef"),
        ("sensor", "volume"),
    ):
        registry.async_get_or_create(domain, DOMAIN, f"{MAC}_{key}", config_entry=entry)
    async_migrate_entities(hass, entry)
    left = er.async_entries_for_config_entry(registry, entry.entry_id)
    assert {entity.unique_id for entity in left} == {
        f"{MAC}_tool_self.my_resource_0123456789abcdef",
        f"{MAC}_volume",
    }
