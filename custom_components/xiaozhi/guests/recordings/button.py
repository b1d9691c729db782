"""The button that records the next conversation."""

from contextlib import suppress
from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory

from ...actions.rights import require_admin
from ...entity import DescribedEntities, XiaozhiEntity
from ...errors import UserError
from .recorded_conversation import async_record_conversation, check_not_recording

_RECORD: Final = ButtonEntityDescription(
    key="record_conversation",
    translation_key="record_conversation",
    entity_category=EntityCategory.DIAGNOSTIC,
    entity_registry_enabled_default=False,
)


class RecordButton(XiaozhiEntity, ButtonEntity):
    """A button that records the next conversation, without sound."""

    # Also while nothing is connected: on WebSocket, a conversation begins with the connection.
    follows = ()

    @override
    async def async_press(self) -> None:
        if self._caller is not None:
            await require_admin(self.hass, self._caller)
        check_not_recording(self.device)
        # Somebody has to go to the device and talk to it.
        self.device.create_task(self._record(), "record conversation")

    async def _record(self) -> None:
        # A notification reports that nobody has talked.
        with suppress(UserError):
            await async_record_conversation(self.device, with_sound=False)


ENTITIES: Final = (DescribedEntities(RecordButton, [_RECORD]),)
