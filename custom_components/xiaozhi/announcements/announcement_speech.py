"""Sound of an announcement of Home Assistant: speech or media, perhaps after another sound."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
import logging
from typing import Any, Final
from urllib.parse import urlsplit

from homeassistant.components import tts
from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.components.assist_satellite import AssistSatelliteAnnouncement
from homeassistant.components.media_player import async_process_play_media_url
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.network import is_hass_url
from yarl import URL

from ..protocol.audio.speech_decoder import decode_speech
from ..protocol.audio.speech_pauses import SpeechShape
from ..protocol.conversation.caption_text import has_words
from ..protocol.messages import DOWNLINK
from ..timeouts import AnnouncementTimeouts
from .announcement_errors import SourceError
from .delivery import Delivery
from .utterance import OpenSpeech, Rank, Utterance

_LOGGER = logging.getLogger(__name__)

# Sound that Home Assistant's voice set-up lets a satellite fetch.
_TEST_SOUND: Final = "/api/assist_satellite/connection_test/"
# A sound before an announcement is kept in memory, and cut to this length.
_MAX_SOUND_SECONDS: Final = 30
# In place of a text without a word, which is only shown: engines have no sound for it, or fail.
_SILENCE: Final = bytes(2 * DOWNLINK.sample_rate)
OTHER_FORMATS: Final = {
    "amazon_polly": "mp3",
    "baidu": "mp3",
    "edge_tts": "mp3",
    "elevenlabs": "mp3",
    "fish_audio": "mp3",
    "google_cloud": "mp3",
    "google_translate": "mp3",
    "microsoft": "mp3",
    "voicerss": "mp3",
    "yandextts": "mp3",
}
"""Formats of engines that give no WAV, by integration. One that is missing here costs the conversion."""


async def announcement_utterance(
    hass: HomeAssistant,
    announcement: AssistSatelliteAnnouncement,
    open_media: Callable[[str], OpenSpeech],
    *,
    origin: str | None,
    sound_before: str | None = None,
    expects_answer: bool = False,
) -> Utterance:
    """Return the utterance of an announcement, after loading the sound before it, which may fail.

    `origin` is the address at which the device reaches Home Assistant, and so do we: the configured address
    may be one for the internet.
    """
    sound = b""
    if sound_before:
        try:
            address = async_process_play_media_url(hass, sound_before)
            sound = await _short_sound(open_media(_near(hass, address, origin)))
        except (HomeAssistantError, ValueError) as err:
            _LOGGER.warning("The sound before an announcement is left out: %s", err)
    speech = _speech_of(hass, announcement, open_media, origin)
    return Utterance(
        speech=one_after_other(sound, speech) if sound else speech,
        text=announcement.message,
        text_begins=len(sound) / (2 * DOWNLINK.sample_rate),
        rank=Rank.QUESTION if expects_answer else Rank.ANNOUNCEMENT,
        expects_answer=expects_answer,
        at_announcement_volume=True,
        fetched_lazily=urlsplit(announcement.media_id).path.startswith(_TEST_SOUND),
    )


@callback
def voice_language(pipeline: Pipeline) -> str:
    """Return the language that a pipeline speaks."""
    return pipeline.tts_language or pipeline.language


def text_utterance(
    hass: HomeAssistant, text: str, pipeline: Pipeline, *, expects_answer: bool = False
) -> Utterance:
    """Return the utterance of a text in a pipeline's voice."""

    def begin() -> tts.ResultStream:
        engine = tts.async_resolve_engine(hass, pipeline.tts_engine)
        if engine is None:
            raise SourceError("announcement_no_voice")
        options: dict[str, Any] = dict(speech_options(hass, engine))
        if pipeline.tts_voice is not None:
            options[tts.ATTR_VOICE] = pipeline.tts_voice
        stream = tts.async_create_stream(hass, engine, language=pipeline.tts_language, options=options)
        stream.async_set_message(text)
        return stream

    return Utterance(
        speech=spoken_text(begin) if has_words(text) else _silence,
        text=text,
        rank=Rank.QUESTION if expects_answer else Rank.ANNOUNCEMENT,
        expects_answer=expects_answer,
        at_announcement_volume=True,
    )


def _speech_of(
    hass: HomeAssistant,
    announcement: AssistSatelliteAnnouncement,
    open_media: Callable[[str], OpenSpeech],
    origin: str | None,
) -> OpenSpeech:
    token = announcement.tts_token
    if token is not None and not has_words(announcement.message):
        return _silence
    if token is not None and (stream := tts.async_get_stream(hass, token)) is not None:
        return spoken_text(lambda: stream)
    # Only the library knows the places of its media, without a detour over our web server.
    if announcement.media_id_source == "media_id":
        return open_media(announcement.original_media_id)
    return open_media(_near(hass, announcement.media_id, origin))


async def _silence(_how: Delivery) -> AsyncGenerator[bytes]:
    yield _SILENCE


def _near(hass: HomeAssistant, address: str, origin: str | None) -> str:
    """Return the address of something on our own web server as the device would call it."""
    if origin is None or not is_hass_url(hass, address):
        return address
    return str(URL(origin).join(URL(address).relative()))


def spoken_text(begin: Callable[[], tts.ResultStream]) -> OpenSpeech:
    """Return the speech of an engine, which is to `begin` then, without the silence before it.

    Raises `SourceError` if the engine hangs: nothing else would end the announcement.
    """

    async def speak(_how: Delivery) -> AsyncGenerator[bytes]:
        hangs = "announcement_late"
        async with aclosing(decoded(begin(), SpeechShape(DOWNLINK.sample_rate))) as pcm:
            while True:
                try:
                    async with asyncio.timeout(AnnouncementTimeouts.sound):
                        piece = await anext(pcm, None)
                except TimeoutError as err:
                    raise SourceError(hangs) from err
                if piece is None:
                    return
                yield piece
                hangs = "announcement_stalled"

    return speak


def decoded(stream: tts.ResultStream, shape: SpeechShape) -> AsyncGenerator[bytes]:
    """Return the speech of an engine, which a shape follows. Raises as `decode_speech`."""
    return decode_speech(
        stream.async_stream_result(),
        sample_rate=DOWNLINK.sample_rate,
        extension=stream.extension,
        shape=shape,
    )


async def _short_sound(open_sound: OpenSpeech) -> bytes:
    limit = 2 * DOWNLINK.sample_rate * _MAX_SOUND_SECONDS
    sound = bytearray()
    async with aclosing(open_sound(Delivery.NONE)) as pcm:
        async for piece in pcm:
            sound += piece
            if len(sound) > limit:
                break
    return bytes(sound[:limit])


def one_after_other(*sounds: bytes | OpenSpeech) -> OpenSpeech:
    """Return several sounds as one."""

    async def play(how: Delivery) -> AsyncGenerator[bytes]:
        for sound in sounds:
            if isinstance(sound, bytes):
                yield sound
                continue
            async with aclosing(sound(how)) as pcm:
                async for piece in pcm:
                    yield piece

    return play


def speech_options(hass: HomeAssistant, engine: str | None) -> dict[str, str]:
    """Return the options with which a speech engine, an entity or an integration, needs no conversion.

    A conversion starts an ffmpeg process, which takes longer than all the rest between transcript and voice.
    Without a preferred format Home Assistant converts everything to MP3.
    """
    entry = er.async_get(hass).async_get(engine) if engine else None
    integration = entry.platform if entry else engine
    return {tts.ATTR_PREFERRED_FORMAT: OTHER_FORMATS.get(integration or "", "wav")}
