"""The button that renews the fonts and faces of a device."""

from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory

from ...actions.rights import check_entity
from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiEntity
from ...tools.stock_tools import ASSETS_TOOL
from .device_wake_words import DECIDE_ABOUT_PACKS, WakeWords, takes_packs

_RENEW: Final = ButtonEntityDescription(
    key="renew_pack", translation_key="renew_pack", entity_category=EntityCategory.CONFIG
)


class RenewButton(XiaozhiEntity, ButtonEntity):
    """A button that gives a device the fonts and faces of its firmware."""

    stays = False

    @override
    @classmethod
    def exists(cls, device: Device, description: ButtonEntityDescription) -> bool:
        return takes_packs(device)

    @override
    async def async_press(self) -> None:
        await check_entity(self.hass, self._caller, self.device, ASSETS_TOOL)
        await self.device.part(WakeWords).async_renew()


ENTITIES: Final = (DescribedEntities(RenewButton, [_RENEW], DECIDE_ABOUT_PACKS),)
