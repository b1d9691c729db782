"""The judge of sentences in a real Home Assistant with its own recogniser."""

import asyncio
from collections.abc import Awaitable, Callable
import logging
from pathlib import Path
import threading
from typing import Any

from hassil.intents import Intents
from homeassistant.components import conversation
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.intent import async_register_timer_handler
from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_SUPPORTED_FEATURES, EVENT_CALL_SERVICE, MATCH_ALL
from homeassistant.core import Context, Event, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, device_registry as dr, intent
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.voice.sentences import Completeness, Sentences, knowledge
from custom_components.xiaozhi.voice.sentences.knowledge import Knowledge
from custom_components.xiaozhi.voice.sentences.recogniser import Hearing

# Seconds; a busy machine must not make a judgement late.
PATIENT = 300.0
MODEL = "conversation.model"
COMPLETE, DETAIL_MAY_FOLLOW, MAY_GO_ON, BEGINNING, UNKNOWN = Completeness

TEA = """
language: en
intents:
  MakeTea:
    data:
      - sentences: ["make [me] some tea"]
  MakeGreenTea:
    data:
      - sentences: ["make [me] some <green> tea [with {extra}]"]
        expansion_rules:
          green: "(green|matcha)"
        lists:
          extra:
            wildcard: true
"""

type Judge = Callable[..., Awaitable[Completeness]]


def expose(hass: HomeAssistant, entity_id: str, name: str, **attributes: Any) -> None:
    hass.states.async_set(entity_id, "off", {"friendly_name": name, **attributes})
    async_expose_entity(hass, "conversation", entity_id, should_expose=True)


@pytest.fixture
def config() -> dict[str, Any]:
    """What the owner has written into Home Assistant's configuration; tests that need more override this."""
    return {}


@pytest.fixture(autouse=True)
async def house(hass: HomeAssistant, home_assistant: None, config: dict[str, Any]) -> None:
    """A house with some exposed things, and a device in its kitchen."""
    assert await async_setup_component(hass, "intent", {})
    assert await async_setup_component(hass, "conversation", config)
    for area in ("Kitchen", "Bedroom"):
        ar.async_get(hass).async_create(area)
    expose(hass, "light.bedroom", "Bedroom Lamp")
    expose(hass, "light.desk_1", "Desk Lamp")
    expose(hass, "light.desk_2", "Desk Lamp")
    expose(hass, "lock.front", "Front Door")
    expose(hass, "cover.garage", "Garage Door", **{ATTR_DEVICE_CLASS: "garage"})
    hass.states.async_set("light.secret", "off", {"friendly_name": "Secret Lamp"})
    async_expose_entity(hass, "conversation", "light.secret", should_expose=False)


@pytest.fixture
def device_id(hass: HomeAssistant) -> str:
    """A device in the kitchen."""
    entry = MockConfigEntry()
    entry.add_to_hass(hass)
    kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert kitchen is not None
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("test", "device")}
    )
    dr.async_get(hass).async_update_device(device.id, area_id=kitchen.id)
    return device.id


@pytest.fixture
def judge(hass: HomeAssistant) -> Judge:
    """Judge as the gateway does, if there is enough time."""
    sentences = Sentences(hass, time_limit=PATIENT)

    async def judge(text: str, language: str = "en", agent_id: str | None = None, **how: Any) -> Completeness:
        asked = {"device_id": None, **how}
        return await sentences.judge(
            text, language=language, agent_id=agent_id or HOME_ASSISTANT_AGENT, **asked
        )

    return judge


@pytest.mark.parametrize(
    ("text", "completeness"),
    [
        ("Never mind.", COMPLETE),
        ("turn off the kitchen lights", COMPLETE),
        # Only one thing has this name, so "in the bedroom" would change nothing.
        ("Turn on the bedroom lamp!", COMPLETE),
        ("lock the front door", COMPLETE),
        # "right now", "%" or "percent" do not change a command.
        ("what time is it", COMPLETE),
        ("set the brightness of the bedroom lamp to 25", COMPLETE),
        # "in the kitchen": two have this name.
        ("turn on the desk lamp", MAY_GO_ON),
        # "and thirty seconds", "for pizza"
        ("set a timer for five minutes", DETAIL_MAY_FOLLOW),
        ("set a 10 minute timer", DETAIL_MAY_FOLLOW),
        # There are no timers of which one could be chosen.
        ("cancel the timer", COMPLETE),
        # "twenty - five"
        ("set the brightness of the bedroom lamp to 20", MAY_GO_ON),
        ("set the brightness of the bedroom lamp to twenty", MAY_GO_ON),
        # It is the only one, and cannot be opened "to 50 %".
        ("open the garage door", COMPLETE),
        # "to red"
        ("bedroom lamp", MAY_GO_ON),
        # "is ready": it ends in a wildcard.
        ("broadcast dinner", MAY_GO_ON),
        ("turn on the", BEGINNING),
        ("turn on the bedroom", BEGINNING),
        ("Set a timer for", BEGINNING),
        ("set a timer for five", BEGINNING),
        ("Please", BEGINNING),
        ("add milk", BEGINNING),
        ("who was the first person on the moon?", UNKNOWN),
        ("turn on the secret lamp", UNKNOWN),
        # A word is not left in its middle.
        ("turn on the bedroom la", UNKNOWN),
        ("...", UNKNOWN),
        ("", UNKNOWN),
    ],
)
async def test_a_text_is_complete_or_may_go_on_or_begins_a_command(
    judge: Judge, text: str, completeness: Completeness
) -> None:
    assert await judge(text) is completeness


async def test_a_command_for_the_room_is_known_where_the_device_has_a_room(
    judge: Judge, device_id: str
) -> None:
    # "in the bedroom" would be other lights.
    assert await judge("turn on the lights", device_id=device_id) is MAY_GO_ON
    assert await judge("stop", device_id=device_id) is MAY_GO_ON
    # They lack nothing but the room, so that they were not broken off.
    assert await judge("turn on the lights", device_id="gone") is UNKNOWN
    assert await judge("stop") is UNKNOWN
    assert await judge("stop the") is BEGINNING


async def test_opening_something_may_go_on_if_more_words_could_change_it(
    hass: HomeAssistant, judge: Judge
) -> None:
    door = "open the garage door"
    expose(hass, "cover.blind", "Bedroom Blind", **{ATTR_DEVICE_CLASS: "blind", ATTR_SUPPORTED_FEATURES: 15})
    assert await judge(door) is COMPLETE
    # "to 50 %", which is another command
    assert await judge("open the bedroom blind") is MAY_GO_ON
    garage = {ATTR_DEVICE_CLASS: "garage"}
    for features in (15, "unreadable"):
        expose(hass, "cover.garage", "Garage Door", **garage, **{ATTR_SUPPORTED_FEATURES: features})
        assert await judge(door) is MAY_GO_ON
    expose(hass, "cover.garage", "Garage Door", **garage, **{ATTR_SUPPORTED_FEATURES: 3})
    assert await judge(door) is COMPLETE
    # "in the bedroom" would be this one.
    expose(hass, "cover.carport", "Carport", **garage)
    assert await judge(door) is MAY_GO_ON


async def test_of_many_things_that_open_it_is_not_known_what_they_can_do(
    hass: HomeAssistant, judge: Judge
) -> None:
    for number in range(100):
        hass.states.async_set(f"valve.tap_{number}", "open")
    assert await judge("open the garage door") is MAY_GO_ON


async def test_a_command_for_a_timer_may_go_on_if_there_are_several(
    hass: HomeAssistant, judge: Judge, device_id: str
) -> None:
    async_register_timer_handler(hass, device_id, lambda *_: None)
    for name, expected in (("tea", COMPLETE), ("pizza", MAY_GO_ON)):
        slots = {"name": {"value": name}, "minutes": {"value": 5}}
        await intent.async_handle(hass, "test", intent.INTENT_START_TIMER, slots, device_id=device_id)
        assert await judge("pause the timer") is expected
    await intent.async_handle(hass, "test", intent.INTENT_CANCEL_ALL_TIMERS, device_id=device_id)


@pytest.mark.parametrize(
    ("language", "thing", "complete", "beginning"),
    [
        ("de", "Stehlampe", "Schalte die Stehlampe ein", "Schalte die"),
        ("en-GB", "Aquarium", "switch off the aquarium", "switch the"),
        ("fr", "lampe du salon", "Éteins la lampe du salon", "Éteins la"),
        ("zh-CN", "客厅吊灯", "把客厅吊灯关掉", "把客厅"),
        ("zh-TW", "客廳吊燈", "關閉客廳吊燈", "關閉客"),
        ("ja", "寝室ライト", "寝室ライトを消してください", "寝室ライトを"),
        ("es", "acuario", "Apaga el acuario", "Apaga el"),
    ],
)
async def test_every_language_of_the_recogniser_is_judged(
    hass: HomeAssistant, judge: Judge, language: str, thing: str, complete: str, beginning: str
) -> None:
    expose(hass, "light.other", thing)
    assert await judge(complete, language) is COMPLETE
    assert await judge(beginning, language) is BEGINNING


async def test_a_language_without_sentences_is_not_judged(judge: Judge) -> None:
    assert await judge("turn on the bedroom lamp", "tlh") is UNKNOWN
    assert await judge("turn on the bedroom lamp", "") is UNKNOWN


async def test_a_new_name_is_known_at_once(hass: HomeAssistant, judge: Judge) -> None:
    assert await judge("turn on the aquarium") is UNKNOWN
    expose(hass, "light.aquarium", "Aquarium")
    assert await judge("turn on the aquarium") is COMPLETE
    expose(hass, "light.aquarium_2", "Aquarium Heater")
    assert await judge("turn on the aquarium") is MAY_GO_ON
    hass.states.async_remove("light.aquarium_2")
    hass.states.async_remove("light.aquarium")
    assert await judge("turn on the aquarium") is UNKNOWN


@pytest.mark.parametrize(
    "config",
    [{"conversation": {"intents": {"MakeTea": ["make [me] some tea", "make some tea with {extra}"]}}}],
)
async def test_sentences_of_the_configuration_count(judge: Judge) -> None:
    assert await judge("make me some") is BEGINNING
    assert await judge("make me some tea") is COMPLETE


async def test_sentences_of_files_count_and_those_that_are_read_again(
    hass: HomeAssistant, judge: Judge, tmp_path: Path
) -> None:
    hass.config.config_dir = str(tmp_path)
    assert await judge("make me some") is UNKNOWN
    (tmp_path / "configuration.yaml").touch()
    folder = tmp_path / "custom_sentences" / "en"
    folder.mkdir(parents=True)
    (folder / "tea.yaml").write_text(TEA)
    await hass.services.async_call("conversation", "reload", {}, blocking=True)
    assert await judge("make me some") is BEGINNING
    assert await judge("make me some tea") is COMPLETE
    assert await judge("make me some green") is BEGINNING
    # "with milk": any words may follow.
    assert await judge("make me some green tea") is MAY_GO_ON
    assert await judge("make me some green tea with milk") is MAY_GO_ON


@pytest.fixture
async def fired(hass: HomeAssistant) -> list[str]:
    """Sentences that have started an automation."""
    started: list[str] = []

    async def note(call: ServiceCall) -> None:
        started.append(call.data["sentence"])

    hass.services.async_register("test", "note", note)
    automations = [
        {
            "alias": f"automation {number}",
            "triggers": {"trigger": "conversation", "command": sentences},
            "actions": {"action": "test.note", "data": {"sentence": "{{ trigger.sentence }}"}},
        }
        for number, sentences in enumerate(
            (["good night", "sleep well [now]"], ["good night everyone"], ["play {song} loudly"])
        )
    ]
    assert await async_setup_component(hass, "automation", {"automation": automations})
    return started


@pytest.mark.parametrize("agent_id", [HOME_ASSISTANT_AGENT, MODEL])
async def test_sentences_of_automations_count_whatever_agent_there_is(
    judge: Judge, fired: list[str], agent_id: str
) -> None:
    assert await judge("good night", agent_id=agent_id) is MAY_GO_ON
    assert await judge("good night everyone", agent_id=agent_id) is COMPLETE
    assert await judge("sleep well", agent_id=agent_id) is COMPLETE
    assert await judge("sleep", agent_id=agent_id) is BEGINNING
    assert await judge("play some music", agent_id=agent_id) is not COMPLETE
    assert await judge("play some music loudly", agent_id=agent_id) in {COMPLETE, MAY_GO_ON}
    assert not fired


async def test_another_agent_knows_commands_only_if_the_pipeline_prefers_them(
    hass: HomeAssistant, judge: Judge
) -> None:
    command, question = "turn on the bedroom lamp", "is the front door locked"
    assert await judge(command, agent_id=MODEL) is UNKNOWN
    assert await judge(command, agent_id=MODEL, prefer_local_intents=True) is COMPLETE
    assert await judge(question, agent_id=MODEL, prefer_local_intents=True) is COMPLETE
    # A model that controls the home gets questions about it.
    control = conversation.ConversationEntityFeature.CONTROL
    hass.states.async_set(MODEL, "unknown", {ATTR_SUPPORTED_FEATURES: control})
    assert await judge(command, agent_id=MODEL, prefer_local_intents=True) is COMPLETE
    assert await judge(question, agent_id=MODEL, prefer_local_intents=True) is not COMPLETE


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


async def answers(hass: HomeAssistant, **who: str | None) -> list[str]:
    """Return what the assistant answers to the texts in turn."""
    spoken = []
    for text in TEXTS:
        result = await conversation.async_converse(
            hass, text, None, Context(), language="en", agent_id=HOME_ASSISTANT_AGENT, **who
        )
        spoken.append(result.response.speech["plain"]["speech"])
    return spoken


@pytest.mark.parametrize("satellite_id", ["assist_satellite.box", None])
async def test_a_judgement_acts_on_nothing_and_changes_no_answer(
    hass: HomeAssistant, judge: Judge, fired: list[str], device_id: str, satellite_id: str | None
) -> None:
    """Also the answer that there is no such device, which a cached miss of the recogniser would cost."""
    called: list[Event[Any]] = []
    events: list[Event[Any]] = []

    async def switch(call: ServiceCall) -> None:
        hass.states.async_set(call.data["entity_id"][0], "on", {"friendly_name": "Bedroom Lamp"})

    hass.services.async_register("light", "turn_on", switch)
    hass.bus.async_listen(EVENT_CALL_SERVICE, called.append)
    hass.bus.async_listen(MATCH_ALL, events.append)
    for device in (device_id, None):
        for text in TEXTS:
            await judge(text, device_id=device)
    await hass.async_block_till_done()
    assert not events
    assert not fired
    assert not called
    judged = await answers(hass, device_id=device_id, satellite_id=satellite_id)
    assert fired == ["good night"]
    assert [event.data["service"] for event in called if event.data["domain"] == "light"] == ["turn_on"]
    agent = conversation.async_get_agent(hass)
    assert isinstance(agent, DefaultAgent)
    await agent.async_reload()
    hass.states.async_set("light.bedroom", "off", {"friendly_name": "Bedroom Lamp"})
    assert judged == await answers(hass, device_id=device_id, satellite_id=satellite_id)
    assert "barn" in judged[2]


async def test_a_warm_up_prepares_each_language_once(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, fired: list[str]
) -> None:
    prepared: list[str] = []
    original = knowledge.Grammar

    def prepare(intents: Intents, language: str) -> knowledge.Grammar:
        prepared.append(language)
        return original(intents, language)

    monkeypatch.setattr(knowledge, "Grammar", prepare)
    sentences = Sentences(hass, time_limit=PATIENT)
    for _ in range(2):
        await sentences.warm("de", MODEL, prefer_local_intents=True)
        # Only the sentences of automations, which were prepared before.
        await sentences.warm("tlh", HOME_ASSISTANT_AGENT)
        await sentences.warm("de", MODEL)
    assert prepared == ["de", "de"]
    judged = await sentences.judge(
        "schalte die", language="de", agent_id=MODEL, device_id=None, prefer_local_intents=True
    )
    assert judged is BEGINNING
    assert len(prepared) == 2
    assert not fired


async def test_only_some_languages_are_kept(judge: Judge) -> None:
    for language, text in (
        ("de", "schalte"),
        ("fr", "éteins"),
        ("es", "apaga"),
        ("it", "accendi"),
        ("nl", "zet"),
    ):
        assert await judge(text, language) is BEGINNING
    assert await judge("schalte", "de") is BEGINNING


async def test_what_takes_too_long_is_unknown_and_the_next_waits_for_it(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread cannot be stopped, and more of them would make everything slower."""
    original = Knowledge._judge
    may_end = threading.Event()
    running: list[str] = []

    def slow(knowledge: Knowledge, hearing: Hearing, deadline: float) -> Completeness:
        running.append(hearing.text)
        assert may_end.wait(20)
        return original(knowledge, hearing, deadline)

    monkeypatch.setattr(Knowledge, "_judge", slow)
    sentences = Sentences(hass, time_limit=0.2)

    async def judged(text: str) -> Completeness:
        return await sentences.judge(text, language="en", agent_id=None, device_id=None)

    assert await asyncio.gather(*map(judged, ("never mind", "turn on", "turn off"))) == [UNKNOWN] * 3
    assert running == ["never mind"]
    may_end.set()
    patient = Sentences(hass, time_limit=PATIENT)
    assert await patient.judge("never mind", language="en", agent_id=None, device_id=None) is COMPLETE


async def test_a_long_text_is_not_judged(judge: Judge) -> None:
    assert await judge("turn on the " * 20) is UNKNOWN


async def test_many_names_are_judged(hass: HomeAssistant, judge: Judge) -> None:
    for number in range(2000):
        expose(hass, f"light.many_{number}", f"Lamp number {number}")
    assert await judge("turn on lamp number") is BEGINNING
    assert await judge("turn on lamp number 1999") is COMPLETE


@pytest.mark.parametrize("missing", ["_make_slot_lists", "async_get_or_load_intents"])
async def test_a_changed_recogniser_is_told_once_and_then_left_alone(
    hass: HomeAssistant,
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    missing: str,
) -> None:
    asked: list[str] = []

    class Gone:
        def __get__(self, *_: object) -> object:
            asked.append(missing)
            raise AttributeError(missing)

    with monkeypatch.context() as changed:
        changed.setattr(DefaultAgent, missing, Gone())
        for _ in range(5):
            assert await judge("never mind") is UNKNOWN
    assert len(asked) == 3
    assert await judge("never mind") is UNKNOWN
    told = [record for record in caplog.records if "pauses alone" in record.message]
    assert len(told) == 1
    assert told[0].levelno == logging.ERROR


async def test_a_part_of_the_recogniser_that_cannot_be_imported_breaks_nothing_else(
    hass: HomeAssistant, judge: Judge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise ImportError("hassil has moved")

    monkeypatch.setattr("custom_components.xiaozhi.voice.sentences.judge.async_import_module", fail)
    for _ in range(2):
        assert await judge("never mind") is UNKNOWN
    assert caplog.text.count("pauses alone") == 1


async def test_one_text_that_fails_does_not_switch_the_judge_off(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Knowledge._judge

    def fail(knowledge: Knowledge, hearing: Hearing, deadline: float) -> Completeness:
        if "boom" in hearing.text:
            raise RecursionError
        return original(knowledge, hearing, deadline)

    monkeypatch.setattr(Knowledge, "_judge", fail)
    for _ in range(4):
        assert await judge("boom") is UNKNOWN
        assert await judge("never mind") is COMPLETE
