"""Entities keep little: Home Assistant's properties are asked, and names of attributes are shared."""

from typing import override

from homeassistant.components.button import ButtonDeviceClass, ButtonEntity, ButtonEntityDescription
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import async_get_platforms

from custom_components.xiaozhi.assist_satellite import XiaozhiSatellite
from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.lean_entity import LeanEntity
from tests.integration.boxes import Boot, introduce

# As many as Python shares between the objects of a class.
_SHARED = 30


class Base(LeanEntity):
    """What our entities have in common."""

    def __init__(self) -> None:
        self.entity_description = ButtonEntityDescription(
            key="key", device_class=ButtonDeviceClass.RESTART, icon="mdi:restart"
        )


class OfNobody(Entity):
    """A class of Home Assistant with a property that keeps nothing."""

    @property
    @override
    def icon(self) -> str | None:
        return "mdi:own"


class Button(Base, ButtonEntity):
    """It inherits from both."""


class OwnButton(Base, OfNobody):
    """A later base has its own property."""


class LaterButton(OwnButton):
    """It asks the class that it inherits from."""

    @property
    @override
    def icon(self) -> str | None:
        return f"{super().icon}-later"


def test_properties_are_those_of_home_assistant() -> None:
    """They return what they would, and change with the attribute; nothing is kept in the entity."""
    button = Button()
    assert (button.device_class, button.icon, button.available) == ("restart", "mdi:restart", True)
    assert vars(button).keys() == {"entity_description"}
    button._attr_icon = "mdi:new"
    assert button.icon == "mdi:new"
    assert LaterButton().icon == "mdi:own-later"
    assert OwnButton().icon == "mdi:own"


async def test_the_entities_of_a_device_share_the_names_of_their_attributes(
    hass: HomeAssistant, boot: Boot
) -> None:
    """This is 1.3 KiB less for each. Only the satellite has more of its own."""
    await introduce(hass, await boot())
    names: dict[type[Entity], set[str]] = {}
    for platform in async_get_platforms(hass, DOMAIN):
        for entity in platform.entities.values():
            names.setdefault(type(entity), set()).update(vars(entity))
    assert len(names) > 10
    assert {kind for kind, used in names.items() if len(used) > _SHARED} <= {XiaozhiSatellite}
