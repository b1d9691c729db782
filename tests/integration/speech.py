"""Scripted speech engines and a scripted agent; everything around them is real."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
import io
from typing import Any, override

from homeassistant.components import conversation, stt, tts
from homeassistant.components.conversation import ChatLog, ConversationInput, ConversationResult
from homeassistant.components.stt import (
    SpeechAudioProcessing,
    SpeechMetadata,
    SpeechResult,
    SpeechResultState,
)
from homeassistant.components.tts import TTSAudioRequest, TTSAudioResponse, TtsAudioType
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.const import MAJOR_VERSION, MINOR_VERSION, Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    MockPlatform,
    mock_config_flow,
    mock_integration,
    mock_platform,
)

from simulator.audio.espeak import synthesize
from simulator.audio.sound import write_wav
from tests.integration.names import COMMAND
from tests.protocol.audio import sounds

SAMPLE_RATE = 22050


@cache
def spoken_command() -> bytes:
    """Return the usual command, spoken by somebody in a hurry: 0.9 s of 16 kHz mono PCM."""
    pcm, _ = synthesize(COMMAND, speed=250, sample_rate=16000)
    return pcm


class ScriptedSpeechToText(stt.SpeechToTextEntity):
    """Recognises the next line of its script at the end of each stream, and keeps the audio."""

    _attr_name = "Scripted recognizer"
    _attr_unique_id = "recognizer"
    supported_languages = ("en", "zh")
    supported_formats = (stt.AudioFormats.WAV,)
    supported_codecs = (stt.AudioCodecs.PCM,)
    supported_bit_rates = (stt.AudioBitRates.BITRATE_16,)
    supported_sample_rates = (stt.AudioSampleRates.SAMPLERATE_16000,)
    supported_channels = (stt.AudioChannels.CHANNEL_MONO,)

    def __init__(self) -> None:
        self.lines: list[str | None] = []
        self.streams: list[bytearray] = []
        self.finds_the_end = False
        """Whether it detects the end of speech by itself, as some engines do."""
        self.may_go_on: asyncio.Event = asyncio.Event()
        self.may_go_on.set()
        self.ended: asyncio.Queue[None] = asyncio.Queue()
        """Gets an item at the end of each stream."""
        self.stopping_seconds = 0.0
        """Seconds for which it ignores cancellation."""
        self.delay = 0.0
        """Seconds after the end of a stream."""

    @property
    @override
    def audio_processing(self) -> SpeechAudioProcessing:
        return replace(super().audio_processing, requires_external_vad=not self.finds_the_end)

    @override
    async def async_process_audio_stream(
        self, metadata: SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> SpeechResult:
        heard = bytearray()
        self.streams.append(heard)
        try:
            async for chunk in stream:
                heard += chunk
        except asyncio.CancelledError:
            await self._stop()
            raise
        self.ended.put_nowait(None)
        await self.may_go_on.wait()
        await asyncio.sleep(self.delay)
        line = self.lines.pop(0) if self.lines else ""
        if line is None:
            return SpeechResult(None, SpeechResultState.ERROR)
        return SpeechResult(line, SpeechResultState.SUCCESS)

    async def _stop(self) -> None:
        now = asyncio.get_running_loop().time
        end = now() + self.stopping_seconds
        while (left := end - now()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(left)


class ProgressiveSpeechToText(ScriptedSpeechToText):
    """Reports a word more of its line for each 0.16 s that it hears."""

    async def async_process_audio_stream_with_progress(
        self, metadata: SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> AsyncGenerator[Any]:
        words, heard = self.lines[0].split() if self.lines and self.lines[0] else [], bytearray()
        reported = 0
        self.streams.append(heard)
        async for chunk in stream:
            heard += chunk
            if (known := min(len(heard) // 5120, len(words))) > reported:
                reported = known
                yield stt.PartialSpeechResult(" ".join(words[:known]))
        yield SpeechResult(self.lines.pop(0), SpeechResultState.SUCCESS)


class ScriptedTextToSpeech(tts.TextToSpeechEntity):
    """Speaks a tone that lasts a second for 20 letters of the text, or as many as `pace` says."""

    _attr_name = "Scripted voice"
    _attr_unique_id = "voice"
    _attr_default_language = "en"
    _attr_supported_languages = ("en",)

    def __init__(self) -> None:
        self.spoken: list[str] = []
        self.pace = 20
        """Letters a second; tests of what is said, and not of how long, take more."""
        self.delay = 0.0
        """Seconds before the first sound."""
        self.fails = False
        self.says_words = False
        """Whether it says the text in words instead of a tone."""
        self.error: Exception | None = None
        self.may_go_on: asyncio.Event = asyncio.Event()
        self.may_go_on.set()

    @override
    async def async_get_tts_audio(self, message: str, language: str, options: dict[str, Any]) -> TtsAudioType:
        self.spoken.append(message)
        if self.error is not None:
            raise self.error
        if self.fails:
            return "wav", b"RIFF this is not a sound at all"
        await self.may_go_on.wait()
        await asyncio.sleep(self.delay)
        return "wav", words(message) if self.says_words else tone(len(message) / self.pace)


class StreamingTextToSpeech(ScriptedTextToSpeech):
    """Speaks a tone for each piece of text as soon as the piece arrives."""

    @override
    async def async_stream_tts_audio(self, request: TTSAudioRequest) -> TTSAudioResponse:
        async def speak() -> AsyncGenerator[bytes]:
            header = tone(0)[:44]
            yield header
            async for text in request.message_gen:
                self.spoken.append(text)
                yield tone(len(text) / self.pace)[44:]

        return TTSAudioResponse("wav", speak())


class ScriptedAgent(conversation.ConversationEntity):
    """Answers with the next line of its script, piece by piece. After a question it wants an answer."""

    _attr_name = "Scripted agent"
    _attr_unique_id = "agent"
    _attr_supports_streaming = True
    supported_languages = "*"

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.heard: list[str] = []
        self.conversations: list[str] = []
        """Conversation ids of the lines that it heard."""
        self.extra_prompts: list[str | None] = []
        """Prompts that it was given beside the lines."""
        self.uses: list[llm.ToolInput] = []
        """Tools to call before the next line."""
        self.offered: list[str] = []
        """Names of the tools that it was offered last."""
        self.prompt = ""
        self.pause = 0.05
        """Seconds after each piece."""
        self.results: list[conversation.ToolResultContent] = []
        self.delay = 0.0
        """Seconds before its first word."""
        self.thinking: asyncio.Event = asyncio.Event()
        self.may_go_on: asyncio.Event = asyncio.Event()
        self.may_go_on.set()

    @override
    async def _async_handle_message(
        self, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        self.heard.append(user_input.text)
        self.conversations.append(chat_log.conversation_id)
        self.extra_prompts.append(user_input.extra_system_prompt)
        self.thinking.set()
        await self.may_go_on.wait()
        await asyncio.sleep(self.delay)
        await chat_log.async_provide_llm_data(
            user_input.as_llm_context("scripted"), llm.LLM_API_ASSIST, None, user_input.extra_system_prompt
        )
        assert chat_log.llm_api is not None
        self.offered = [tool.name for tool in chat_log.llm_api.tools]
        self.prompt = chat_log.llm_api.api_prompt
        line = self.lines.pop(0)
        uses, self.uses = self.uses, []

        async def deltas() -> AsyncGenerator[conversation.AssistantContentDeltaDict]:
            yield {"role": "assistant"}
            if uses:
                yield {"tool_calls": uses}
                yield {"role": "assistant"}
            for sentence in line.split("|"):
                yield {"content": sentence}
                await asyncio.sleep(self.pause)

        async for content in chat_log.async_add_delta_content_stream(self.entity_id, deltas()):
            if isinstance(content, conversation.ToolResultContent):
                self.results.append(content)
        response = intent.IntentResponse(language=user_input.language)
        response.async_set_speech(line.replace("|", ""))
        return ConversationResult(
            response=response,
            conversation_id=chat_log.conversation_id,
            continue_conversation=line.endswith("?"),
        )


def tone(seconds: float) -> bytes:
    return _wav(sounds.tone(seconds, SAMPLE_RATE, amplitude=12000))


def words(text: str) -> bytes:
    return _wav(synthesize(text, sample_rate=SAMPLE_RATE)[0])


def _wav(pcm: bytes) -> bytes:
    buffer = io.BytesIO()
    write_wav(buffer, pcm, SAMPLE_RATE)
    return buffer.getvalue()


async def add_entities(hass: HomeAssistant, domain: str, entities: dict[Platform, list[Entity]]) -> None:
    """Set up an integration that has these entities."""

    async def set_up(hass: HomeAssistant, entry: ConfigEntry) -> bool | None:
        await hass.config_entries.async_forward_entry_setups(entry, list(entities))
        # Before 2026.11, Home Assistant wants to hear that it went well.
        return None if (MAJOR_VERSION, MINOR_VERSION) >= (2026, 11) else True

    def adder(platform: Platform) -> MockPlatform:
        async def add_all(
            hass: HomeAssistant, entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
        ) -> None:
            add(entities[platform])

        return MockPlatform(async_setup_entry=add_all)

    class Flow(ConfigFlow):
        """Never runs."""

    mock_integration(hass, MockModule(domain, async_setup_entry=set_up))
    mock_platform(hass, f"{domain}.config_flow")
    for platform in entities:
        mock_platform(hass, f"{domain}.{platform}", adder(platform))
    entry = MockConfigEntry(domain=domain)
    entry.add_to_hass(hass)
    with mock_config_flow(domain, Flow):
        assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
