"""Whether Home Assistant understands what was said so far, asked of its own recogniser."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.components import conversation
from homeassistant.components.assist_pipeline import async_get_pipeline
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import ATTR_SUPPORTED_FEATURES, EVENT_CALL_SERVICE, MATCH_ALL
from homeassistant.core import Context, Event, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.spoken.language import load_language
from custom_components.xiaozhi.guests.spoken.sentences import sentences
from custom_components.xiaozhi.intent import async_setup_intents
from custom_components.xiaozhi.voice.understood_commands import UnderstoodCommands

MODEL = "conversation.model"

type Understands = Callable[..., Awaitable[bool]]


def expose(hass: HomeAssistant, entity_id: str, name: str) -> None:
    hass.states.async_set(entity_id, "off", {"friendly_name": name})
    async_expose_entity(hass, "conversation", entity_id, should_expose=True)


@pytest.fixture(autouse=True)
async def house(hass: HomeAssistant, home_assistant: None) -> None:
    assert await async_setup_component(hass, "assist_pipeline", {})
    expose(hass, "light.bedroom", "Bedroom Lamp")
    expose(hass, "lock.front", "Front Door")
    hass.states.async_set("light.secret", "off", {"friendly_name": "Secret Lamp"})
    async_expose_entity(hass, "conversation", "light.secret", should_expose=False)


@pytest.fixture
def device_id(hass: HomeAssistant) -> str:
    """A device in the kitchen of a house with a bedroom."""
    entry = MockConfigEntry()
    entry.add_to_hass(hass)
    kitchen, _ = (ar.async_get(hass).async_create(area) for area in ("Kitchen", "Bedroom"))
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("test", "device")}
    )
    dr.async_get(hass).async_update_device(device.id, area_id=kitchen.id)
    return device.id


@pytest.fixture
def understands(hass: HomeAssistant) -> Understands:
    commands = UnderstoodCommands(hass)

    async def understands(
        text: str,
        device_id: str | None = None,
        agent_id: str = HOME_ASSISTANT_AGENT,
        language: str = "en",
        *,
        prefer_local: bool = False,
    ) -> bool:
        pipeline = replace(
            async_get_pipeline(hass),
            conversation_engine=agent_id,
            conversation_language=language,
            prefer_local_intents=prefer_local,
            stt_language="en",
        )
        return await commands.async_is_understood(text, pipeline, device_id)

    return understands


async def test_a_command_is_understood(understands: Understands, device_id: str) -> None:
    for text, is_understood in {
        "Never mind.": True,
        "Turn on the bedroom lamp!": True,
        "set a timer for five minutes": True,
        "turn on the": False,
        "set a timer for five": False,
        "turn on the secret lamp": False,
        # "is ready": a message may go on.
        "broadcast dinner": False,
        # The room of a device is needed.
        "turn on the lights": False,
        "who was the first person on the moon?": False,
        "...": False,
        "turn on the bedroom lamp " * 20: False,
    }.items():
        assert await understands(text) is is_understood, text
    assert await understands("turn on the lights", device_id)
    assert not await understands("turn on the lights", "gone")


@pytest.mark.own_home
async def test_the_language_of_the_pipeline_counts(hass: HomeAssistant, understands: Understands) -> None:
    for language, entity_id, thing, text in (
        ("zh-CN", "light.living_room", "客厅吊灯", "把客厅吊灯关掉"),
        # An assistant that speaks every language: that of the speech recognition counts.
        (MATCH_ALL, "light.aquarium", "Aquarium", "switch off the aquarium"),
    ):
        assert not await understands(text, language=language)
        expose(hass, entity_id, thing)
        assert await understands(text, language=language)
        assert not await understands(text, language="tlh")


@pytest.fixture
async def fired(hass: HomeAssistant) -> list[str]:
    """Sentences that have started an automation."""
    started: list[str] = []

    async def note(call: ServiceCall) -> None:
        started.append(call.data["sentence"])

    hass.services.async_register("test", "note", note)
    automation = {
        "triggers": {"trigger": "conversation", "command": ["good night", "play {song} [loudly]"]},
        "actions": {"action": "test.note", "data": {"sentence": "{{ trigger.sentence }}"}},
    }
    assert await async_setup_component(hass, "automation", {"automation": [automation]})
    return started


@pytest.mark.parametrize("agent_id", [HOME_ASSISTANT_AGENT, MODEL])
async def test_sentences_of_automations_count_whatever_assistant_there_is(
    understands: Understands, fired: list[str], agent_id: str
) -> None:
    assert await understands("Good night.", agent_id=agent_id)
    assert not await understands("good", agent_id=agent_id)
    # The title may go on.
    assert not await understands("play some music", agent_id=agent_id)
    assert not fired


async def test_another_assistant_leaves_commands_only_if_the_pipeline_says_so(
    hass: HomeAssistant, understands: Understands
) -> None:
    command, question = "turn on the bedroom lamp", "is the front door locked"
    assert not await understands(command, agent_id=MODEL)
    assert await understands(command, agent_id=MODEL, prefer_local=True)
    assert await understands(question, agent_id=MODEL, prefer_local=True)
    # A model that controls the home gets questions about it.
    control = conversation.ConversationEntityFeature.CONTROL
    hass.states.async_set(MODEL, "unknown", {ATTR_SUPPORTED_FEATURES: control})
    assert await understands(command, agent_id=MODEL, prefer_local=True)
    assert not await understands(question, agent_id=MODEL, prefer_local=True)


TEXTS = (
    "turn on the bedroom lamp",
    "turn on the secret lamp",
    "lock the barn",
    "turn on the lights in the cellar",
    "good night",
    "set a timer for five minutes",
    "open the",
    "who are you",
)


async def answers(hass: HomeAssistant, device_id: str) -> list[str]:
    agent = HOME_ASSISTANT_AGENT
    box = {"device_id": device_id, "satellite_id": "assist_satellite.box"}
    spoken = []
    for text in TEXTS:
        result = await conversation.async_converse(
            hass, text, None, Context(), language="en", agent_id=agent, **box
        )
        spoken.append(result.response.speech["plain"]["speech"])
    return spoken


async def test_to_ask_acts_on_nothing_and_changes_no_answer(
    hass: HomeAssistant, understands: Understands, fired: list[str], device_id: str
) -> None:
    """Also the answer that there is no such device, which a cached miss of the recogniser would cost."""
    called: list[Event[Any]] = []
    events: list[Event[Any]] = []

    async def switch(call: ServiceCall) -> None:
        hass.states.async_set(call.data["entity_id"][0], "on", {"friendly_name": "Bedroom Lamp"})

    hass.services.async_register("light", "turn_on", switch)
    hass.bus.async_listen(EVENT_CALL_SERVICE, called.append)
    hass.bus.async_listen(MATCH_ALL, events.append)
    for text in TEXTS:
        await understands(text, device_id)
    await hass.async_block_till_done()
    assert not events
    assert not fired
    assert not called
    asked = await answers(hass, device_id)
    assert fired == ["good night"]
    assert [event.data["service"] for event in called if event.data["domain"] == "light"] == ["turn_on"]
    agent = conversation.async_get_agent(hass)
    assert isinstance(agent, DefaultAgent)
    await agent.async_reload()
    hass.states.async_set("light.bedroom", "off", {"friendly_name": "Bedroom Lamp"})
    assert asked == await answers(hass, device_id)
    assert "barn" in asked[2]


async def test_a_changed_recogniser_understands_nothing_and_is_told_of_once(
    understands: Understands, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(DefaultAgent, "async_recognize_intent")
    for _ in range(2):
        assert not await understands("turn on the bedroom lamp")
    assert caplog.text.count("Home Assistant has changed inside") == 1


async def test_a_result_without_its_parts_is_no_command(
    understands: Understands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DefaultAgent, "async_recognize_intent", AsyncMock(return_value=object()))
    assert not await understands("turn on the bedroom lamp")


def write_sentences(hass: HomeAssistant) -> None:
    folder = Path(hass.config.path("custom_sentences", "en"))
    folder.mkdir(parents=True)
    (folder / "xiaozhi.yaml").write_text(sentences(load_language("en"), "en"), encoding="utf-8")


@pytest.mark.own_home
async def test_a_sentence_of_ours_that_lacks_a_time_may_go_on(
    hass: HomeAssistant, understands: Understands
) -> None:
    write_sentences(hass)
    await async_setup_intents(hass)
    for text, is_understood in {
        "wake me": False,
        "wake me tomorrow": False,
        "wake me tomorrow at seven": True,
        "remind me tomorrow": False,
        # Not a time of any day.
        "wake me at 25:70": False,
        "what alarms do I have": True,
        "stop the alarm": True,
    }.items():
        assert await understands(text) is is_understood, text
