"""Programs that are no device are served like one."""

import asyncio
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import Event, EventStateChangedData, HomeAssistant
from homeassistant.helpers.event import async_track_state_change_event
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import OTA_PATH
from tests.integration.boxes import COMMAND, LIGHT, Speech, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.links import pc_client
from tests.integration.links.pc_client import PcClient, check_in

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """The client."""
    return (paired_device(pc_client.MAC, pc_client.CLIENT_ID),)


async def test_a_client_on_a_computer_talks_like_a_device(
    hass: HomeAssistant,
    speech: Speech,
    linked_entry: Any,
    hass_client_no_auth: ClientSessionGenerator,
    command: bytes,
) -> None:
    """Its 20 ms packets are understood, its answer is heard to the end, and it is let go without a fuss."""
    speech.recognizer.lines = [COMMAND]
    settings = (await check_in(await hass_client_no_auth(), OTA_PATH))["websocket"]
    async with PcClient.connected(settings) as client:
        await client.converse(command)
        assert hass.states.is_state(LIGHT, "on")
        assert (await client.wait_for("stt"))["text"] == COMMAND
        assert (await client.wait_for("tts", state="sentence_start"))["text"]
        await client.wait_for("mcp")
        # 60 ms each, as our hello announces: half a second of speech at the least.
        assert len(client.packets) > 8
        (heard,) = speech.recognizer.streams
        # It lists no tool, so none is called: some clients answer a call of an unknown one with silence.
        assert "tools/call" not in client.methods
        # A second before it and some after, and no silence between the packets.
        assert len(command) < len(heard) < len(command) + 3.2 * 32000
    assert client.close_code == 1000
    await wait_for_state(hass, "sensor.kitchen_box_conversation_state", "idle")


async def test_a_question_that_is_typed_is_answered(
    hass: HomeAssistant,
    speech: Speech,
    linked_entry: Any,
    hass_client_no_auth: ClientSessionGenerator,
) -> None:
    """Such clients open the microphone first, and want emoji and session id in what they are sent."""
    heard: list[str | None] = []

    def changed(event: Event[EventStateChangedData]) -> None:
        if (state := event.data["new_state"]) is not None:
            heard.append(state.attributes.get("event_type"))

    async_track_state_change_event(hass, ["event.kitchen_box_conversation"], changed)
    settings = (await check_in(await hass_client_no_auth(), OTA_PATH))["websocket"]
    async with PcClient.connected(settings) as client:
        await client.ask(COMMAND)
        assert hass.states.is_state(LIGHT, "on")
        assert (await client.wait_for("stt"))["text"] == COMMAND
        assert len(client.packets) > 8
        assert not [text for text in speech.recognizer.streams if text]
        session_id = (await client.wait_for("hello"))["session_id"]
        shown = [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
        assert {message["session_id"] for message in shown} == {session_id}
        faces = [(message["emotion"], message["text"]) for message in shown if message["type"] == "llm"]
        assert ("thinking", "🤔") in faces
    assert "heard" in heard
    assert "wake_word" not in heard


async def test_a_microphone_that_is_stopped_before_anything_was_said_ends_quietly(
    speech: Speech, linked_entry: Any, hass_client_no_auth: ClientSessionGenerator
) -> None:
    settings = (await check_in(await hass_client_no_auth(), OTA_PATH))["websocket"]
    async with PcClient.connected(settings) as client:
        await client.give_up()
        assert not [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
        assert not [text for text in speech.recognizer.streams if text]


async def test_nothing_is_read_of_a_client_that_has_not_opened_its_microphone_yet(
    linked_entry: Any, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """A tool would keep a device from it that still plays a sound of its own."""
    settings = (await check_in(await hass_client_no_auth(), OTA_PATH))["websocket"]
    async with PcClient.connected(settings) as client:
        await client.hello()
        await client.wait_for_method("tools/list")
        await asyncio.sleep(2)
        assert client.methods == ["initialize", "notifications/initialized", "tools/list"]
