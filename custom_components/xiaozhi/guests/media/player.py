"""Media player of one device: one piece of media at a time, until it ends or somebody ends it."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
import logging

from homeassistant.components.media_player import MediaPlayerState
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ...announcements.announcement_errors import check_length
from ...announcements.announcer import Announcer
from ...announcements.delivery import Delivery
from ...announcements.heard import End, EndedByPersonError
from ...announcements.utterance import Rank, Utterance
from ...const import SOUND_PATH
from ...device.device import Device
from ...errors import UserError
from ...protocol import messages
from ...timeouts import AnnouncementTimeouts
from ...util.event_loop import loop_time
from .source import text_to_speak
from .stream import Media, MediaStream, media_sound

_LOGGER = logging.getLogger(__name__)


class DevicePlayer:
    """Plays media on a device, as `announcements` allows."""

    def __init__(self, device: Device, announcer: Announcer, on_change: Callable[[], None]) -> None:
        """Begin idle. `on_change` is called after every change of the player."""
        self._hass = device.hass
        self._device = device
        self._announcer = announcer
        self._on_change = on_change
        self._task: asyncio.Task[None] | None = None
        self._shown_title = ""
        self._started_at = 0.0
        self._started_from = 0.0
        self._paused_at = 0.0
        self.state = MediaPlayerState.IDLE
        """*Buffering* while the media are being opened, or wait until the device can play them."""
        self.media: Media | None = None
        """The media that are played or paused."""
        self.repeats = False
        """Whether the media begin again at their end."""
        self.stream: MediaStream | None = None
        """Facts about the media that are played."""

    @property
    def position(self) -> float:
        """Seconds that have been played."""
        if self.stream is None or self.media is None:
            return self._paused_at
        position, seconds = self.media.start + self._heard(self.stream), self.stream.seconds
        return position % seconds if self.repeats and seconds else position

    async def play(self, media: Media) -> None:
        """Play instead of what is being played; return when it begins.

        During a conversation it begins after the answer, so this returns as soon as there is sound. Raises
        `HomeAssistantError` with a text for the user.
        """
        await self.stop()
        self._announcer.check_sound()
        self.media = media
        stream = self.stream = MediaStream(self._hass, media, self._titled)
        stream.repeats = self.repeats
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = self._device.create_task(self._play(stream, begun), "play media")
        self._change(MediaPlayerState.BUFFERING)
        await begun

    async def announce(self, media: Media) -> None:
        """Say something or play a sound, in place of what is being played; return when it was heard.

        Raises `HomeAssistantError` with a text for the user.
        """
        sound = media_sound(self._hass, media.media_id, media.entity_id)
        text = text_to_speak(media.media_id)
        check_length(self._device, text)
        # Speech of another device: two devices may be each other's loudspeaker.
        device_only = SOUND_PATH in media.media_id
        utterance = Utterance(text=text, speech=sound, at_announcement_volume=True, device_only=device_only)
        (await self._announcer.say(utterance)).check()

    @callback
    def set_repeats(self, repeats: bool) -> None:
        """Set whether the media begin again at their end."""
        self.repeats = repeats
        if self.stream is not None:
            self.stream.repeats = repeats

    async def pause(self) -> None:
        """Stop, and remember where; does nothing if nothing is played."""
        if self.stream is None or self.media is None:
            return
        position, media = self.position, self.media
        start = 0.0 if self.stream.is_live else position
        await self.stop()
        self.media = replace(media, start=start)
        self._paused_at = position
        self._change(MediaPlayerState.PAUSED)

    async def resume(self) -> None:
        """Go on where it was paused; radio goes on where it is now. Raises as `play`."""
        if self.state is MediaPlayerState.PAUSED and self.media is not None:
            media, position = self.media, self._paused_at
            try:
                await self.play(media)
            except HomeAssistantError:
                # It may work later.
                self.media, self._paused_at = media, position
                self._change(MediaPlayerState.PAUSED)
                raise

    async def stop(self) -> None:
        """Stop playing."""
        # Another call may play something meanwhile.
        while (task := self._task) is not None:
            task.cancel()
            await asyncio.wait((task,))
        if self.state is not MediaPlayerState.IDLE:
            self._end()

    async def _play(self, stream: MediaStream, begun: asyncio.Future[None]) -> None:
        try:
            async with aclosing(stream):
                await self._play_through(stream, begun)
        except asyncio.CancelledError:
            _fail(begun, UserError("media_stopped", media=stream.title))
            raise
        except HomeAssistantError as err:
            if not _fail(begun, err):
                level = logging.DEBUG if isinstance(err, EndedByPersonError) else logging.WARNING
                _LOGGER.log(level, "%s: media ended: %s", self._device.name, err)
        except Exception as err:
            _LOGGER.exception("Unexpected error while %s plays media", self._device.name)
            _fail(begun, err)
        finally:
            if self._task is asyncio.current_task():
                self._end()

    async def _play_through(self, stream: MediaStream, begun: asyncio.Future[None]) -> None:
        await stream.open()
        self._titled()
        if self._device.conversation is not None and not begun.done():
            # The caller may be the turn after which it begins.
            begun.set_result(None)
        while True:
            heard = await self._announcer.say(self._utterance(stream, begun))
            if heard.end is not End.REPLACED:
                heard.check()
                return
            by = heard.replaced_by
            if heard.how is Delivery.CONVERSATION and by is not None and by.rings:
                # Nobody talks in this channel: a ring there is to wake somebody.
                return
            # It goes on after more urgent utterances.
            self._started_from = self._heard(stream)
            self._change(MediaPlayerState.BUFFERING)
            if not stream.rewind(self._started_from):
                return

    def _utterance(self, stream: MediaStream, begun: asyncio.Future[None]) -> Utterance:
        @callback
        def start(how: Delivery) -> None:
            self._started_at = loop_time()
            if how is Delivery.NOTIFY:
                self._started_at += AnnouncementTimeouts.pop_up
            self._change(MediaPlayerState.PLAYING)
            if not begun.done():
                begun.set_result(None)

        self._shown_title = stream.title
        return Utterance(
            text=stream.title,
            speech=lambda _how: stream.pcm(),
            rank=Rank.MUSIC,
            on_start=start,
            on_delivered=stream.kept.clear,
        )

    @callback
    def _titled(self) -> None:
        title = self.stream.title if self.stream else ""
        if self.state is MediaPlayerState.PLAYING and title != self._shown_title:
            self._shown_title = title
            self._device.create_task(self._show(title), "show title")
        self._on_change()

    async def _show(self, title: str) -> None:
        try:
            await self._device.commands.send(messages.tts_caption(title))
        except HomeAssistantError as err:
            _LOGGER.debug("%s: title not shown: %s", self._device.name, err)

    def _heard(self, stream: MediaStream) -> float:
        """Return the seconds of a stream that have been played."""
        heard = self._started_from
        if self.state is MediaPlayerState.PLAYING:
            heard += max(loop_time() - self._started_at, 0.0)
        return min(heard, stream.played)

    @callback
    def _end(self) -> None:
        self._task = self.stream = self.media = None
        self._started_from = self._paused_at = 0.0
        self._change(MediaPlayerState.IDLE)

    @callback
    def _change(self, state: MediaPlayerState) -> None:
        self.state = state
        self._on_change()


def _fail(begun: asyncio.Future[None], err: Exception) -> bool:
    """Notify the caller, if it still waits; return whether it does."""
    if begun.done():
        return False
    begun.set_exception(err)
    return True
