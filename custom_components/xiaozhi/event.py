"""Event entities of a device."""

from typing import Final, override

from homeassistant.components.event import EventEntity, EventEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .device.events import EVENT_SIGNAL, AlarmEvent, ConversationEvent, DeviceEvent, NotificationType
from .device.state import SETTINGS
from .entity import AccessPointEntities, DescribedEntities, XiaozhiEntity, add_entities_of
from .gateway import XiaozhiConfigEntry
from .guests.cloud.entities import ToolCalledEvent

PARALLEL_UPDATES = 0


EVENTS: Final = tuple(
    EventEntityDescription(
        key=key,
        translation_key=key,
        event_types=[event_type.value for event_type in types],
        entity_category=category,
    )
    for key, types, category in (
        ("notification", NotificationType, EntityCategory.DIAGNOSTIC),
        ("conversation", ConversationEvent, EntityCategory.DIAGNOSTIC),
        ("alarm", AlarmEvent, None),
    )
)


class XiaozhiEvent(XiaozhiEntity, EventEntity):
    """An event entity: the last conversation event or notification of a device."""

    # A past event stays true while the device is away.
    follows = ()

    @override
    @classmethod
    def exists(cls, device: Device, description: EventEntityDescription) -> bool:
        """Whether the device ever had such an event.

        Disabled entities would be an empty card of their own on the page of the device.
        """
        wanted = {
            "notification": device.state.notified,
            "conversation": device.settings.share_transcripts,
            "alarm": bool(device.state.alarms),
        }
        return wanted[description.key]

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(async_dispatcher_connect(self.hass, EVENT_SIGNAL, self._on_event))

    @callback
    def _on_event(self, device: Device, event: DeviceEvent) -> None:
        if device is self.device and event.type in self.event_types:
            self._trigger_event(event.type, dict(event.attributes))
            self.async_write_ha_state()


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the events of all devices, now and later."""
    add_entities_of(
        entry,
        async_add_entities,
        DescribedEntities(XiaozhiEvent, EVENTS, ("notified", SETTINGS, "alarms")),
        AccessPointEntities(ToolCalledEvent),
    )
