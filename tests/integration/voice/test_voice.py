"""A person talks to a device, and Home Assistant answers."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.components.assist_pipeline import (
    async_create_default_pipeline,
    async_get_pipeline,
    async_update_pipeline,
)
from homeassistant.components.tts import TTSAudioRequest, TTSAudioResponse
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
)
import pytest

from custom_components.xiaozhi.announcements.announcement_speech import OTHER_FORMATS
from custom_components.xiaozhi.assist_satellite import XiaozhiSatellite
from custom_components.xiaozhi.const import CONF_WAKE_WORD_PIPELINES
from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from simulator import State, converse
from tests.integration.boxes import Speech, act, change_settings, entity_of, say, state_of, wait_for_state
from tests.integration.names import COMMAND, LIGHT, SATELLITE, Boot
from tests.integration.speech import SAMPLE_RATE, tone
from tests.protocol.audio.sounds import make_media
from tests.protocol.transport.udp.device import until


@pytest.mark.usefixtures("no_detector")
async def test_without_our_detector_that_of_the_pipeline_serves_a_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot, states: list[str]
) -> None:
    """It needs more silence around the command. `links/test_both_links.py` has the same with ours."""
    device = await boot()
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, speech.command)
    assert (talk.heard, talk.answers) == ([COMMAND], ["Turned on the switch"])
    assert 0.9 < talk.played_seconds < 1.3
    assert states == ["listening", "processing", "responding", "idle"]
    heard = speech.recognizer.streams[0]
    assert len(heard) - len(heard.lstrip(b"\0")) >= 32 * 760
    assert 0 < len(heard) / 32000 - len(speech.command) / 32000 < 4


async def test_what_is_switched_in_the_same_area_is_acknowledged_by_a_sound(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Home Assistant does it; and no ffmpeg is needed, which not every installation has."""
    area = ar.async_get(hass).async_create("Kitchen").id
    er.async_get(hass).async_update_entity(LIGHT, area_id=area)
    (box,) = (device for device in dr.async_get(hass).devices if device.name == "Kitchen box")
    dr.async_get(hass).async_update_device(box.id, area_id=area)
    converted: list[object] = []
    monkeypatch.setattr("homeassistant.components.tts._async_convert_audio", converted.append)
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    talk = await converse(device, speech.command)
    assert hass.states.is_state(LIGHT, "on")
    assert talk.answers == ["Turned on the switch"]
    assert not speech.voice.spoken
    assert any(talk.played)
    assert not converted


async def test_the_button_while_the_assistant_thinks_cancels_the_answer(
    speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    await speech.answer_with()
    speech.agent.may_go_on.clear()
    device = await boot()
    await device.wake()
    device.say(command)
    async with asyncio.timeout(20):
        await speech.agent.thinking.wait()
    await device.wait_state(State.SPEAKING, 5)
    await device.click()
    await device.wait_state(State.LISTENING, 5)
    assert device.played_seconds == 0
    assert not speech.voice.spoken
    await device.power_off()
    await until(lambda: states[-1] in {"idle", "unavailable"})


@pytest.mark.parametrize(("kind", "codec"), [("mp3", "libmp3lame"), ("wav", "pcm_s16le")])
async def test_no_engine_is_converted_and_its_first_silence_not_played(
    speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch, kind: str, codec: str
) -> None:
    asked: list[dict[str, Any]] = []

    async def speak(message: str, language: str, options: dict[str, Any]) -> tuple[str, bytes]:
        asked.append(options)
        late = bytes(2 * int(SAMPLE_RATE * 1.5)) + tone(1)[44:]
        return kind, make_media(kind, codec, late, SAMPLE_RATE)

    converted: list[object] = []
    monkeypatch.setitem(OTHER_FORMATS, "scripted", kind)
    monkeypatch.setattr(speech.voice, "async_get_tts_audio", speak)
    monkeypatch.setattr("homeassistant.components.tts._async_convert_audio", converted.append)
    speech.recognizer.lines = [COMMAND]
    talk = await converse(await boot(), command)
    assert len(asked) == 1
    assert not converted
    assert 0.95 < talk.played_seconds < 1.25


async def test_face_and_text_are_shown_also_without_a_complete_voice(
    speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neutral face, unless the text says otherwise; a long text in parts."""

    async def fail(request: TTSAudioRequest) -> TTSAudioResponse:
        async def speak() -> AsyncGenerator[bytes]:
            yield tone(0.5)
            async for _ in request.message_gen:
                pass
            raise OSError("out of order")

        return TTSAudioResponse("wav", speak())

    monkeypatch.setattr(speech.streaming_voice, "async_stream_tts_audio", fail)
    story = "This is the first sentence of a long story. This is the second. This is the last."
    long = "There is a **lot** to read. " * 30
    await speech.answer_with("It is noon.", "Oh no 😢", story, long, heard=[COMMAND] * 4)
    device = await boot()
    for word, face in (("hello", "neutral"), ("hello again", "crying")):
        assert (await converse(device, command, word=word)).emotions == ["thinking", face]
    await speech.use(tts_engine=speech.streaming_voice.entity_id)
    before = len(device.screen.captions)
    await say(device, command, "hi")
    *text, error = device.screen.captions[before:]
    assert " ".join(text) == story
    assert error.startswith("The voice is not ready.")
    await speech.use(tts_engine=None)
    before = len(device.screen.captions)
    await say(device, command, "hi again")
    captions = device.screen.captions[before:]
    assert all(len(caption) <= 300 for caption in captions)
    assert " ".join(captions) == long.replace("*", "").strip()


async def test_a_button_is_an_error_and_what_begins_a_conversation_told_once(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    satellite = entity_of(hass, SATELLITE)
    device = await boot()
    asked = asyncio.create_task(satellite.async_intercept_wake_word())
    await asyncio.sleep(0)
    await device.click()
    with pytest.raises(HomeAssistantError):
        await asked
    await device.wait_state(State.IDLE, 10)
    assert not speech.recognizer.streams

    # It is left to the person to begin.
    monkeypatch.setattr(XiaozhiSatellite, "_say", AsyncMock())
    await speech.answer_with("I close it.", "Good.", heard=[COMMAND] * 2)
    await satellite.async_internal_start_conversation(
        start_media_id="http://127.0.0.1/hello.wav",
        preannounce=False,
        extra_system_prompt="The garage door is open.",
    )
    await converse(device, speech.command)
    await converse(device, speech.command, word="hello again")
    assert speech.agent.extra_prompts == ["The garage door is open.", None]
    assert len({*speech.agent.conversations}) == 1


async def test_each_assistant_of_a_device_has_a_chat_history_of_its_own(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Assistants are chosen by wake word; what one was told is not for the other."""
    words = ["hello", "professor", "hello again", "teacher"]
    await speech.answer_with(*["Good."] * len(words), heard=[COMMAND] * len(words))
    first = async_get_pipeline(hass)
    other = await async_create_default_pipeline(hass, first.stt_engine or "", first.tts_engine or "", "Other")
    assert other is not None
    await async_update_pipeline(hass, other, conversation_engine=first.conversation_engine)
    change_settings(
        hass, boot.entry, **{CONF_WAKE_WORD_PIPELINES: {"professor": other.id, "teacher": other.id}}
    )
    device = await boot()
    for word in words:
        await converse(device, command, word=word)
    house, professor, house_again, professor_again = speech.agent.conversations
    assert house == house_again
    assert professor == professor_again
    assert house != professor


WAIT = "number.kitchen_box_conversation_wait"


async def set_wait(hass: HomeAssistant, seconds: float) -> None:
    await act(hass, "number", "set_value", WAIT, value=seconds)
    await hass.async_block_till_done()


@pytest.mark.usefixtures("all_enabled")
async def test_a_follow_up_that_nobody_speaks_in_ends_quietly_after_the_wait(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """The wait is stored with the device, and to change it disturbs no conversation."""
    await speech.answer_with("Which light?")
    device = await boot()
    assert hass.states.is_state(WAIT, "8")
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    for refused in (2, 31):
        with pytest.raises(ServiceValidationError):
            await set_wait(hass, refused)
    await set_wait(hass, 3)
    assert hass.states.is_state(WAIT, "3")
    (subentry,) = boot.entry.subentries.values()
    assert subentry.data["follow_up_wait"] == 3
    assert device.channel_open
    talk = await converse(device, command, patience=60)
    assert talk.answers == ["Which light?"]
    assert not talk.hung_up
    assert len(speech.recognizer.streams) <= 2
    states = [(event.time, event.data["state"]) for event in device.transcript if event.kind == "state"]
    (ended, idle), (listened, listening) = states[-1], states[-2]
    assert (listening, idle) == ("listening", "idle")
    assert ended - listened == pytest.approx(3, abs=1.5)


MICROPHONE = "switch.kitchen_box_microphone"


async def test_with_the_microphone_off_nothing_is_heard_and_the_screen_says_why(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """A conversation that goes on is ended, too."""
    device = await boot()
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    await act(hass, "switch", "turn_off", MICROPHONE)
    await device.wait_state(State.IDLE, 5)
    heard = len(speech.recognizer.streams)
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 60)
    assert "The microphone is switched off in Home Assistant." in str(device.transcript)
    assert len(speech.recognizer.streams) == heard
    assert hass.states.is_state(LIGHT, "off")
    await act(hass, "switch", "turn_on", MICROPHONE)
    await converse(device, command)
    assert len(speech.recognizer.streams) > heard


SENSOR = "sensor.kitchen_box_response_time"
PARTS = ["end_of_speech", "recognition", "assistant", "speech", "device", "speaking"]


@pytest.mark.usefixtures("all_enabled")
async def test_a_slow_voice_shows_in_its_part_of_the_response_time(
    hass: HomeAssistant, speech: Speech, boot: Boot, moments: list[dict[str, Any]]
) -> None:
    """And automations are told it, without what was said. A turn that fails leaves no times."""
    device = await boot()
    await wait_for_state(hass, SENSOR, "unknown")
    await speech.use(conversation_engine=speech.agent.entity_id)
    # Home Assistant would not have the same words spoken twice.
    speech.agent.lines = ["It is on now.", "It was on."]
    for speech.voice.delay in (0, 2):
        speech.recognizer.lines = [COMMAND]
        await converse(device, speech.command, word=f"hi {speech.voice.delay}")
        await hass.async_block_till_done()
    speech.recognizer.lines = [None]
    await say(device, speech.command, "hi again")
    report = await async_get_config_entry_diagnostics(hass, boot.entry)
    quick, slow = report["devices"][0]["turns"]
    answered = [moment for moment in moments if moment["event_type"] == "answered"]
    assert [event["response_time"] for event in answered] == [quick["response_time"], slow["response_time"]]
    assert answered[1]["assistant"] == slow["assistant"]
    assert not {"speaking", "text"} & answered[1].keys()
    assert [part for part in PARTS if part in slow] == [part for part in slow if part in PARTS]
    assert {"recognition", "assistant", "speech", "device", "speaking"} <= {*slow}
    assert slow["speech"] - quick["speech"] > 1500
    assert abs(slow["speaking"] - quick["speaking"]) < 1000
    state = state_of(hass, SENSOR)
    assert float(state.state) == pytest.approx(slow["response_time"], abs=0.001)
    waited = sum(part for name, part in slow.items() if name in PARTS and name != "speaking")
    assert 1000 * slow["response_time"] == pytest.approx(waited, abs=10)
    assert all(state.attributes[name] == slow[name] for name in slow if name in PARTS)
