"""Messages on a device's screen, with a sound."""

from typing import Final, override

from homeassistant.components.notify import NotifyEntity, NotifyEntityDescription, NotifyEntityFeature

from .announcements.announcer import Announcer
from .const import MAX_MESSAGE, MAX_STATUS
from .device.state import SHOWN
from .entity import DescribedEntities, XiaozhiEntity, entities_from
from .protocol import messages
from .protocol.faces import Face
from .util.text import shortened

PARALLEL_UPDATES = 0

_SCREEN: Final = NotifyEntityDescription(key="screen", translation_key="screen")


class XiaozhiNotify(XiaozhiEntity, NotifyEntity):
    """An entity that shows a message until the screen shows something else.

    Its state is when an action last had a text shown. Rings and announcements are no messages.
    """

    _attr_supported_features = NotifyEntityFeature.TITLE

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(self.device.record.listen((SHOWN,), self._async_record_notification))

    @override
    async def async_send_message(self, message: str, title: str | None = None) -> None:
        """Show the message, with the title in the status bar, both cut to what fits; and make a sound."""
        self.device.part(Announcer).check_may_disturb()
        status, text = shortened(title or "Home Assistant", MAX_STATUS), shortened(message, MAX_MESSAGE)
        await self.device.commands.send(messages.alert(status=status, message=text, emotion=Face.NEUTRAL))


async_setup_entry = entities_from(DescribedEntities(XiaozhiNotify, [_SCREEN]))
