"""The switch *Do not disturb*."""

from typing import Any, Final, override

from homeassistant.components.switch import SwitchEntity, SwitchEntityDescription

from ...entity import DescribedEntities, XiaozhiEntity
from .do_not_disturb import DO_NOT_DISTURB, MAY_DISTURB_AGAIN, DoNotDisturb

_DESCRIPTION: Final = SwitchEntityDescription(key=DO_NOT_DISTURB.key, translation_key=DO_NOT_DISTURB.key)


class DoNotDisturbSwitch(XiaozhiEntity, SwitchEntity):
    """*Do not disturb* of a device."""

    follows = (DO_NOT_DISTURB.key,)

    @property
    @override
    def is_on(self) -> bool:
        return self.device.part(DoNotDisturb).is_on

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        await self.device.part(DoNotDisturb).async_switch(True)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        await self.device.part(DoNotDisturb).async_switch(False)
        self.device.record.notify(MAY_DISTURB_AGAIN)


ENTITIES: Final = (DescribedEntities(DoNotDisturbSwitch, [_DESCRIPTION]),)
