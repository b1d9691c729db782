"""The button that deletes voice messages."""

from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory

from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiOccasionalEntity
from .kept_messages import KeptMessages
from .voice_message import MESSAGES

_DELETE: Final = ButtonEntityDescription(
    key="delete_voice_messages",
    translation_key="delete_voice_messages",
    entity_category=EntityCategory.CONFIG,
)


class MessagesButton(XiaozhiOccasionalEntity, ButtonEntity):
    """A button that deletes the unheard voice messages."""

    # Also without a connection: they wait for the device.
    follows = (MESSAGES.key,)

    @override
    @classmethod
    def exists(cls, device: Device, description: ButtonEntityDescription) -> bool:
        return bool(MESSAGES.of(device.state))

    @override
    async def async_press(self) -> None:
        await self.device.part(KeptMessages).async_delete_all()

    @property
    @override
    def is_of_use(self) -> bool:
        return bool(MESSAGES.of(self.device.state))


ENTITIES: Final = (DescribedEntities(MessagesButton, [_DELETE], MessagesButton.follows),)
