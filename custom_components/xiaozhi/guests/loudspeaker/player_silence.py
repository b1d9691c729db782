"""The silence of media players, muted or at volume 0: ended for what rings there, and given back after it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
import logging
from typing import Any, Final, NamedTuple, override

from homeassistant.components.media_player import (
    ATTR_MEDIA_VOLUME_LEVEL,
    ATTR_MEDIA_VOLUME_MUTED,
    DOMAIN as MEDIA_PLAYER,
    MediaPlayerEntityFeature,
)
from homeassistant.const import (
    ATTR_ENTITY_ID,
    ATTR_SUPPORTED_FEATURES,
    SERVICE_VOLUME_MUTE,
    SERVICE_VOLUME_SET,
)
from homeassistant.core import callback
from homeassistant.helpers.event import async_track_state_change_event
import voluptuous as vol

from ...announcements.levels import AUDIBLE, RESTORING
from ...announcements.utterance import Rank
from ...device.guest import DevicePart
from ...device.owned import OwnedValue
from ...errors import UserError
from ...util.text import one_line
from .available_players import AvailablePlayers

_LOGGER = logging.getLogger(__name__)
# Players round their volume.
_NEAR: Final = 0.05


class _Silence(NamedTuple):
    """A state in which nothing of a player is heard."""

    silent: float
    audible: float
    action: str
    feature: MediaPlayerEntityFeature


_SILENCES: Final = {
    ATTR_MEDIA_VOLUME_MUTED: _Silence(True, False, SERVICE_VOLUME_MUTE, MediaPlayerEntityFeature.VOLUME_MUTE),
    ATTR_MEDIA_VOLUME_LEVEL: _Silence(
        0, AUDIBLE / 100, SERVICE_VOLUME_SET, MediaPlayerEntityFeature.VOLUME_SET
    ),
}

TO_SILENCE: Final = OwnedValue[Mapping[str, tuple[str, ...]]](
    key="players_to_silence", schema=vol.Schema({str: vol.All([str], vol.Coerce(tuple))}), default={}
)
"""The attributes that are to be silent again after a ring, by player."""


class PlayerSilence(DevicePart):
    """Makes players audible for the rings of a device; what it gives back is stored until then."""

    @override
    @callback
    def start(self) -> None:
        for player in self._ended:
            self._create_task(self._restore_when_there(player))

    @override
    async def async_close(self) -> None:
        await asyncio.gather(*(self._restore(player) for player in self._ended))

    @property
    def _ended(self) -> Mapping[str, tuple[str, ...]]:
        return TO_SILENCE.of(self.device.state)

    def _create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.device.create_task(work, "silence a player")

    @asynccontextmanager
    async def ended(self, player: str, rank: Rank) -> AsyncGenerator[bool]:
        """Make a player audible for a ring; return whether it is. Its lock in `speaking` is held.

        Raises `UserError` for what disturbs, and would not be heard.
        """
        state = self.device.hass.states.get(player)
        attributes = {} if state is None else state.attributes
        silent = {name: each for name, each in _SILENCES.items() if attributes.get(name) == each.silent}
        if silent and state and rank.disturbs:
            raise UserError("announcement_muted", player=state.name)
        features = attributes.get(ATTR_SUPPORTED_FEATURES, 0)
        audible = not rank.rings or all(features & each.feature for each in silent.values())
        if not (silent and rank.rings and audible):
            yield audible
            return
        self._keep(player, (*self._ended.get(player, ()), *silent))
        try:
            for name, each in silent.items():
                await self._set(player, name, each.audible)
            yield True
        finally:
            # A cancelled ring must not keep it.
            await asyncio.wait((self._create_task(self._restore(player)),), timeout=RESTORING)
            if player in self._ended:
                self._create_task(self._restore_when_there(player))

    async def _restore_when_there(self, player: str) -> None:
        """Give it back as soon as the player is there, and free."""
        changed = asyncio.Event()
        stop = async_track_state_change_event(self.device.hass, [player], lambda _: changed.set())
        try:
            while player in self._ended:
                changed.clear()
                async with self.device.part(AvailablePlayers).speaking[player].hold(Rank.MUSIC):
                    await self._restore(player)
                if player in self._ended:
                    await changed.wait()
        finally:
            stop()

    async def _restore(self, player: str) -> None:
        """Give it back, except what somebody has set meanwhile, or a player that is off does not show."""
        for name in self._ended.get(player, ()):
            state, silence = self.device.hass.states.get(player), _SILENCES.get(name)
            value = state.attributes.get(name) if state and silence else None
            if value is None or silence is None:
                continue
            try:
                if min(abs(value - silence.audible), abs(value - silence.silent)) < _NEAR:
                    await self._set(player, name, silence.silent)
            except Exception as err:  # noqa: BLE001 - media players may raise anything
                _LOGGER.debug("%s is not silent again: %s", player, one_line(str(err)))
            else:
                self._keep(player, tuple(each for each in self._ended.get(player, ()) if each != name))

    async def _set(self, player: str, name: str, value: float) -> None:
        data = {ATTR_ENTITY_ID: player, name: value}
        await self.device.hass.services.async_call(MEDIA_PLAYER, _SILENCES[name].action, data, blocking=True)

    def _keep(self, player: str, names: tuple[str, ...]) -> None:
        others = {each: kept for each, kept in self._ended.items() if each != player}
        kept = {player: tuple(dict.fromkeys(names))} if names else {}
        self.device.record.update(players_to_silence=others | kept)
