"""The button of an access point."""

from typing import Final, override

from homeassistant.components.button import ButtonEntity
from homeassistant.const import EntityCategory

from .entities import AccessPointEntities, AccessPointEntity


class ReconnectButton(AccessPointEntity, ButtonEntity):
    """Connects again at once."""

    _key = "reconnect"
    _attr_translation_key = "reconnect"
    _attr_entity_category = EntityCategory.CONFIG

    @override
    async def async_press(self) -> None:
        await self.point.client.reconnect()


ENTITIES: Final = (AccessPointEntities(ReconnectButton),)
