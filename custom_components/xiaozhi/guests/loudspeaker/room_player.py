"""The loudspeaker of the room: a media player that says what a device would say.

What the player does is read from its state: `playing` begins the clock, or else the fetch and the delay that
the owner has set; *paused* and *off* are a person's doing, and so is *idle* that an action has caused.
"""

import asyncio
from contextlib import ExitStack
import logging
from typing import Final, override

from homeassistant.components.media_player import (
    ATTR_MEDIA_ANNOUNCE,
    ATTR_MEDIA_CONTENT_ID,
    ATTR_MEDIA_CONTENT_TYPE,
    ATTR_MEDIA_VOLUME_LEVEL,
    DOMAIN as MEDIA_PLAYER,
    SERVICE_PLAY_MEDIA,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)
from homeassistant.const import (
    ATTR_ENTITY_ID,
    ATTR_SUPPORTED_FEATURES,
    EVENT_CALL_SERVICE,
    SERVICE_MEDIA_PAUSE,
    SERVICE_MEDIA_STOP,
    STATE_UNAVAILABLE,
)
from homeassistant.core import (
    Context,
    Event,
    EventStateChangedData,
    HomeAssistant,
    State,
    callback,
)
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.helpers.network import get_url

from ...announcements.announcement_errors import SourceError
from ...announcements.delivery import Delivery
from ...announcements.heard import End, EndedByPersonError
from ...announcements.other_loudspeaker import PIECE, OtherLoudspeaker, Playback, PlayerFault, Said
from ...const import SOUND_PATH
from ...device.device import Device
from ...device.state import SETTINGS
from ...timeouts import AnnouncementTimeouts
from ...util.event_loop import log_failure, loop_time, within
from ...util.text import one_line
from .available_players import AvailablePlayers
from .loudspeaker_settings import LoudspeakerSettings
from .player_silence import PlayerSilence
from .room_sound import SENT_AHEAD, SUFFIX, Sound

_LOGGER = logging.getLogger(__name__)

_ACTIVE: Final = frozenset({MediaPlayerState.BUFFERING, MediaPlayerState.PLAYING})
_ENDED_BY_PERSON: Final = frozenset({MediaPlayerState.PAUSED, MediaPlayerState.OFF})
# No timer is more exact.
_RESOLUTION: Final = 0.001
# Seconds by which our clock may be late where the player reports no beginning.
_TOLERANCE: Final = 0.5


class RoomLoudspeaker(OtherLoudspeaker):
    """The media player that speaks for a device, if its owner has chosen one."""

    @property
    @override
    def player(self) -> str | None:
        return self.device.settings.of(LoudspeakerSettings).loudspeaker

    @property
    @override
    def is_available(self) -> bool:
        state = self.device.hass.states.get(self.player or "")
        return state is not None and state.state != STATE_UNAVAILABLE

    @property
    @override
    def said_in_house(self) -> list[Said]:
        return [sound.said for sound in self.device.transfers.all_open(Sound)]

    @override
    def play(self, said: Said, how: Delivery, patience: float) -> Playback:
        return RoomPlayback(self.device, said, how, patience)


class RoomPlayback(Playback):
    """A sound on the player of a device."""

    def __init__(self, device: Device, said: Said, how: Delivery, patience: float) -> None:
        settings = device.settings.of(LoudspeakerSettings)
        super().__init__(settings.loudspeaker or "")
        self._lead = settings.loudspeaker_lead
        self._players = device.part(AvailablePlayers)
        self._hass = device.hass
        self._device = device
        self._how = how
        self._patience = patience
        self._sound = Sound(said)
        self._context = Context()
        self._calls = set[str]()
        """Contexts of actions that were called meanwhile: a person's or an automation's, who may stop it."""
        self._since: float | None = None
        """Loop time at which it began to be heard."""
        self._idle: State | None = None
        self._idle_since = 0.0
        self._shown = False
        """Whether the player has reported that it plays the sound."""
        self._reports = False
        """Whether it has reported that it plays anything."""
        self._waits = True
        self._task = device.create_task(self._run(), "play on a player")

    @property
    @override
    def left(self) -> float:
        sound = self._sound
        if not sound.ended or self._since is None:
            return float("inf")
        left = self._since + sound.seconds - loop_time()
        return left if left > _RESOLUTION else 0

    @override
    @callback
    def stop(self, by: End | PlayerFault) -> None:
        self._end(by)
        if self._waits:
            self._task.cancel()

    @callback
    def _end(self, end: End | PlayerFault) -> None:
        if self.over:
            return
        self._ended.set_result(end)
        if not self._begun.done():
            self._begun.set_result(False)
        self._sound.notify()

    @callback
    def _fail(self, err: BaseException) -> None:
        if not self.over:
            self._error = err
            self._end(End.FAULT)

    async def _run(self) -> None:
        unlisten = self._device.record.listen([SETTINGS], self._settings_changed)
        try:
            async with self._players.speaking[self.player].hold(self._sound.said.rank, self._patience):
                self._waits = False
                silence = self._device.part(PlayerSilence)
                async with silence.ended(self.player, self._sound.said.rank) as audible:
                    if not audible:
                        self._end(PlayerFault.MUTED)
                    await self._play()
        except TimeoutError:
            self._end(PlayerFault.BUSY)
        except Exception as err:  # noqa: BLE001 - the source of a sound may raise anything
            self._fail(err)
        finally:
            unlisten()
            self._end(End.WOKEN)

    async def _play(self) -> None:
        if self.over:
            return
        sound, hass, device = self._sound, self._hass, self._device
        interrupted = self._players.interrupted.pop(self.player, None)
        music = _music_to_resume(hass, self.player) or interrupted
        making = device.create_task(
            sound.make(sound.said.speech(self._how), self._gain), "sound for a player"
        )
        making.add_done_callback(self._made)
        with ExitStack() as stack:
            self._path = stack.enter_context(device.transfers.offer(sound)) + SUFFIX
            stack.callback(async_track_state_change_event(hass, [self.player], self._state_changed))
            stack.callback(hass.bus.async_listen(EVENT_CALL_SERVICE, self._called))
            calling = device.create_task(self._call(), "play on a player")
            calling.add_done_callback(self._returned)
            began = loop_time()
            self._check(hass.states.get(self.player))
            while not self._ended.done():
                wait = self._poll(began)
                if not self._ended.done():
                    await within(wait, sound.changed())
            making.cancel()
            end = self._ended.result()
            returned = calling.done() and not calling.cancelled() and calling.exception() is None
            calling.cancel()
            if end is not End.DONE:
                await self._silence(stops=self._reports or returned)
        if music is None or end not in {End.DONE, End.WOKEN, End.FAULT}:
            return
        resuming = device.create_task(self._resume(music), "play on")
        resuming.add_done_callback(log_failure)
        if device.conversation is None:
            # The next owner has to find it playing, or would not know of it.
            await asyncio.wait((resuming,), timeout=AnnouncementTimeouts.ring_waits)

    async def _resume(self, music: dict[str, str]) -> None:
        """Play music again, after the conversation: the device would hear it."""
        if (conversation := self._device.conversation) is not None:
            interrupted = self._players.interrupted
            interrupted[self.player] = music
            await conversation.closed.wait()
            if interrupted.get(self.player) is not music:
                return
            del interrupted[self.player]
            state = self._hass.states.get(self.player)
            if state is not None and state.state in _ACTIVE:
                return
        await self._hass.services.async_call(MEDIA_PLAYER, SERVICE_PLAY_MEDIA, music, blocking=True)

    @property
    def _gain(self) -> float:
        """Factor by which it is softer if it is not to disturb: others may use the player."""
        state, quiet = self._hass.states.get(self.player), self._device.quiet_levels
        if quiet is None or self._sound.said.rank.rings:
            return 1.0
        level = (state.attributes.get(ATTR_MEDIA_VOLUME_LEVEL) if state else None) or 1.0
        # As in the firmware, loudness grows with the square.
        return float(min(quiet["volume"] / 100 / level, 1.0) ** 2)

    @callback
    def _made(self, making: asyncio.Task[None]) -> None:
        if making.cancelled():
            return
        if (err := making.exception()) is not None:
            self._fail(err)
        elif not self._sound.seconds:
            self._fail(SourceError("announcement_empty"))

    @callback
    def _returned(self, calling: asyncio.Task[None]) -> None:
        """Note an error of the call. Some players end it only after the sound, when nothing depends on it."""
        err = None if calling.cancelled() else calling.exception()
        if err is None or self.over:
            return
        if isinstance(err, EndedByPersonError):
            # The player is another XiaoZhi.
            self._end(End.STOPPED)
            return
        _LOGGER.warning("%s does not speak for %s: %s", self.player, self._device.name, one_line(str(err)))
        self._end(PlayerFault.FAILED)

    @callback
    def _poll(self, began: float) -> float:
        """Update its progress; return the seconds until the next poll."""
        sound, now = self._sound, loop_time()
        if sound.requested_at is None:
            if now >= began + AnnouncementTimeouts.room_player:
                self._end(PlayerFault.LATE)
        elif self._since is None:
            return self._wait_for_sound(sound.requested_at, now)
        else:
            sound.heard = now - self._since
            if not self.left:
                self._end(End.DONE)
            elif sound.heard > sound.seconds and not sound.ended:
                # The voice pauses, and so does the player.
                self._since, sound.heard = now - sound.seconds, sound.seconds
            elif self._idle is not None and now >= self._idle_since + AnnouncementTimeouts.idle_player:
                self._end(self._end_of_idle(self._idle))
            sound.notify()
        return min(PIECE, self.left)

    @callback
    def _wait_for_sound(self, requested_at: float, now: float) -> float:
        state = self._hass.states.get(self.player)
        is_buffering = state is not None and state.state == MediaPlayerState.BUFFERING
        lead = AnnouncementTimeouts.buffering if is_buffering else self._lead
        if now >= requested_at + lead - _RESOLUTION:
            self._is_heard()
        return min(requested_at + lead - now, PIECE) if self._since is None else 0

    @callback
    def _is_heard(self) -> None:
        """Begin the clock."""
        self._since = loop_time()
        if not self._begun.done():
            self._begun.set_result(True)
        self._sound.notify()

    @callback
    def _called(self, event: Event) -> None:
        """Note an action: a player that becomes idle by itself shares no context with one."""
        if event.context.id != self._context.id and not event.data["service"].startswith("volume_"):
            self._calls.add(event.context.id)

    @callback
    def _state_changed(self, event: Event[EventStateChangedData]) -> None:
        self._check(event.data["new_state"], event.data["old_state"])

    @callback
    def _check(self, state: State | None, old: State | None = None) -> None:
        if state is None or state.state == STATE_UNAVAILABLE:
            self._end(PlayerFault.UNAVAILABLE)
            return
        content = str(state.attributes.get(ATTR_MEDIA_CONTENT_ID, ""))
        is_ours, was_active = self._path in content, old is not None and old.state in _ACTIVE
        begins = old is not None and (old.state != state.state or (is_ours and not self._shown))
        self._shown |= is_ours
        self._reports |= state.state in _ACTIVE
        self._idle = None
        begins &= state.state == MediaPlayerState.PLAYING and (is_ours or not self._shown)
        if begins and self._sound.requested_at is not None:
            self._is_heard()
        if self._since is None:
            return
        if state.state in _ENDED_BY_PERSON and old is not None and old.state not in _ENDED_BY_PERSON:
            # Also of one that has not reported that it plays.
            self._end(End.STOPPED)
        elif state.state in _ACTIVE and self._shown and content and not is_ours:
            self._end(self._end_of_idle(None))
        elif state.state == MediaPlayerState.IDLE and was_active:
            self._idle, self._idle_since = state, loop_time()
            self._sound.notify()

    @callback
    def _end_of_idle(self, idle: State | None) -> End | PlayerFault:
        """Return the reason why the player is idle: the end of the sound, a person, or a fault."""
        late = loop_time() - self._idle_since if idle is not None else 0
        tolerance = _TOLERANCE + self._lead + late
        if self._sound.ended and self._sound.heard >= self._sound.seconds - tolerance:
            return End.DONE
        if idle is not None and idle.context.id in self._calls:
            return End.STOPPED
        return PlayerFault.ENDED

    @callback
    def _settings_changed(self) -> None:
        if self._device.settings.of(LoudspeakerSettings).loudspeaker != self.player:
            self.stop(PlayerFault.CHANGED)

    async def _call(self) -> None:
        data = {
            ATTR_ENTITY_ID: self.player,
            ATTR_MEDIA_CONTENT_ID: get_url(self._hass) + self._path,
            ATTR_MEDIA_CONTENT_TYPE: MediaType.MUSIC,
            ATTR_MEDIA_ANNOUNCE: True,
        }
        await self._hass.services.async_call(
            MEDIA_PLAYER, SERVICE_PLAY_MEDIA, data, blocking=True, context=self._context
        )

    async def _silence(self, *, stops: bool) -> None:
        """Stop the player, unless the end of the call does, and wait until it is quiet."""
        self._sound.stopped = True
        self._sound.notify()
        if self._sound.requested_at is None or self._is_quiet:
            return
        features = _features(self._hass.states.get(self.player)) if stops else 0
        for feature, action in (
            (MediaPlayerEntityFeature.STOP, SERVICE_MEDIA_STOP),
            (MediaPlayerEntityFeature.PAUSE, SERVICE_MEDIA_PAUSE),
        ):
            if features & feature:
                await self._hass.services.async_call(MEDIA_PLAYER, action, {ATTR_ENTITY_ID: self.player})
                break
        until = loop_time() + SENT_AHEAD + self._lead
        while not self._is_quiet and (left := until - loop_time()) > 0:
            await within(left, self._sound.changed())

    @property
    def _is_quiet(self) -> bool:
        """Whether the player reports that it plays nothing, or something else."""
        state = self._hass.states.get(self.player)
        if state is None or state.state not in _ACTIVE:
            return self._reports or state is None or state.state != MediaPlayerState.IDLE
        return self._shown and self._path not in str(state.attributes.get(ATTR_MEDIA_CONTENT_ID, ""))


@callback
def _features(state: State | None) -> int:
    return 0 if state is None else int(state.attributes.get(ATTR_SUPPORTED_FEATURES, 0))


@callback
def _music_to_resume(hass: HomeAssistant, player: str) -> dict[str, str] | None:
    """Return the music of a player that does not resume it by itself after an announcement, if known."""
    state = hass.states.get(player)
    if (
        state is None
        or state.state != MediaPlayerState.PLAYING
        or _features(state) & MediaPlayerEntityFeature.MEDIA_ANNOUNCE
        or not (content := state.attributes.get(ATTR_MEDIA_CONTENT_ID))
        or SOUND_PATH in content
    ):
        return None
    kind = state.attributes.get(ATTR_MEDIA_CONTENT_TYPE) or MediaType.MUSIC
    return {ATTR_ENTITY_ID: player, ATTR_MEDIA_CONTENT_ID: content, ATTR_MEDIA_CONTENT_TYPE: kind}
