"""Speech engines and an agent inside Home Assistant that take no time, and record when they were used."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from dataclasses import dataclass, field, fields, replace
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


@dataclass(slots=True, kw_only=True)
class Engines:
    """What the engines and the agent do, as a benchmark chooses, and when they were used."""

    recognize: Recognize = field(default_factory=lambda: after(1, ""))
    """The speech recognition."""
    notices_end: bool = True
    """Whether it ends the speech by itself; otherwise the pipeline's voice detector does."""
    wav: bytes = field(default_factory=lambda: spoken("The light is on."))
    """What the voice says, whatever the text."""
    delay: float = 0.0
    """Seconds before its first sound."""
    streams: bool = False
    """Whether it speaks as soon as it has some words, and not when it has all."""
    thinks: float = 0.0
    """Seconds before the agent answers word by word, like a language model; with none, it answers at once."""
    understood_at: list[float] = field(default_factory=list)
    """Monotonic times, in seconds, of the transcripts."""
    spoke_at: list[float] = field(default_factory=list)
    """Those of the voice's first sounds."""
    asked_at: list[float] = field(default_factory=list)
    """Those at which the agent was asked."""

    def reset(self) -> None:
        """Forget what a benchmark has chosen and measured."""
        fresh = Engines()
        for each in fields(self):
            setattr(self, each.name, getattr(fresh, each.name))


class _SpeechToText(stt.SpeechToTextEntity):
    _attr_name = "Benchmark speech-to-text"
    _attr_unique_id = "benchmark_stt"
    supported_languages: ClassVar[list[str]] = [_LANGUAGE]
    supported_formats: ClassVar[list[stt.AudioFormats]] = [stt.AudioFormats.WAV]
    supported_codecs: ClassVar[list[stt.AudioCodecs]] = [stt.AudioCodecs.PCM]
    supported_bit_rates: ClassVar[list[stt.AudioBitRates]] = [stt.AudioBitRates.BITRATE_16]
    supported_sample_rates: ClassVar[list[stt.AudioSampleRates]] = [stt.AudioSampleRates.SAMPLERATE_16000]
    supported_channels: ClassVar[list[stt.AudioChannels]] = [stt.AudioChannels.CHANNEL_MONO]

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    @property
    @override
    def audio_processing(self) -> stt.SpeechAudioProcessing:
        external = not self._engines.notices_end
        return replace(super().audio_processing, requires_external_vad=external)

    @override
    async def async_process_audio_stream(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> stt.SpeechResult:
        text = await self._engines.recognize(stream)
        self._engines.understood_at.append(monotonic())
        return stt.SpeechResult(text, stt.SpeechResultState.SUCCESS)


class _TextToSpeech(tts.TextToSpeechEntity):
    _attr_name = "Benchmark text-to-speech"
    _attr_unique_id = "benchmark_tts"
    _attr_default_language = _LANGUAGE

    def __init__(self, engines: Engines) -> None:
        self._attr_supported_languages = [_LANGUAGE]
        self._engines = engines

    @override
    async def async_stream_tts_audio(self, request: tts.TTSAudioRequest) -> tts.TTSAudioResponse:
        engines = self._engines

        async def speak() -> AsyncGenerator[bytes]:
            async for _ in request.message_gen:
                if engines.streams:
                    break
            await asyncio.sleep(engines.delay)
            engines.spoke_at.append(monotonic())
            for start in range(0, len(engines.wav), _CHUNK):
                yield engines.wav[start : start + _CHUNK]

        return tts.TTSAudioResponse("wav", speak())


class _Agent(conversation.ConversationEntity):
    """An agent whose answers all differ, so that none comes from a cache."""

    _attr_name = "Benchmark agent"
    _attr_unique_id = "benchmark_agent"
    _attr_supports_streaming = True
    supported_languages = "*"

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    @override
    async def _async_handle_message(
        self, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        self._engines.asked_at.append(monotonic())
        answer = f"Answer {monotonic()}."
        if self._engines.thinks:
            answer += " It has a few more words, as language models like to say rather much than little."
            await asyncio.sleep(self._engines.thinks)
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


async def set_up_speech(hass: HomeAssistant) -> Engines:
    """Add the engines and the agent, and use them in the preferred pipeline."""
    engines = Engines()
    speech_to_text, text_to_speech, agent = _SpeechToText(engines), _TextToSpeech(engines), _Agent(engines)
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
    return engines


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
