"""Every sentence of the pages *What you can say*, said to a device of a house that has all of it."""

import asyncio
from pathlib import Path
import re
from typing import Any, Final, override

from homeassistant.components.climate import ClimateEntity, ClimateEntityFeature, HVACMode
from homeassistant.components.conversation import (
    DOMAIN as CONVERSATION_DOMAIN,
    HOME_ASSISTANT_AGENT,
    async_converse,
)
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.components.media_player import (
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    SearchMedia,
)
from homeassistant.components.media_player.browse_media import BrowseMedia
from homeassistant.components.todo import TodoItem, TodoListEntity, TodoListEntityFeature
from homeassistant.components.weather import WeatherEntity
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.const import Platform, UnitOfTemperature
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.intent import IntentResponseType
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.alarms.device_clock import DeviceClock
from custom_components.xiaozhi.guests.pictures.device_pictures import DevicePictures
from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from tests.integration.boxes import Speech, mac_of, paired_boxes
from tests.integration.clock.alarms import set_alarm
from tests.integration.names import NEW, Boot
from tests.integration.pictures.eyes import open_eyes
from tests.integration.speech import add_entities
from tests.integration.tools.own_tools import calls
from tests.paths import ROOT

LINK = LinkKind.MQTT
OPTIONS = {CONF_UNDERSTAND_ALARMS: True}

# The router takes no more views once it serves.
pytestmark = [pytest.mark.own_home, pytest.mark.usefixtures("wall_clock")]

_ALARM, _BOX = "XiaozhiAlarm", "XiaozhiBox"
# The intent of each row, in the order of every page; after it what is so before, or that nothing changes.
_ROWS: Final = (
    *("HassStartTimer", "HassTimerStatus", "HassIncreaseTimer", "HassPauseTimer", "HassUnpauseTimer"),
    *("HassCancelTimer", "HassCancelAllTimers", "HassStartTimer"),
    # Alarms and reminders.
    *(_ALARM, _ALARM, _ALARM, f"{_ALARM} asks", f"{_ALARM} asks", f"{_ALARM} one", f"{_ALARM} one"),
    *(f"{_ALARM} all", f"{_ALARM} all", f"{_ALARM} rings", f"{_ALARM} rings"),
    # Do not disturb, and voice messages.
    *(_ALARM, _ALARM, f"{_ALARM} disturbs", f"{_ALARM} message", f"{_ALARM} asks"),
    # The device itself.
    *(f"{_BOX} asks", _BOX, _BOX, f"{_BOX} asks", _BOX, _BOX, _BOX, _BOX, f"{_ALARM} mute"),
    *("HassTurnOn", "HassLightSet", "HassTurnOff", "HassGetState"),
    *("HassListAddItem", "HassListCompleteItem", "HassListAddItem"),
    *("HassSetVolume", "HassSetVolumeRelative", "HassMediaPlayerMute", "HassMediaPlayerUnmute"),
    *("HassMediaPause", "HassMediaUnpause", "HassMediaNext", "HassMediaPrevious", "HassMediaSearchAndPlay"),
    "HassBroadcast",
    *("HassGetCurrentTime", "HassGetCurrentDate", "HassGetWeather", "HassClimateGetTemperature"),
    "HassNevermind",
)
# Home Assistant has no such sentence.
_LACKING: Final = {"zh-CN": {"HassMediaSearchAndPlay"}}
# Of the room, its light, the player and the list, and of the room of another device.
_NAMES: Final = {
    "en": ("Kitchen", "Kitchen light", "Radio", "Garden", "Bedroom"),
    "de": ("Küche", "Küchenlicht", "Radio", "Garten", "Schlafzimmer"),
    "zh-CN": ("厨房", "厨房灯", "收音机", "待办清单", "卧室"),
}
_CHANGES_NOTHING: Final = re.compile("Timer|Get|Nevermind|asks|message")
_SENTENCE: Final = re.compile(r"[\"“„]([^\"”“]+)[\"”“]")


class _Light(LightEntity):
    _attr_color_mode = ColorMode.HS
    _attr_is_on = False

    def __init__(self) -> None:
        self._attr_supported_color_modes = {ColorMode.HS}

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on = True
        self._attr_brightness = kwargs.get("brightness", 255)
        self._attr_hs_color = kwargs.get("hs_color")

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._attr_is_on = False


class _List(TodoListEntity):
    _attr_supported_features = TodoListEntityFeature.CREATE_TODO_ITEM

    def __init__(self) -> None:
        self._attr_todo_items = []

    @override
    async def async_create_todo_item(self, item: TodoItem) -> None:
        assert self._attr_todo_items is not None
        self._attr_todo_items.append(item)


class _Player(MediaPlayerEntity):
    _attr_supported_features = (
        MediaPlayerEntityFeature.PLAY
        | MediaPlayerEntityFeature.PAUSE
        | MediaPlayerEntityFeature.NEXT_TRACK
        | MediaPlayerEntityFeature.PREVIOUS_TRACK
        | MediaPlayerEntityFeature.VOLUME_SET
        | MediaPlayerEntityFeature.VOLUME_MUTE
        | MediaPlayerEntityFeature.SEARCH_MEDIA
        | MediaPlayerEntityFeature.PLAY_MEDIA
    )
    _attr_state = MediaPlayerState.PLAYING
    _attr_volume_level = 0.5
    _attr_is_volume_muted = False

    def __init__(self) -> None:
        self.done: list[str] = []

    @override
    async def async_media_play(self) -> None:
        self._attr_state = MediaPlayerState.PLAYING

    @override
    async def async_media_pause(self) -> None:
        self._attr_state = MediaPlayerState.PAUSED

    @override
    async def async_media_next_track(self) -> None:
        self.done.append("next")

    @override
    async def async_media_previous_track(self) -> None:
        self.done.append("previous")

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        self._attr_volume_level = volume

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        self._attr_is_volume_muted = mute

    @override
    async def async_search_media(self, query: Any) -> SearchMedia:
        found = BrowseMedia(
            media_class="music",
            media_content_id=query.search_query,
            media_content_type="music",
            title="Found",
            can_play=True,
            can_expand=False,
        )
        return SearchMedia(result=[found])

    @override
    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        self.done.append(media_id)


class _Weather(WeatherEntity):
    _attr_condition = "sunny"
    _attr_native_temperature = 20
    _attr_native_temperature_unit = UnitOfTemperature.CELSIUS


class _Thermostat(ClimateEntity):
    _attr_hvac_mode = HVACMode.HEAT
    _attr_supported_features = ClimateEntityFeature(0)

    def __init__(self) -> None:
        self._attr_hvac_modes = [HVACMode.HEAT]
        self._attr_current_temperature = 21
        self._attr_temperature_unit = UnitOfTemperature.CELSIUS


@pytest.fixture(autouse=True)
async def shopping(hass: HomeAssistant, home_assistant: None) -> None:
    """A shopping list and AI Task, before the web server starts."""
    entry = MockConfigEntry(domain="shopping_list")
    entry.add_to_hass(hass)
    assert await async_setup_component(hass, "http", {})
    assert await async_setup_component(hass, "ai_task", {})
    assert await hass.config_entries.async_setup(entry.entry_id)


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return paired_boxes(2)


def _rows(page: Path) -> list[list[str]]:
    """Return the sentences of each row of a page that has some."""
    lines = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| ")]
    return [found for line in lines if (found := _SENTENCE.findall(line))]


@pytest.mark.parametrize("language", list(_NAMES))
async def test_every_sentence_of_the_page_works(
    hass: HomeAssistant, boot: Boot, speech: Speech, device_ids: list[str], language: str
) -> None:
    """Each is understood as its row says, is not refused, and changes what it speaks of."""
    await speech.use(conversation_language=language)
    await asyncio.sleep(11)
    device, other = await boot(get_profile("rover", version="2.5.0")), await boot(NEW, mac=mac_of(2))
    devices = boot.known, boot.entry.runtime_data.devices[mac_of(2)]
    light, player, chores = await _furnish(hass, language, device_ids)
    await open_eyes(hass)
    devices[0].conversations.last_answer = "All is well."
    await asyncio.sleep(11)
    rows = _rows(ROOT / "docs" / ("" if language == "en" else language) / "what-you-can-say.md")
    expected = [kind for kind in _ROWS if kind not in _LACKING.get(language, ())]
    assert len(rows) == len(expected)

    def house() -> Any:
        seen = (light.is_on, light.brightness, light.hs_color), player.state, player.volume_level
        todo = [state.state for state in hass.states.async_all("todo")], len(chores.todo_items or ())
        return (
            seen,
            player.is_volume_muted,
            tuple(player.done),
            todo,
            [
                (dict(owned["alarms"]), owned["do_not_disturb"])
                for owned in (each.state.owned for each in devices)
            ],
            [each.microphone for each in devices],
            dict(devices[0].part(DevicePictures).last),
            [device.values[level] for level in ("volume", "brightness")],
            [device.values.get(f"led_{part}") for part in ("red", "green", "blue")],
            [name for name in calls(device) if "chassis" in name],
            len(other.announcements),
        )

    clock = devices[0].part(DeviceClock).alarms
    one = kept = dict(clock.alarms)
    for sentences, (kind, _, before_it) in zip(rows, (each.partition(" ") for each in expected), strict=True):
        for sentence in sentences:
            light._attr_is_on = kind == "HassTurnOff"
            player._attr_state = (
                MediaPlayerState.PAUSED if kind == "HassMediaUnpause" else MediaPlayerState.PLAYING
            )
            for entity in (light, player):
                entity.async_write_ha_state()
            if before_it in ("one", "all"):
                wanted = one if before_it == "one" else kept
                await clock.async_store({**dict.fromkeys(clock.alarms), **wanted})
            elif before_it == "rings":
                await set_alarm(hass, 1, at="calendar.box_1_alarms")
                await asyncio.sleep(3)
            for each in devices:
                each.record.update(do_not_disturb=before_it == "disturbs")
            before = house()
            result = await async_converse(
                hass, sentence, None, Context(), language, HOME_ASSISTANT_AGENT, device_id=device_ids[0]
            )
            answer = result.response
            assert answer.response_type is not IntentResponseType.ERROR, (sentence, answer.speech)
            assert answer.intent is not None
            assert answer.intent.intent_type.replace("ShoppingList", "List") == kind, sentence
            if before_it == "message":
                # Nobody speaks.
                await asyncio.sleep(130)
            if before_it == "mute":
                await asyncio.sleep(1)
            changes = _CHANGES_NOTHING.search(f"{kind} {before_it}") is None
            assert (house() != before) is changes, sentence
            if before_it == "":
                kept = dict(clock.alarms)
                one = one or kept
    assert not boot.known.microphone


async def _furnish(
    hass: HomeAssistant, language: str, device_ids: list[str]
) -> tuple[_Light, _Player, _List]:
    """Put a light, a player, a list, a thermostat and the weather into a kitchen, with the first device."""
    kitchen, light_name, player_name, list_name, bedroom = _NAMES[language]
    light, player, chores = _Light(), _Player(), _List()
    named: dict[Entity, str] = {light: light_name, player: player_name, chores: list_name}
    named |= {_Thermostat(): "Thermostat", _Weather(): "Home"}
    platforms: dict[Platform, list[Entity]] = {}
    for entity, name in named.items():
        entity._attr_name = entity._attr_unique_id = name
        domain = type(entity).__mro__[1].__module__.split(".")[2]
        platforms[Platform(domain)] = [entity]
    await add_entities(hass, "house", platforms)
    area_id = ar.async_get(hass).async_create(kitchen).id
    for entity in named:
        async_expose_entity(hass, CONVERSATION_DOMAIN, entity.entity_id, True)
        er.async_get(hass).async_update_entity(entity.entity_id, area_id=area_id)
    other_id = ar.async_get(hass).async_create(bedroom).id
    for device_id, room in zip(device_ids, (area_id, other_id), strict=True):
        dr.async_get(hass).async_update_device(device_id, area_id=room)
    await hass.async_block_till_done()
    return light, player, chores
