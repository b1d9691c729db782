"""The rest of a large house: entities of others, media players, floors, the recorder, tools for a cloud."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import random
from typing import Any, Final, override

from homeassistant.auth.const import GROUP_ID_ADMIN
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
from homeassistant.components import media_player
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.const import CONF_LLM_HASS_API, CONF_URL
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    llm,
)
import probatio

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.cloud.access_point import SUBENTRY_ACCESS_POINT
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress

_FLOORS: Final = ("Cellar", "Ground floor", "First floor", "Attic")
_AREAS: Final = 60
_ENTITIES: Final = 3000
_PLAYERS: Final = 80
_TOOLS: Final = 60
_STATES_EACH_SECOND: Final = 50
_PLAYERS_EACH_SECOND: Final = 4
_API: Final = "large_house"


class _Player(media_player.MediaPlayerEntity):
    """A media player that only changes, and plays nothing."""

    _attr_should_poll = False
    _attr_state = MediaPlayerState.IDLE
    _attr_volume_level = 0.5
    _attr_supported_features = (
        MediaPlayerEntityFeature.MEDIA_ANNOUNCE
        | MediaPlayerEntityFeature.PLAY_MEDIA
        | MediaPlayerEntityFeature.VOLUME_SET
    )

    def __init__(self, number: int) -> None:
        self._attr_name = f"Loudspeaker {number}"
        self._attr_unique_id = f"large_house_{number}"

    def change(self, chance: random.Random) -> None:
        """Come, go, be renamed or have another volume."""
        match chance.randrange(100):
            case number if number < 30:
                self._attr_available = not self._attr_available
                self.async_write_ha_state()
            case 30:
                # Each time, a cloud's list of tools is made again.
                name = f"{self._attr_name} {chance.randrange(100)}"
                er.async_get(self.hass).async_update_entity(self.entity_id, name=name)
            case _:
                self._attr_volume_level = chance.random()
                self.async_write_ha_state()


class _Tool(llm.Tool):
    """A tool of another integration."""

    parameters = probatio.Schema({probatio.Optional("text"): str})

    def __init__(self, number: int) -> None:
        self.name = f"tool_{number}"
        self.description = f"Does what number {number} of the tools of this house is for."

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        return llm.ToolResult(data={"ok": True})


class _Api(llm.API):
    """Sixty tools."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        tools: list[llm.Tool] = [_Tool(number) for number in range(_TOOLS)]
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=tools)


async def furnish(hass: HomeAssistant, *, share: float) -> list[_Player]:
    """Build the house, or a share of it; return its media players."""
    floors, areas = fr.async_get(hass), ar.async_get(hass)
    levels = [floors.async_create(name).floor_id for name in _FLOORS]
    rooms = [
        areas.async_create(f"Room {number}", floor_id=levels[number % len(levels)]).id
        for number in range(round(_AREAS * share))
    ]
    entities = er.async_get(hass)
    for number in range(round(_ENTITIES * share)):
        name = f"{('Ceiling', 'Reading', 'Corner', 'Night')[number % 4]} lamp {number}"
        entry = entities.async_get_or_create(
            "light", "large_house", str(number), suggested_object_id=f"large_{number}", original_name=name
        )
        entities.async_update_entity(entry.entity_id, area_id=rooms[number % len(rooms)])
        hass.states.async_set(entry.entity_id, "off", {"friendly_name": name})
        async_expose_entity(hass, "conversation", entry.entity_id, True)
        if number % 100 == 0:
            await asyncio.sleep(0)
    players = [_Player(number) for number in range(round(_PLAYERS * share))]
    await hass.data[media_player.DATA_COMPONENT].async_add_entities(players)
    llm.async_register_api(hass, _Api(hass=hass, id=_API, name="Large house"))
    return players


def place(hass: HomeAssistant, entry_id: str) -> None:
    """Put each device of a gateway into a room of its own."""
    rooms = list(ar.async_get(hass).areas)
    devices = dr.async_get(hass)
    for number, device in enumerate(dr.async_entries_for_config_entry(devices, entry_id)):
        devices.async_update_device(device.id, area_id=rooms[number % len(rooms)])


def access_point(url: str) -> ConfigSubentryData:
    """Return the subentry of a cloud that is offered all tools of the house."""
    return ConfigSubentryData(
        subentry_type=SUBENTRY_ACCESS_POINT,
        unique_id=AccessPointAddress.parse(url).identity,
        title="Cloud",
        data={CONF_URL: url, CONF_LLM_HASS_API: [llm.LLM_API_ASSIST, _API]},
    )


async def owner_token(hass: HomeAssistant) -> str:
    """Return an access token of an owner."""
    owner = await hass.auth.async_create_user("Owner", group_ids=[GROUP_ID_ADMIN])
    refresh = await hass.auth.async_create_refresh_token(
        owner, client_name="Page", token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
    )
    return hass.auth.async_create_access_token(refresh)


@asynccontextmanager
async def busy(hass: HomeAssistant, players: list[_Player]) -> AsyncGenerator[None]:
    """Change states of others and media players all the time."""
    chance = random.Random(5)
    lights = hass.states.async_entity_ids("light")

    async def every(seconds: float, change: Any) -> None:
        while True:
            await asyncio.sleep(seconds)
            change()

    def change_light() -> None:
        entity_id = chance.choice(lights)
        state = hass.states.get(entity_id)
        if state is not None and not entity_id.startswith(f"light.{DOMAIN}"):
            attributes = {**state.attributes, "brightness": chance.randrange(256)}
            hass.states.async_set(entity_id, "on", attributes)

    tasks = [
        asyncio.create_task(every(1 / _STATES_EACH_SECOND, change_light)),
        asyncio.create_task(every(1 / _PLAYERS_EACH_SECOND, lambda: chance.choice(players).change(chance))),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
