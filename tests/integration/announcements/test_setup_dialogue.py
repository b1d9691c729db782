"""What Home Assistant's voice set-up dialogue asks, and which assistant answers to a wake word."""

from typing import Any

from homeassistant.components.assist_pipeline import async_create_default_pipeline, async_update_pipeline
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.const import CONF_WAKE_WORD_PIPELINES
from simulator import State, converse
from simulator.application.announcement import Outcome
from tests.integration.boxes import Speech, change_settings
from tests.integration.names import COMMAND, NEW, OLD, SATELLITE, Boot
from tests.integration.provisioning.forms import change_device, submit_device

pytestmark = pytest.mark.usefixtures("ffmpeg", "websocket_api")


@pytest.fixture
async def websocket_api(hass: HomeAssistant, home_assistant: None) -> None:
    """What the dialogue asks over; it must be there before the web server starts."""
    assert await async_setup_component(hass, "websocket_api", {})


async def test_the_dialogue_ends_without_an_error(
    hass: HomeAssistant, boot: Boot, speech: Speech, hass_ws_client: WebSocketGenerator
) -> None:
    device = await boot(NEW)
    # Home Assistant may not be reached from within at the address that its owner has set.
    hass.config.internal_url = "http://192.0.2.1:8123"
    client = await hass_ws_client(hass)

    async def call(kind: str, **data: Any) -> Any:
        await client.send_json_auto_id({"type": f"assist_satellite/{kind}", "entity_id": SATELLITE, **data})
        answer = await client.receive_json()
        assert answer["success"], answer
        return answer["result"]

    configuration = await call("get_configuration")
    # Until the device has told of a wake word, the dialogue has no step for it.
    assert configuration["available_wake_words"] == []
    assert await call("test_connection") == {"status": "success"}
    assert (await device.wait_announced()).outcome is Outcome.PLAYED
    speech.recognizer.lines = [COMMAND]
    await converse(device, speech.command, word="hi xiaozhi")
    configuration = await call("get_configuration")
    heard, *others = configuration["available_wake_words"]
    assert heard == {"id": "hi xiaozhi", "wake_word": "hi xiaozhi", "trained_languages": []}
    assert {"id": "wn9_jarvis_tts", "wake_word": "Jarvis", "trained_languages": ["en"]} in others
    assert configuration["active_wake_words"] == ["hi xiaozhi"]
    assert configuration["pipeline_entity_id"] == "select.kitchen_box_assistant"
    # It listens for the wake word twice, and no pipeline runs.
    streams = len(speech.recognizer.streams)
    for _ in range(2):
        await call("intercept_wake_word")
        await device.wake("hi xiaozhi")
        event = await client.receive_json()
        assert event["event"] == {"wake_word_phrase": "hi xiaozhi"}
        await device.wait_state(State.IDLE, 10)
    assert len(speech.recognizer.streams) == streams
    await call("set_wake_words", wake_word_ids=["hi xiaozhi"])
    await client.send_json_auto_id(
        {"type": "assist_satellite/set_wake_words", "entity_id": SATELLITE, "wake_word_ids": ["computer"]}
    )
    assert not (await client.receive_json())["success"]


async def test_the_dialogue_goes_on_for_a_device_that_cannot_speak_while_idle(
    hass: HomeAssistant, boot: Boot, hass_ws_client: WebSocketGenerator
) -> None:
    device = await boot(OLD)
    # An announcement for others is over.
    data = {"message": "Dinner is ready.", "area_id": "elsewhere"}
    await hass.services.async_call("assist_satellite", "announce", data, blocking=True)
    client = await hass_ws_client(hass)
    await client.send_json_auto_id({"type": "assist_satellite/test_connection", "entity_id": SATELLITE})
    assert (await client.receive_json())["result"] == {"status": "success"}
    assert not device.announcements


async def test_a_wake_word_may_have_an_assistant_of_its_own(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    device = await boot(NEW)
    other = await async_create_default_pipeline(
        hass, speech.recognizer.entity_id, speech.voice.entity_id, "Other"
    )
    assert other is not None
    await async_update_pipeline(hass, other, conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Which light?", "It is on."]
    speech.recognizer.lines = [COMMAND, COMMAND, "the second one", COMMAND]
    # Home Assistant takes the same word within two seconds for one that another satellite has heard. So each
    # is said once.
    assert (await converse(device, command, word="hello")).answers == ["Turned on the switch"]
    form = await choose(hass, boot.entry, {"hello": other.id})
    assert words_of(form) == ["hello"]
    # Also for a word that the device has not told of.
    chosen = {"hi xiaozhi": other.id, "computer": "deleted", "jarvis": "preferred"}
    change_settings(hass, boot.entry, **{CONF_WAKE_WORD_PIPELINES: chosen})
    # The assistant that the wake word has chosen hears the whole conversation.
    talk = await converse(device, command, command, word="hi xiaozhi")
    assert talk.answers == ["Which light?", "It is on."]
    # An assistant that was deleted makes place for the usual one.
    assert (await converse(device, command, word="computer")).answers == ["Turned on the switch"]
    form = await choose(hass, boot.entry, {})
    assert words_of(form) == ["computer", "hi xiaozhi", "hello", "jarvis"]


def words_of(form: Any) -> list[str]:
    return [*form["data_schema"].schema[CONF_WAKE_WORD_PIPELINES].schema.schema]


async def choose(hass: HomeAssistant, entry: MockConfigEntry, pipelines: dict[str, str]) -> Any:
    """Choose assistants in the form of the device; return the form."""
    form = await change_device(hass, entry)
    result = await submit_device(hass, form, **{CONF_WAKE_WORD_PIPELINES: pipelines})
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    await hass.async_block_till_done()
    return form
