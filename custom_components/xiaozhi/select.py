"""Selects of a device: choices of tools, pipeline, wake words, ends of speech and of conversations."""

from typing import Final, override

from homeassistant.components.assist_pipeline import AssistPipelineSelect, VadSensitivity
from homeassistant.components.select import SelectEntity, SelectEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import Context, callback
from homeassistant.helpers.restore_state import ExtraStoredData, RestoredExtraData, RestoreEntity

from .const import CONF_CONVERSATION_STYLE, DOMAIN
from .device.device import Device
from .entity import (
    DescribedEntities,
    DeviceEntities,
    ToolEntities,
    XiaozhiSettingEntity,
    XiaozhiToolEntity,
    entities_from,
)
from .gateway import Gateway
from .settings import ConversationStyle
from .tools.tool_entities import SelectTool
from .voice.pipelines import BY_WHAT_WAS_SAID, END_OF_SPEECH_SELECT, PIPELINE_SELECT

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0

_CHOSEN: Final = "chosen"
_CONVERSATIONS: Final = SelectEntityDescription(
    key=CONF_CONVERSATION_STYLE,
    translation_key=CONF_CONVERSATION_STYLE,
    entity_category=EntityCategory.CONFIG,
    options=[style.value for style in ConversationStyle],
)


class XiaozhiSelect(XiaozhiToolEntity[SelectTool], SelectEntity):
    """A select that sets the one argument of a tool."""

    def __init__(self, gateway: Gateway, device: Device, tool: SelectTool) -> None:
        super().__init__(gateway, device, tool)
        self._attr_options = [*tool.choice.options]
        # A movement has no state that the page of a room could show.
        self._attr_entity_registry_visible_default = not tool.momentary

    @property
    @override
    def assumed_state(self) -> bool:
        return super().assumed_state and not self.tool.momentary

    @property
    @override
    def current_option(self) -> str | None:
        """Return the option: as last read, or else as last chosen. Momentary choices have no state."""
        if self.tool.momentary:
            return None
        choice = self.tool.choice
        return choice.option_of(self._value(self.tool.state, choice)) or self.tool.default

    @override
    async def async_select_option(self, option: str) -> None:
        await self._call(self.tool.choice.call(option))


class XiaozhiConversationsSelect(XiaozhiSettingEntity, SelectEntity):
    """End of the conversations of a device."""

    @property
    @override
    def current_option(self) -> str:
        return self.device.settings.conversation_style

    @override
    async def async_select_option(self, option: str) -> None:
        self.device.set_option(CONF_CONVERSATION_STYLE, option)


class XiaozhiPipelineSelect(AssistPipelineSelect):
    """The Assist pipeline of a device."""

    _attr_has_entity_name = True

    def __init__(self, gateway: Gateway, device: Device) -> None:
        super().__init__(gateway.hass, DOMAIN, device.mac)
        self._attr_device_info = device.info


class XiaozhiEndOfSpeechSelect(SelectEntity, RestoreEntity):
    """End of the user's speech: by its content, or by a pause as in Home Assistant's own select."""

    _attr_has_entity_name = True
    _attr_should_poll = False
    _attr_entity_category = EntityCategory.CONFIG
    _attr_translation_key = END_OF_SPEECH_SELECT
    _attr_current_option = BY_WHAT_WAS_SAID

    def __init__(self, gateway: Gateway, device: Device) -> None:
        self._attr_unique_id = f"{device.mac}-{END_OF_SPEECH_SELECT}"
        self._attr_device_info = device.info
        self._attr_options = [BY_WHAT_WAS_SAID, *VadSensitivity]
        self._chosen_by_owner = gateway.voice.inputs.chosen_by_owner
        self._subentry_id = device.subentry_id
        self._by_person = False

    @property
    @override
    def extra_restore_state_data(self) -> ExtraStoredData:
        """Return the pairing for which the owner has chosen the option, so that no later one inherits it."""
        chosen = self._subentry_id in self._chosen_by_owner
        return RestoredExtraData({_CHOSEN: self._subentry_id if chosen else None})

    @override
    async def async_added_to_hass(self) -> None:
        """Restore the choice, but not the default of versions with fixed pauses only."""
        await super().async_added_to_hass()
        stored = await self.async_get_last_extra_data()
        state = await self.async_get_last_state()
        if state is not None and state.state in self.options:
            of_before = stored is None and state.state == VadSensitivity.DEFAULT
            self._attr_current_option = BY_WHAT_WAS_SAID if of_before else state.state
        chosen = stored.as_dict().get(_CHOSEN) if stored is not None else None
        # Version 0.2.0 stored True.
        if chosen is True or chosen == self._subentry_id:
            self._chosen_by_owner.add(self._subentry_id)

    @override
    @callback
    def async_set_context(self, context: Context) -> None:
        """Remember whether a person chooses: an automation agrees to no calls that are billed."""
        super().async_set_context(context)
        self._by_person = context.user_id is not None and context.parent_id is None

    @override
    async def async_select_option(self, option: str) -> None:
        if self._by_person:
            self._chosen_by_owner.add(self._subentry_id)
        self._attr_current_option = option
        self.async_write_ha_state()


class _AssistSelects(DeviceEntities[str]):
    """The selects that Home Assistant's own satellites have, too."""

    @override
    def wanted(self, device: Device) -> dict[str, str]:
        return {key: key for key in (PIPELINE_SELECT, END_OF_SPEECH_SELECT)}

    @override
    def create(self, gateway: Gateway, device: Device, spec: str) -> SelectEntity:
        kind = XiaozhiPipelineSelect if spec == PIPELINE_SELECT else XiaozhiEndOfSpeechSelect
        return kind(gateway, device)


async_setup_entry = entities_from(
    ToolEntities(XiaozhiSelect, SelectTool),
    DescribedEntities(XiaozhiConversationsSelect, [_CONVERSATIONS]),
    _AssistSelects(),
)
