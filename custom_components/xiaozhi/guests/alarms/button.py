"""Buttons for a ringing alarm."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription

from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiOccasionalEntity
from .alarm import ALARMS
from .device_clock import DeviceClock


@dataclass(frozen=True, kw_only=True)
class AlarmButtonDescription(ButtonEntityDescription):
    """Describes a button for a ringing alarm."""

    act: Callable[[DeviceClock], Awaitable[object]]


class AlarmButton(XiaozhiOccasionalEntity, ButtonEntity):
    """A button that snoozes or stops the alarm."""

    # Also without a connection: the alarm may wait for the device.
    follows = (ALARMS.key,)
    entity_description: AlarmButtonDescription

    @override
    @classmethod
    def exists(cls, device: Device, description: AlarmButtonDescription) -> bool:
        return bool(ALARMS.of(device.state))

    @override
    async def async_press(self) -> None:
        await self.entity_description.act(self.device.part(DeviceClock))

    @property
    @override
    def is_of_use(self) -> bool:
        return self.device.part(DeviceClock).alarms.rings_or_snoozes


_BUTTONS: Final = (
    AlarmButtonDescription(key="snooze_alarm", translation_key="snooze_alarm", act=DeviceClock.async_snooze),
    AlarmButtonDescription(key="stop_alarm", translation_key="stop_alarm", act=DeviceClock.async_stop),
)
ENTITIES: Final = (DescribedEntities(AlarmButton, _BUTTONS, AlarmButton.follows),)
