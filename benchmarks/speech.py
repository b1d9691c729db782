"""Speech engines and an agent inside Home Assistant that take no time, and record when they were used."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
import io
from time import monotonic
from typing import ClassVar, Final, override

from homeassistant.components import conversation, stt, tts
from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.components.conversation import ChatLog, ConversationInput, ConversationResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from simulator.audio.espeak import synthesize
from simulator.audio.sound import write_wav

type Recognize = Callable[[AsyncIterable[bytes]], Awaitable[str]]

LONG_SPEECH: Final = 2 * (
    "Please turn on the light in the kitchen and the one in the hall and set the heating in the bathroom to"
    " twenty one degrees and close the blinds of the living room and start the washing machine at seven and"
    " add milk and bread and butter to the shopping list and tell me when the dryer has finished and "
)
"""Speech without a pause that would end it, half a minute of it."""

_LANGUAGE: Final = "en"
_BYTES_PER_SECOND: Final = 32000
_CHUNK: Final = 4096


class InstantSpeechToText(stt.SpeechToTextEntity):
    """A speech-to-text engine that returns what a benchmark chooses."""

    _attr_name = "Benchmark speech-to-text"
    _attr_unique_id = "benchmark_stt"
    supported_languages: ClassVar[list[str]] = [_LANGUAGE]
    supported_formats: ClassVar[list[stt.AudioFormats]] = [stt.AudioFormats.WAV]
    supported_codecs: ClassVar[list[stt.AudioCodecs]] = [stt.AudioCodecs.PCM]
    supported_bit_rates: ClassVar[list[stt.AudioBitRates]] = [stt.AudioBitRates.BITRATE_16]
    supported_sample_rates: ClassVar[list[stt.AudioSampleRates]] = [stt.AudioSampleRates.SAMPLERATE_16000]
    supported_channels: ClassVar[list[stt.AudioChannels]] = [stt.AudioChannels.CHANNEL_MONO]

    def __init__(self) -> None:
        """Return an empty text after a second of audio."""
        self.recognize: Recognize = after(1, "")
        self.notices_end = True
        """Whether it ends the speech by itself; otherwise the pipeline's voice detector does."""
        self.understood_at: list[float] = []
        """Monotonic times, in seconds."""

    @property
    @override
    def audio_processing(self) -> stt.SpeechAudioProcessing:
        return stt.SpeechAudioProcessing(
            requires_external_vad=not self.notices_end,
            prefers_auto_gain_enabled=False,
            prefers_noise_reduction_enabled=False,
        )

    @override
    async def async_process_audio_stream(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> stt.SpeechResult:
        text = await self.recognize(stream)
        self.understood_at.append(monotonic())
        return stt.SpeechResult(text, stt.SpeechResultState.SUCCESS)


class InstantTextToSpeech(tts.TextToSpeechEntity):
    """A text-to-speech engine that returns the same WAV for every text, after `delay`."""

    _attr_name = "Benchmark text-to-speech"
    _attr_unique_id = "benchmark_tts"
    _attr_default_language = _LANGUAGE

    def __init__(self) -> None:
        """Return one sentence without delay."""
        self._attr_supported_languages = [_LANGUAGE]
        self.wav = spoken("The light is on.")
        self.delay = 0.0
        """Seconds before its first sound."""
        self.streams = False
        """Whether it speaks as soon as it has some words, and not when it has all."""
        self.spoke_at: list[float] = []
        """Monotonic times, in seconds."""

    @override
    async def async_stream_tts_audio(self, request: tts.TTSAudioRequest) -> tts.TTSAudioResponse:
        async def speak() -> AsyncGenerator[bytes]:
            async for _ in request.message_gen:
                if self.streams:
                    break
            await asyncio.sleep(self.delay)
            self.spoke_at.append(monotonic())
            for start in range(0, len(self.wav), _CHUNK):
                yield self.wav[start : start + _CHUNK]

        return tts.TTSAudioResponse("wav", speak())


class InstantAgent(conversation.ConversationEntity):
    """A conversation agent whose answers all differ, so that none comes from a cache.

    It answers at once, or like a language model word by word, after it has thought for `thinks` seconds.
    """

    _attr_name = "Benchmark agent"
    _attr_unique_id = "benchmark_agent"
    _attr_supports_streaming = True
    supported_languages = "*"

    def __init__(self) -> None:
        """Start counting answers."""
        self.thinks = 0.0
        self.asked_at: list[float] = []
        """Monotonic times, in seconds."""

    @override
    async def _async_handle_message(
        self, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        self.asked_at.append(monotonic())
        answer = f"Answer {len(self.asked_at)}."
        if self.thinks:
            answer += " It has a few more words, as language models like to say rather much than little."
            await asyncio.sleep(self.thinks)
            async for _ in chat_log.async_add_delta_content_stream(self.entity_id, _word_by_word(answer)):
                pass
        response = intent.IntentResponse(language=user_input.language)
        response.async_set_speech(answer)
        return ConversationResult(response=response, conversation_id=chat_log.conversation_id)


async def _word_by_word(text: str) -> AsyncGenerator[conversation.AssistantContentDeltaDict]:
    yield {"role": "assistant"}
    for word in text.split():
        yield {"content": f"{word} "}
        # A hundred words a second: what comes after the first ones is not measured.
        await asyncio.sleep(0.01)


async def set_up_speech(
    hass: HomeAssistant,
) -> tuple[InstantSpeechToText, InstantTextToSpeech, InstantAgent]:
    """Add the engines, and use them in the preferred pipeline."""
    speech_to_text, text_to_speech, agent = InstantSpeechToText(), InstantTextToSpeech(), InstantAgent()
    await hass.data[stt.DATA_COMPONENT].async_add_entities([speech_to_text])
    await hass.data[tts.DATA_COMPONENT].async_add_entities([text_to_speech])
    await hass.data[conversation.DATA_COMPONENT].async_add_entities([agent])
    await async_update_pipeline(
        hass,
        async_get_pipelines(hass)[0],
        conversation_engine=agent.entity_id,
        stt_engine=speech_to_text.entity_id,
        stt_language=_LANGUAGE,
        tts_engine=text_to_speech.entity_id,
        tts_language=_LANGUAGE,
    )
    return speech_to_text, text_to_speech, agent


def after(seconds: float, text: str) -> Recognize:
    """Return a function that recognises a text after this much audio, silence included, or after all."""

    async def recognize(stream: AsyncIterable[bytes]) -> str:
        left = seconds * _BYTES_PER_SECOND
        async for chunk in stream:
            left -= len(chunk)
            if left <= 0:
                break
        return text

    return recognize


def spoken(text: str) -> bytes:
    """Return a WAV of a text, as a local speech engine creates it."""
    pcm, rate = synthesize(text)
    buffer = io.BytesIO()
    write_wav(buffer, pcm, rate)
    return buffer.getvalue()
