"""The media players of the house that can speak for a device: one list for all devices."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, override

from homeassistant.components.media_player import MediaPlayerEntityFeature
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import ATTR_SUPPORTED_FEATURES, Platform
from homeassistant.core import (
    CALLBACK_TYPE,
    CoreState,
    Event,
    EventStateChangedData,
    HomeAssistant,
    callback,
)
from homeassistant.helpers import device_registry as dr, entity_registry as er, issue_registry as ir
from homeassistant.helpers.event import (
    async_call_later,
    async_track_state_added_domain,
    async_track_state_removed_domain,
)
from homeassistant.helpers.start import async_at_started

from ...announcements.delivery import is_mute_while_idle
from ...announcements.other_loudspeaker import LOUDSPEAKER, chosen_player
from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import GatewayPart
from ...device.paired_device import area_name
from ...texts.issues import async_raise_issue
from ...util.ranked_lock import RankedLock
from .loudspeaker_settings import CONF_LOUDSPEAKER

THIS_DEVICE: Final = "this_device"

_ANNOUNCES: Final = MediaPlayerEntityFeature.MEDIA_ANNOUNCE | MediaPlayerEntityFeature.PLAY_MEDIA
_GONE: Final = "loudspeaker_gone"
# In seconds: at a start, players come one after the other.
_TOGETHER: Final = 1.0


@dataclass(frozen=True, slots=True)
class Player:
    """A media player."""

    name: str
    full_name: str
    """With its area or entity id where other players that can announce have the name."""
    area: str | None
    device_id: str | None
    can_announce: bool


class AvailablePlayers(GatewayPart):
    """Lists the media players, once for all that ask at the same time; and those that speak for devices."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self.speaking = defaultdict[str, RankedLock](RankedLock)
        """Held, by its entity id, while a media player speaks for a device."""
        self.interrupted: dict[str, dict[str, str]] = {}
        """Music that a media player is to go on with after a conversation, by its entity id."""
        self._missed = set[str]()
        """MACs of the devices whose player is gone."""
        self._players: dict[str, Player] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._telling: CALLBACK_TYPE | None = None

    @property
    def _devices(self) -> Mapping[str, Device]:
        devices: Mapping[str, Device] = self.entry.runtime_data.devices
        return devices

    @override
    async def async_start(self) -> None:
        trackers = async_track_state_added_domain, async_track_state_removed_domain
        ends = [track(self.hass, Platform.MEDIA_PLAYER, self._changed) for track in trackers]
        ends.append(self.hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._follow))
        ends.append(async_at_started(self.hass, self.check_chosen))

        @callback
        def stop() -> None:
            for end in filter(None, (*ends, self._telling)):
                end()
            for mac in self._missed:
                ir.async_delete_issue(self.hass, DOMAIN, f"{_GONE}_{mac}")

        self.entry.async_on_unload(stop)

    @override
    @callback
    def async_entry_updated(self) -> None:
        self.check_chosen()

    @callback
    def fit_for(self, device: Device) -> dict[str, Player]:
        """Return the chosen player of a device, and those of no device that is mute, or is itself."""
        chosen, others = chosen_player(device), self._devices.values()
        unfit = {each.registry_id for each in others if each is device or is_mute_while_idle(each)} - {None}
        listed = self.listed().items()
        return {each: player for each, player in listed if each == chosen or player.device_id not in unfit}

    @callback
    def listen(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `listener` after changes that come together. Returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def listed(self) -> Mapping[str, Player]:
        """Return the players by their entity id."""
        if self._players is None:
            self._players = _players(self.hass)
            self.hass.loop.call_soon(self._forget)
        return self._players

    @callback
    def _forget(self) -> None:
        self._players = None

    @callback
    def check_chosen(self, _hass: HomeAssistant | None = None) -> None:
        """Report chosen players that do not exist any more, not even as unavailable ones."""
        if self.hass.state is not CoreState.running:
            return
        gone = {mac: device for mac, device in self._devices.items() if self._lacks(device)}
        for mac in self._missed - gone.keys():
            ir.async_delete_issue(self.hass, DOMAIN, f"{_GONE}_{mac}")
        for mac, device in gone.items():
            player = chosen_player(device) or ""
            async_raise_issue(self.hass, f"{_GONE}_{mac}", _GONE, name=device.name, player=player)
        changed, self._missed = self._missed ^ gone.keys(), set(gone)
        for mac in changed & self._devices.keys():
            self._devices[mac].record.notify(LOUDSPEAKER)

    def _lacks(self, device: Device) -> bool:
        player = chosen_player(device)
        known = er.async_get(self.hass).async_get(player or "") or self.hass.states.get(player or "")
        return player is not None and known is None

    @callback
    def _follow(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        """Keep a chosen player that gets another id."""
        before = event.data.get("old_entity_id")
        for device in tuple(self._devices.values()):
            if before is not None and chosen_player(device) == before:
                device.set_option(CONF_LOUDSPEAKER, event.data["entity_id"])
        if event.data["action"] == "remove":
            self.check_chosen()

    @callback
    def _changed(self, _: Event[EventStateChangedData]) -> None:
        if self._telling is None:
            self._telling = async_call_later(self.hass, _TOGETHER, self._tell)

    async def _tell(self, _: datetime) -> None:
        self._telling = None
        self.check_chosen()
        self._players = _players(self.hass)
        try:
            for listener in tuple(self._listeners):
                if listener in self._listeners:
                    listener()
                # Each writes a long state: thirty at once would hold up sound for 80 ms.
                await asyncio.sleep(0)
        finally:
            self._forget()


def _players(hass: HomeAssistant) -> dict[str, Player]:
    registry, states = er.async_get(hass), hass.states.async_all(Platform.MEDIA_PLAYER)
    areas = {state.entity_id: area_of(hass, state.entity_id) for state in states}
    speaking = {
        state.entity_id: state.name
        for state in states
        if not _ANNOUNCES & ~state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
    }
    # Equal names get their area, and within one area their entity id.
    full = _distinct(_distinct(speaking, areas), {each: each for each in speaking})
    return {
        state.entity_id: Player(
            state.name,
            full.get(state.entity_id, state.name),
            areas[state.entity_id],
            entry.device_id if (entry := registry.async_get(state.entity_id)) else None,
            state.entity_id in speaking,
        )
        for state in states
    }


def _distinct(names: Mapping[str, str], details: Mapping[str, str | None]) -> dict[str, str]:
    """Return names of which those that are equal have got their details."""
    count = Counter((THIS_DEVICE, *names.values()))
    return {
        each: f"{name} ({details[each]})" if details[each] and count[name] > 1 else name
        for each, name in names.items()
    }


def area_of(hass: HomeAssistant, entity_id: str) -> str | None:
    """Return the name of the area of an entity, or else of its device."""
    if (entry := er.async_get(hass).async_get(entity_id)) is None:
        return None
    device = dr.async_get(hass).async_get(entry.device_id or "")
    return area_name(hass, entry.area_id or (device.area_id if device else None))
