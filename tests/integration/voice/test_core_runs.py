"""What Home Assistant does around a run of the pipeline, it also does around ours."""

import asyncio

from homeassistant.components.assist_pipeline import async_get_pipeline
from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.components.assist_satellite.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.assist_satellite import XiaozhiSatellite
from custom_components.xiaozhi.const import CONF_WAKE_WORD_PIPELINES
from simulator import State, converse
from tests.integration.boxes import COMMAND, SATELLITE, Boot, Speech, change_settings


def satellite(hass: HomeAssistant) -> AssistSatelliteEntity:
    entity = hass.data[DATA_COMPONENT].get_entity(SATELLITE)
    assert entity is not None
    return entity


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
    change_settings(
        hass, linked_entry, **{CONF_WAKE_WORD_PIPELINES: {"professor": other.id, "teacher": other.id}}
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
