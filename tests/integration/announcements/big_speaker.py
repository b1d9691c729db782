"""A media player that says what a device would say."""

import asyncio
import io
from typing import Any, override

import aiohttp
import av
from homeassistant.components.media_player import (
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)

from simulator import SimulatedDevice
from tests.protocol.audio.sounds import pitch_level

SELECT = "select.kitchen_box_voice_output"


class BigSpeaker(MediaPlayerEntity):
    """Fetches what it is to play as Cast does, and plays it."""

    _attr_name = "Big speaker"
    _attr_unique_id = "big_speaker"
    _attr_should_poll = False
    _attr_state = MediaPlayerState.IDLE
    _attr_supported_features = (
        MediaPlayerEntityFeature.MEDIA_ANNOUNCE
        | MediaPlayerEntityFeature.PLAY_MEDIA
        | MediaPlayerEntityFeature.STOP
    )

    def __init__(self) -> None:
        self.played: list[bytes] = []
        """PCM of 24 kHz of each sound."""
        self.began: list[float] = []
        self.stopped = 0
        self.fetches = True
        self.error: Exception | None = None
        self.last_error: Exception | None = None
        """What it raises when it has played."""
        self.ends = True
        """Whether it reports that it has ended."""
        self.reports = True
        """Whether it reports what it does, and what it plays."""
        self.late = 0.0
        """Seconds until what it has fetched is heard."""
        self.asked: list[str] = []
        """What it was asked to play."""
        self._playing: asyncio.Task[None] | None = None

    @override
    async def async_play_media(self, media_type: MediaType | str, media_id: str, **kwargs: Any) -> None:
        if self.error is not None:
            raise self.error
        self.asked.append(media_id)
        playing, self._playing = self._playing, None
        if playing is not None:
            playing.cancel()
        if not kwargs.get("announce"):
            self.show(MediaPlayerState.PLAYING, media_id)
            return
        if self.fetches:
            self._playing = self.hass.async_create_background_task(self._play(media_id), "big speaker")
        if self.last_error is not None and self._playing is not None:
            await asyncio.wait((self._playing,))
            await asyncio.sleep(2)
            raise self.last_error

    @override
    async def async_media_stop(self) -> None:
        self.stopped += 1
        if self._playing is not None:
            self._playing.cancel()
        if not self.reports:
            await asyncio.sleep(1)
            self.show(MediaPlayerState.IDLE)

    async def _play(self, address: str) -> None:
        if self.reports:
            self.show(MediaPlayerState.BUFFERING, address)
        mp3 = b""
        headers = {"Range": "bytes=0-", "Origin": "https://www.gstatic.com"}
        try:
            async with aiohttp.ClientSession(headers=headers) as session:
                async with session.head(address) as response:
                    assert response.content_type == "audio/mpeg"
                async with session.get(address, raise_for_status=True) as response:
                    assert response.content_type == "audio/mpeg"
                    async for part in response.content.iter_any():
                        if not mp3:
                            await asyncio.sleep(self.late)
                            self.began.append(self.hass.loop.time())
                            if self.reports:
                                self.show(MediaPlayerState.PLAYING, address)
                        mp3 += part
            self.played.append(decoded(mp3))
            await asyncio.sleep(self.began[-1] + len(self.played[-1]) / 48000 - self.hass.loop.time())
        finally:
            if self.ends and self.reports and self._playing is asyncio.current_task():
                self.show(MediaPlayerState.IDLE)

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        self.set_volume(volume)

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        self._attr_is_volume_muted = mute
        self.async_write_ha_state()

    def set_volume(self, level: float) -> None:
        self._attr_volume_level = level
        self.async_write_ha_state()

    def show(self, state: MediaPlayerState, address: str | None = None, *, there: bool = True) -> None:
        self._attr_state, self._attr_media_content_id, self._attr_available = state, address, there
        self.async_write_ha_state()


def decoded(mp3: bytes) -> bytes:
    with av.open(io.BytesIO(mp3), "r") as container:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=24000)
        frames = [each for frame in container.decode(audio=0) for each in resampler.resample(frame)]
    return b"".join(bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames)


OTHER_SELECT = "select.bedroom_box_voice_output"
PLAYER = "media_player.big_speaker"
# Of the scripted voice, which says 20 letters in a second.
SIX_SECONDS = "Listen to this. " + "word " * 21


def says_itself(device: SimulatedDevice) -> bool:
    pcm = device.speaker.played_pcm
    return bool(pcm) and pitch_level(pcm, device.speaker.rate, 440) > 1000
