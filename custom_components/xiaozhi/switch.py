"""Switches of a device."""

from typing import Any, Final, override

from homeassistant.components.switch import SwitchEntity, SwitchEntityDescription
from homeassistant.const import EntityCategory

from .const import CONF_INTERRUPT_BY_SPEAKING, CONF_MICROPHONE
from .device.device import Device
from .device.state import DETECTORS, SETTINGS
from .entity import (
    DescribedEntities,
    ToolEntities,
    XiaozhiEntity,
    XiaozhiSettingEntity,
    XiaozhiToolEntity,
    entities_from,
)
from .tools.tool_entities import SwitchTool

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0

_INTERRUPT_BY_SPEAKING: Final = SwitchEntityDescription(
    key=CONF_INTERRUPT_BY_SPEAKING,
    translation_key=CONF_INTERRUPT_BY_SPEAKING,
    entity_category=EntityCategory.CONFIG,
)
_MICROPHONE: Final = SwitchEntityDescription(key=CONF_MICROPHONE, translation_key=CONF_MICROPHONE)


class XiaozhiMicrophoneSwitch(XiaozhiEntity, SwitchEntity):
    """The microphone of a device."""

    follows = (SETTINGS, CONF_MICROPHONE)

    @property
    @override
    def is_on(self) -> bool:
        return self.device.microphone

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        await self.device.async_switch_microphone(True)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        await self.device.async_switch_microphone(False)


class XiaozhiInterruptSwitch(XiaozhiSettingEntity, SwitchEntity):
    """Interruption of an answer by speech, on a device that listens while it speaks."""

    follows = (SETTINGS, DETECTORS, "board", "listens_while_speaking")

    @override
    @classmethod
    def exists(cls, device: Device, description: SwitchEntityDescription) -> bool:
        """Whether the device has ever listened while it speaks."""
        return device.state.can_be_interrupted

    @property
    @override
    def available(self) -> bool:
        """Return whether the switch has an effect."""
        return self.gateway.voice.detectors.available and self.device.state.can_be_interrupted

    @property
    @override
    def is_on(self) -> bool:
        return self.device.settings.interrupt_by_speaking

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self.device.set_option(CONF_INTERRUPT_BY_SPEAKING, True)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self.device.set_option(CONF_INTERRUPT_BY_SPEAKING, False)


class XiaozhiSwitch(XiaozhiToolEntity[SwitchTool], SwitchEntity):
    """A switch of a device."""

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the switch is on: as last read, or else as last switched."""
        if self.tool.state is not None:
            return self._flag(self.tool.state)
        last = self.device.tools.last_call([self.tool.on.tool, self.tool.off.tool])
        return last == self.tool.on if last in (self.tool.on, self.tool.off) else None

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        await self._call(self.tool.on)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        await self._call(self.tool.off)


async_setup_entry = entities_from(
    DescribedEntities(XiaozhiMicrophoneSwitch, [_MICROPHONE]),
    DescribedEntities(XiaozhiInterruptSwitch, [_INTERRUPT_BY_SPEAKING]),
    ToolEntities(XiaozhiSwitch, SwitchTool),
)
