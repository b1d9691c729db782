"""The loudspeaker of a device as a media player."""

from typing import Any, Final, override

from homeassistant.components import media_source
from homeassistant.components.media_player import (
    ATTR_MEDIA_ANNOUNCE,
    ATTR_MEDIA_ENQUEUE,
    ATTR_MEDIA_EXTRA,
    BrowseMedia,
    MediaPlayerDeviceClass,
    MediaPlayerEnqueue,
    MediaPlayerEntity,
    MediaPlayerEntityDescription,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
    RepeatMode,
    SearchMedia,
    SearchMediaQuery,
)
from homeassistant.core import callback
from homeassistant.helpers.restore_state import ExtraStoredData, RestoredExtraData, RestoreEntity
from homeassistant.util import dt as dt_util

from ...announcements.announcer import Announcer
from ...device.call_log import logged_call
from ...device.device import Device
from ...device.state import AVAILABLE, STATUS_READ
from ...entity import DescribedEntities, XiaozhiEntity
from ...errors import InputError
from ...gateway import Gateway
from ...tools.answer_values import as_number
from ...tools.tool_entities import NumberTool
from .player import DevicePlayer
from .source import is_sound, search_sounds
from .stream import Media

_SPEAKER: Final = MediaPlayerEntityDescription(
    key="speaker", translation_key="speaker", device_class=MediaPlayerDeviceClass.SPEAKER
)
_FEATURES: Final = (
    MediaPlayerEntityFeature.BROWSE_MEDIA
    | MediaPlayerEntityFeature.MEDIA_ANNOUNCE
    | MediaPlayerEntityFeature.PAUSE
    | MediaPlayerEntityFeature.PLAY
    | MediaPlayerEntityFeature.PLAY_MEDIA
    | MediaPlayerEntityFeature.REPEAT_SET
    | MediaPlayerEntityFeature.SEARCH_MEDIA
    | MediaPlayerEntityFeature.STOP
)
_VOLUME_FEATURES: Final = (
    MediaPlayerEntityFeature.VOLUME_MUTE
    | MediaPlayerEntityFeature.VOLUME_SET
    | MediaPlayerEntityFeature.VOLUME_STEP
)
# All others need a queue.
_REPLACING: Final = frozenset({MediaPlayerEnqueue.PLAY, MediaPlayerEnqueue.REPLACE})
# The firmware's own default, for a device that is muted before its volume is known.
_USUAL_VOLUME: Final = 0.7


class XiaozhiMediaPlayer(XiaozhiEntity, MediaPlayerEntity, RestoreEntity):
    """The loudspeaker of a device, with the features of its present state."""

    # Keys of its volume; the rest comes from its player.
    follows = (AVAILABLE, "tools", STATUS_READ)
    _attr_media_content_type = MediaType.MUSIC
    _attr_repeat = RepeatMode.OFF
    _attr_state = MediaPlayerState.IDLE
    _attr_volume_step = 0.1

    def __init__(self, gateway: Gateway, device: Device, description: MediaPlayerEntityDescription) -> None:
        super().__init__(gateway, device, description)
        self._announcer = device.part(Announcer)
        self._player = DevicePlayer(device, self._announcer, self._changed)
        self._before_mute: float | None = None
        """The volume to go back to; None if it was not muted here: the firmware has no mute."""
        self._set: tuple[float, object] | None = None
        """The volume that was set last, and the status read before that."""

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device, and restore the volume from before it was muted."""
        await super().async_added_to_hass()
        if (stored := await self.async_get_last_extra_data()) is not None:
            self._before_mute = as_number(stored.as_dict().get("level"))
            if self._before_mute is not None:
                # The volume may have been read before the mute.
                self._set = 0.0, self.device.state.status

    @override
    async def async_will_remove_from_hass(self) -> None:
        await super().async_will_remove_from_hass()
        await self._player.stop()

    @property
    @override
    def extra_restore_state_data(self) -> ExtraStoredData:
        """Return the data to end a mute after a restart."""
        return RestoredExtraData({"level": self._before_mute})

    @property
    @override
    def supported_features(self) -> MediaPlayerEntityFeature:
        """Return the features; the volume only where the device has a tool for it."""
        features = _FEATURES | _VOLUME_FEATURES if self._volume else _FEATURES
        # There is nothing to resume while it is idle.
        idle = self._player.state is MediaPlayerState.IDLE
        return features & ~MediaPlayerEntityFeature.PLAY if idle else features

    @property
    def _volume(self) -> NumberTool | None:
        """Setter of the volume, if the device has one."""
        tool = self.device.tools.entities.get("volume")
        return tool if isinstance(tool, NumberTool) else None

    @property
    @override
    def volume_level(self) -> float | None:
        """Return the volume as last read, or as set since."""
        if self._set is not None and self._set[1] is self.device.state.status:
            return self._set[0]
        if (tool := self._volume) is None or tool.state is None:
            return None
        value = as_number(self.device.tools.last_value(tool.state))
        low, high = tool.setter.minimum, tool.setter.maximum
        if value is None or high <= low:
            return None
        return min(max((value - low) / (high - low), 0.0), 1.0)

    @property
    @override
    def is_volume_muted(self) -> bool:
        """Return whether the device was muted here, and has not been set to anything else since."""
        return self._before_mute is not None and not self.volume_level

    @override
    async def async_play_media(self, media_type: MediaType | str, media_id: str, **kwargs: Any) -> None:
        """Play media, or announce them."""
        title = _title(kwargs.get(ATTR_MEDIA_EXTRA))
        media = Media(media_id=media_id, entity_id=self.entity_id, title=title)
        if kwargs.get(ATTR_MEDIA_ANNOUNCE):
            await self._player.announce(media)
            return
        enqueue = kwargs.get(ATTR_MEDIA_ENQUEUE, MediaPlayerEnqueue.REPLACE)
        if enqueue not in _REPLACING and self._player.state is not MediaPlayerState.IDLE:
            raise InputError("media_no_queue", name=self.device.name)
        self._announcer.check_may_disturb(self._caller)
        await self._player.play(media)

    @override
    async def async_media_play(self) -> None:
        """Go on where it was paused."""
        self._announcer.check_may_disturb(self._caller)
        await self._player.resume()

    @override
    async def async_media_pause(self) -> None:
        """Stop, and remember where."""
        await self._player.pause()

    @override
    async def async_media_stop(self) -> None:
        """Stop, also an announcement."""
        await self._player.stop()
        await self._announcer.stop()

    @override
    async def async_set_repeat(self, repeat: RepeatMode) -> None:
        """Repeat the media, of which there is only one."""
        self._attr_repeat = repeat
        self._player.set_repeats(repeat is not RepeatMode.OFF)
        self.async_write_ha_state()

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        if (tool := self._volume) is not None:
            setter, before = tool.setter, self.device.state.status
            level = round(setter.minimum + volume * (setter.maximum - setter.minimum))
            # Only an attribute of the media player changes, of which Home Assistant writes no line.
            with logged_call(self.device, setter.tool, self._caller):
                await self.device.commands.change(setter.tool, {setter.argument: level})
            self._set = (volume, before)
        self._before_mute = None

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        """Set the volume to zero and remember the volume before, or restore that."""
        if mute and not self.is_volume_muted:
            before = self.volume_level or _USUAL_VOLUME
            await self.async_set_volume_level(0)
            self._before_mute = before
        elif self._before_mute is not None and self.is_volume_muted and not mute:
            await self.async_set_volume_level(self._before_mute)
        self.async_write_ha_state()

    @override
    async def async_browse_media(
        self, media_content_type: MediaType | str | None = None, media_content_id: str | None = None
    ) -> BrowseMedia:
        return await media_source.async_browse_media(self.hass, media_content_id, content_filter=is_sound)

    @override
    async def async_search_media(self, query: SearchMediaQuery) -> SearchMedia:
        return await search_sounds(self.hass, query)

    @callback
    def _changed(self) -> None:
        player, stream = self._player, self._player.stream
        self._attr_state = player.state
        self._attr_media_content_id = player.media.media_id if player.media else None
        self._attr_media_title = stream.title if stream else None
        self._attr_media_channel = (stream.station or None) if stream else None
        self._attr_media_duration = round(stream.seconds) if stream and stream.seconds else None
        self._attr_media_position = round(player.position) if player.media else None
        self._attr_media_position_updated_at = dt_util.utcnow() if player.media else None
        if self.hass is not None and self.enabled:
            self.async_write_ha_state()


def _title(extra: dict[str, Any] | None) -> str:
    """Return the title that a caller gives, in one of the two usual ways."""
    extra = extra or {}
    metadata = extra.get("metadata")
    title = (metadata.get("title") if isinstance(metadata, dict) else None) or extra.get("title")
    return title if isinstance(title, str) else ""


ENTITIES: Final = (DescribedEntities(XiaozhiMediaPlayer, [_SPEAKER]),)
