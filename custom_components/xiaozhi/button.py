"""Buttons of a device."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .actions.recorded_conversation import async_record_conversation, check_not_recording
from .actions.rights import check_entity, require_admin
from .device.call_log import logged_call
from .device.device import Device
from .entity import (
    AccessPointEntities,
    DescribedEntities,
    ToolEntities,
    XiaozhiEntity,
    XiaozhiOccasionalEntity,
    XiaozhiToolEntity,
    add_entities_of,
)
from .errors import UserError
from .gateway import Gateway, XiaozhiConfigEntry
from .guests.alarms.device_clock import DeviceClock
from .guests.cloud.entities import ReconnectButton
from .guests.pictures.screen import async_screenshot
from .guests.pictures.vision import async_take_photo
from .guests.wake_words.device_wake_words import DECIDE_ABOUT_PACKS, takes_packs
from .tools.stock_tools import ASSETS_TOOL, PHOTO_TOOL, SNAPSHOT_TOOL, own_name
from .tools.tool_entities import ButtonTool

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiPictureButtonDescription(ButtonEntityDescription):
    """Describes a button that takes a picture."""

    tool: str
    """The tool that takes it."""
    take: Callable[[HomeAssistant, Device], Awaitable[object]]


PICTURES: Final = (
    XiaozhiPictureButtonDescription(
        key="take_photo", translation_key="take_photo", tool=PHOTO_TOOL, take=async_take_photo
    ),
    XiaozhiPictureButtonDescription(
        key="screenshot",
        translation_key="screenshot",
        entity_category=EntityCategory.DIAGNOSTIC,
        entity_registry_enabled_default=False,
        tool=SNAPSHOT_TOOL,
        take=async_screenshot,
    ),
)

_RECORD: Final = ButtonEntityDescription(
    key="record_conversation",
    translation_key="record_conversation",
    entity_category=EntityCategory.DIAGNOSTIC,
    entity_registry_enabled_default=False,
)
_DELETE_MESSAGES: Final = ButtonEntityDescription(
    key="delete_voice_messages",
    translation_key="delete_voice_messages",
    entity_category=EntityCategory.CONFIG,
)
_RENEW: Final = ButtonEntityDescription(
    key="renew_pack", translation_key="renew_pack", entity_category=EntityCategory.CONFIG
)


@dataclass(frozen=True, kw_only=True)
class XiaozhiAlarmButtonDescription(ButtonEntityDescription):
    """Describes a button for a ringing alarm."""

    act: Callable[[DeviceClock], Awaitable[object]]


ALARMS: Final = (
    XiaozhiAlarmButtonDescription(
        key="snooze_alarm", translation_key="snooze_alarm", act=DeviceClock.async_snooze
    ),
    XiaozhiAlarmButtonDescription(key="stop_alarm", translation_key="stop_alarm", act=DeviceClock.async_stop),
)


class XiaozhiButton(XiaozhiToolEntity[ButtonTool], ButtonEntity):
    """A button that calls a tool of the device."""

    def __init__(self, gateway: Gateway, device: Device, tool: ButtonTool) -> None:
        super().__init__(gateway, device, tool)
        # The page of a room shows no movements of stock boards, which have no state.
        self._attr_entity_registry_visible_default = tool.translation_key is None or bool(tool.category)

    @override
    async def async_press(self) -> None:
        await self._call(self.tool.call)


class XiaozhiPictureButton(XiaozhiEntity, ButtonEntity):
    """A button that takes a picture, which an image entity then shows."""

    entity_description: XiaozhiPictureButtonDescription
    stays = False

    @override
    @classmethod
    def exists(cls, device: Device, description: XiaozhiPictureButtonDescription) -> bool:
        return own_name(description.tool, device.tools) is not None

    @override
    async def async_press(self) -> None:
        description = self.entity_description
        with logged_call(self.device, description.tool, self._caller, only_failures=True):
            await description.take(self.hass, self.device)


class XiaozhiRenewButton(XiaozhiEntity, ButtonEntity):
    """A button that gives a device the fonts and faces of its firmware."""

    stays = False

    @override
    @classmethod
    def exists(cls, device: Device, description: ButtonEntityDescription) -> bool:
        return takes_packs(device)

    @override
    async def async_press(self) -> None:
        await check_entity(self.hass, self._caller, self.device, ASSETS_TOOL)
        await self.gateway.wake_words(self.device).async_renew()


class XiaozhiRecordButton(XiaozhiEntity, ButtonEntity):
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


class XiaozhiMessagesButton(XiaozhiOccasionalEntity, ButtonEntity):
    """A button that deletes the unheard voice messages."""

    # Also without a connection: they wait for the device.
    follows = ("messages",)

    @override
    @classmethod
    def exists(cls, device: Device, description: ButtonEntityDescription) -> bool:
        return bool(device.state.messages)

    @override
    async def async_press(self) -> None:
        await self.gateway.messages(self.device).async_delete_all()

    @property
    @override
    def is_of_use(self) -> bool:
        return bool(self.device.state.messages)


class XiaozhiAlarmButton(XiaozhiOccasionalEntity, ButtonEntity):
    """A button that snoozes or stops the alarm."""

    # Also without a connection: the alarm may wait for the device.
    follows = ("alarms",)
    entity_description: XiaozhiAlarmButtonDescription

    @override
    @classmethod
    def exists(cls, device: Device, description: XiaozhiAlarmButtonDescription) -> bool:
        return bool(device.state.alarms)

    @override
    async def async_press(self) -> None:
        await self.entity_description.act(self.gateway.clock(self.device))

    @property
    @override
    def is_of_use(self) -> bool:
        return self.gateway.clock(self.device).alarms.rings_or_snoozes


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the buttons of all devices, now and later."""
    add_entities_of(
        entry,
        async_add_entities,
        ToolEntities(XiaozhiButton, ButtonTool),
        DescribedEntities(XiaozhiPictureButton, PICTURES),
        DescribedEntities(XiaozhiAlarmButton, ALARMS),
        DescribedEntities(XiaozhiMessagesButton, [_DELETE_MESSAGES]),
        DescribedEntities(XiaozhiRenewButton, [_RENEW], DECIDE_ABOUT_PACKS),
        DescribedEntities(XiaozhiRecordButton, [_RECORD]),
        AccessPointEntities(ReconnectButton),
    )
