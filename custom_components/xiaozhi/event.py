"""Event entities of a device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.event import EventEntity, EventEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect

from .device.device import Device
from .device.events import EVENT_SIGNAL, ConversationEvent, DeviceEvent, NotificationType
from .device.paired_device import PairedDevice
from .device.state import SETTINGS
from .entity import DescribedEntities, XiaozhiEntity, entities_from

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiEventDescription(EventEntityDescription):
    """Describes an event entity."""

    exists: Callable[[Device], bool]
    """Whether a device ever had such an event: a disabled entity would be an empty card on its page."""


EVENTS: Final = tuple(
    XiaozhiEventDescription(
        key=key,
        translation_key=key,
        event_types=[*types],
        entity_category=EntityCategory.DIAGNOSTIC,
        exists=exists,
    )
    for key, types, exists in (
        ("notification", NotificationType, lambda device: device.state.notified),
        ("conversation", ConversationEvent, lambda device: device.settings.share_transcripts),
    )
)


class XiaozhiEvent(XiaozhiEntity, EventEntity):
    """An event entity: the last conversation event or notification of a device."""

    # A past event stays true while the device is away.
    follows = ()

    @override
    @classmethod
    def exists(cls, device: Device, description: XiaozhiEventDescription) -> bool:
        return description.exists(device)

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(async_dispatcher_connect(self.hass, EVENT_SIGNAL, self._on_event))

    @callback
    def _on_event(self, device: PairedDevice, event: DeviceEvent) -> None:
        if device is self.device and event.type in self.event_types:
            self._trigger_event(event.type, dict(event.attributes))
            self.async_write_ha_state()


async_setup_entry = entities_from(DescribedEntities(XiaozhiEvent, EVENTS, ("notified", SETTINGS)))
