"""The loudspeaker of the room: a media player that says what a device would say.

The device plays silence of the same length, so that it shows the text, does not listen, can be interrupted as
usual and never counts its channel as stale.

The player fetches the sound from us and not from the address of the pipeline's run, for three reasons: only a
request shows that it has begun, since some players report no state for an announcement; sounds before
announcements, rings and media have no such address; and a sound of ours can be cut off where a player cannot
be stopped.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
import logging
from typing import ClassVar, Final

from aiohttp import web
from homeassistant.components.media_player import (
    ATTR_MEDIA_ANNOUNCE,
    ATTR_MEDIA_CONTENT_ID,
    ATTR_MEDIA_CONTENT_TYPE,
    DOMAIN as MEDIA_PLAYER,
    SERVICE_PLAY_MEDIA,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)
from homeassistant.const import (
    ATTR_DEVICE_ID,
    ATTR_ENTITY_ID,
    ATTR_NAME,
    ATTR_SUPPORTED_FEATURES,
    EVENT_CALL_SERVICE,
    SERVICE_MEDIA_STOP,
    STATE_UNAVAILABLE,
)
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.network import get_url
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..const import EVENT_ROOM_PLAYER, SOUND_PATH
from ..device.device import Device
from ..device_http.access import DeviceView
from ..device_http.transfers import Transfers
from ..protocol.audio.mp3 import Mp3Encoder
from ..protocol.messages import DOWNLINK
from ..protocol.tasks import log_failure
from ..protocol.untrusted_text import one_line
from ..timeouts import AnnouncementTimeouts
from .utterance import OpenSpeech

_LOGGER = logging.getLogger(__name__)

_SUFFIX: Final = ".mp3"
_PLAYING: Final = frozenset({MediaPlayerState.BUFFERING, MediaPlayerState.PLAYING})
# Seconds of sound that are made before they are heard: a player holds some, and media may have no end.
_AHEAD: Final = 10
# Bytes that are kept for a player that fetches once more: five minutes, which is more than any text.
_KEPT: Final = 5 * 60 * 8000
# Seconds of silence between two looks at the player.
_PIECE: Final = 0.24


class RoomPlayerError(Exception):
    """The player of the room does not say it, for a reason that `logbook` has a sentence for."""


class Sound:
    """Sound that a player fetches while it is made, perhaps several times."""

    path: ClassVar = SOUND_PATH

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text
        """Returns the text that is said, as far as it is known."""
        self.requested = False
        self.seconds = 0.0
        """How much of it has been made."""
        self.heard = 0.0
        self.ended = self.stopped = False
        self._mp3 = bytearray()
        self._forgotten = 0
        """Bytes before that, of media without an end."""
        self._changed = asyncio.Event()

    @callback
    def notify(self) -> None:
        """Wake those who wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait for a change."""
        await self._changed.wait()

    async def make(self, speech: AsyncGenerator[bytes]) -> None:
        """Encode speech."""
        encoder = Mp3Encoder()
        try:
            async with aclosing(speech):
                async for pcm in speech:
                    self._mp3 += encoder.encode(pcm)
                    old = max(0, len(self._mp3) - _KEPT)
                    del self._mp3[:old]
                    self._forgotten += old
                    self.seconds += len(pcm) / (2 * DOWNLINK.sample_rate)
                    self.notify()
                    while self.seconds > self.heard + _AHEAD:
                        await self.changed()
            self._mp3 += encoder.encode(b"")
        finally:
            self.ended = True
            self.notify()

    async def read(self) -> AsyncGenerator[bytes]:
        """Yield it from its beginning, as far as that is kept, while it is made."""
        self.requested = True
        self.notify()
        sent = 0
        while not self.stopped:
            sent = max(sent, self._forgotten)
            if part := bytes(self._mp3[sent - self._forgotten :]):
                sent += len(part)
                yield part
            elif self.ended:
                return
            else:
                await self.changed()


class SoundView(DeviceView[Transfers]):
    """Where a media player fetches a sound. The address is secret enough; a player may be a web page."""

    url = SOUND_PATH + "/{token}" + _SUFFIX
    name = "api:xiaozhi:sound"

    async def head(self, request: web.Request, token: str) -> web.Response:
        """Answer what some players ask first."""
        self._sound(token)
        return web.Response(content_type="audio/mpeg")

    async def get(self, request: web.Request, token: str) -> web.StreamResponse:
        """Send all of it, also for a range: its length is not known."""
        sound = self._sound(token)
        response = web.StreamResponse(headers={"Content-Type": "audio/mpeg", "Cache-Control": "no-store"})
        await response.prepare(request)
        async with aclosing(sound.read()) as parts:
            async for part in parts:
                await response.write(part)
        return response

    def _sound(self, token: str) -> Sound:
        if (sound := self.part.find(Sound, token)) is None:
            raise web.HTTPNotFound
        return sound


class Speech:
    """What a device says: it plays it itself, or is silent while the player of the room says it."""

    def __init__(
        self, device: Device, open_speech: OpenSpeech, text: Callable[[], str], *, stays: bool = False
    ) -> None:
        """Say a text. With `stays`, the device plays it in any case."""
        self._device = device
        self._open = open_speech
        self._text = text
        self._player = None if stays else device.settings.loudspeaker
        self.begins = 0.0
        """Seconds of silence before the speech."""

    async def pcm(self) -> AsyncGenerator[bytes]:
        """Yield silence; all of the speech if the player does not say it, or not to its end."""
        if (player := self._player) is not None:
            self.begins = self._device.settings.loudspeaker_lead
            silent = 0.0
            try:
                async with aclosing(play(self._device, player, self._open, self._text)) as silence:
                    async for piece in silence:
                        silent += len(piece) / (2 * DOWNLINK.sample_rate)
                        yield piece
            except RoomPlayerError as err:
                report(self._device, player, err)
                self.begins = silent
            else:
                return
        async with aclosing(self._open()) as speech:
            async for piece in speech:
                yield piece


async def play(
    device: Device, player: str, open_speech: OpenSpeech, text: Callable[[], str], *, in_turn: bool = False
) -> AsyncGenerator[bytes]:
    """Have a player say a text, and yield silence that lasts as long; closing this stops the player.

    With `in_turn`, it waits as long as the player speaks for other devices.
    Raises `RoomPlayerError`, and as `open_speech`.
    """
    sound = Sound(text)
    making = device.create_task(sound.make(open_speech()), "sound for a player")
    making.add_done_callback(log_failure)
    try:
        async with _played(device, player, sound, in_turn=in_turn) as check:
            sound.heard = -device.settings.loudspeaker_lead
            while True:
                check()
                if sound.seconds > max(sound.heard, 0):
                    left = sound.seconds - sound.heard
                    yield bytes(2 * round(DOWNLINK.sample_rate * min(left, _PIECE)))
                    sound.heard += min(left, _PIECE)
                    sound.notify()
                elif sound.ended:
                    await making
                    return
                else:
                    await sound.changed()
    finally:
        making.cancel()
        await asyncio.wait((making,))


@callback
def listen_for_stop(hass: HomeAssistant, player: str, stopped: Callable[[], None]) -> CALLBACK_TYPE:
    """Call `stopped` when Home Assistant is to stop a player. Returns a function that ends this.

    When the player goes idle by itself, it may as well have failed.
    """

    @callback
    def called(event: Event) -> None:
        match event.data:
            case {"domain": "media_player", "service": "media_stop" | "media_pause", "service_data": data}:
                found = async_extract_referenced_entity_ids(hass, TargetSelection(data))
                if player in found.referenced | found.indirectly_referenced:
                    stopped()

    return hass.bus.async_listen(EVENT_CALL_SERVICE, called)


@callback
def said_in_house(device: Device) -> list[Callable[[], str]]:
    """Return getters of the texts that media players are saying now, for any device of the gateway."""
    return [sound.text for sound in device.transfers.all_open(Sound)]


@asynccontextmanager
async def _played(
    device: Device, player: str, sound: Sound, *, in_turn: bool
) -> AsyncGenerator[Callable[[], None]]:
    """Play a sound on a player, when no other device speaks there. Yields what checks that it still plays.

    Raises `RoomPlayerError`. If it is left with an error, the player stops.
    """
    hass, patience = device.hass, AnnouncementTimeouts.room_player
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(None if in_turn else patience):
                await stack.enter_async_context(device.transfers.speaking[player])
        except TimeoutError:
            raise RoomPlayerError("busy") from None
        path = stack.enter_context(device.transfers.offer(sound)) + _SUFFIX
        was_playing = _is_playing(hass, player)
        calling = device.create_task(_call(hass, player, path), "play on a player")
        calling.add_done_callback(lambda _: sound.notify())
        # Some players end this call only after the sound, when nothing here waits for it any more.
        calling.add_done_callback(log_failure)

        def check() -> None:
            state = hass.states.get(player)
            if state is None or state.state == STATE_UNAVAILABLE:
                raise RoomPlayerError("unavailable")
            if calling.done() and not calling.cancelled() and (err := calling.exception()) is not None:
                _LOGGER.warning("%s does not speak for %s: %s", player, device.name, one_line(str(err)))
                raise RoomPlayerError("failed")

        try:
            check()
            try:
                async with asyncio.timeout(patience):
                    while not sound.requested:
                        await sound.changed()
                        check()
            except TimeoutError:
                raise RoomPlayerError("late") from None
            yield check
        except BaseException:
            sound.stopped = True
            sound.notify()
            calling.cancel()
            # It may have gone back to its music.
            if _is_playing(hass, player) and (not was_playing or _is_playing(hass, player, path)):
                stop = hass.services.async_call(MEDIA_PLAYER, SERVICE_MEDIA_STOP, {ATTR_ENTITY_ID: player})
                with suppress(HomeAssistantError):
                    await stop
            raise


async def _call(hass: HomeAssistant, player: str, path: str) -> None:
    data = {
        ATTR_ENTITY_ID: player,
        ATTR_MEDIA_CONTENT_ID: get_url(hass) + path,
        ATTR_MEDIA_CONTENT_TYPE: MediaType.MUSIC,
        ATTR_MEDIA_ANNOUNCE: True,
    }
    await hass.services.async_call(MEDIA_PLAYER, SERVICE_PLAY_MEDIA, data, blocking=True)


@callback
def _is_playing(hass: HomeAssistant, player: str, what: str = "") -> bool:
    state = hass.states.get(player)
    return (
        state is not None
        and state.state in _PLAYING
        and what in str(state.attributes.get(ATTR_MEDIA_CONTENT_ID, ""))
        and bool(state.attributes.get(ATTR_SUPPORTED_FEATURES, 0) & MediaPlayerEntityFeature.STOP)
    )


@callback
def report(device: Device, player: str, err: RoomPlayerError) -> None:
    """Report in the device's activity why it has spoken itself."""
    state = device.hass.states.get(player)
    data = {
        ATTR_DEVICE_ID: device.registry_id,
        ATTR_NAME: device.name,
        "player": player if state is None else state.name,
        "reason": str(err),
    }
    device.hass.bus.async_fire(EVENT_ROOM_PLAYER, data)
