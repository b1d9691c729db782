"""What has been said decides how long somebody may pause.

The recogniser is a real server, which works on each call to its end.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType, async_get_pipelines
from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE
from homeassistant.const import EVENT_STATE_CHANGED, Platform
from homeassistant.core import Context, HomeAssistant, State as EntityState
from homeassistant.loader import async_get_loaded_integration
from homeassistant.util import slugify
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.xiaozhi.assist_satellite import XiaozhiSatellite
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State, get_profile
from tests.integration.boxes import Speech, act, call_action, choose, paired_boxes
from tests.integration.home import remember
from tests.integration.http_device import MakeEntry, add_to, paired_device, running
from tests.integration.names import CLIENT_ID, COMMAND, LIGHT, MAC, OTHER_MAC, SATELLITE, Boot
from tests.integration.speech import ProgressiveSpeechToText, add_entities

from .whisper import Whisper

pytestmark = pytest.mark.usefixtures("all_enabled")

OFF = "turn off the kitchen light"
SILENCE = bytes(32000 // 10)
TOLD = "event.kitchen_box_conversation"


@pytest.fixture
async def whisper(
    hass: HomeAssistant, speech: Speech, request: pytest.FixtureRequest
) -> AsyncGenerator[Whisper]:
    """The recogniser of the preferred pipeline; it hears the command."""
    server = Whisper(getattr(request, "param", "faster-whisper"), hears=lambda _: COMMAND)
    async with server.serve():
        entry = MockConfigEntry(domain="wyoming", data={"host": "127.0.0.1", "port": server.port})
        entry.add_to_hass(hass)
        assert await hass.config_entries.async_setup(entry.entry_id)
        await speech.use(stt_engine=f"stt.{slugify(server.name)}", language="en", conversation_language="en")
        yield server
        assert await hass.config_entries.async_unload(entry.entry_id)


@dataclass
class Turn:
    """What became of a turn."""

    heard: list[str]
    """What the device shows as heard."""
    waited: float
    """Seconds from the end of what was said to the transcript."""
    answered: dict[str, Any]
    """Attributes of the event *Answered*; empty if there was none."""


def run_of(hass: HomeAssistant) -> list[PipelineEvent]:
    """Return the events of the last run, as the pipeline debugger shows them."""
    (pipeline,) = async_get_pipelines(hass)
    runs = hass.data[KEY_ASSIST_PIPELINE].pipeline_debug[pipeline.id]
    return [*runs.values()][-1].events


async def say(hass: HomeAssistant, device: SimulatedDevice, sound: bytes, word: str = "hello") -> Turn:
    """Say something, and wait for the end of the conversation."""
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)
    now = asyncio.get_running_loop().time

    def heard() -> list[str]:
        messages = [event.data["message"] for event in device.transcript[first:] if event.kind == "received"]
        return [message["text"] for message in messages if message["type"] == "stt"]

    first = len(device.transcript)
    await device.wake(word)
    await device.wait_state(State.LISTENING, 10)
    device.say(sound)
    await device.wait_said(20)
    said = now()
    await device.wait_for(lambda: bool(heard()), 60)
    waited = now() - said
    await device.wait_state(State.IDLE, 20)
    await hass.async_block_till_done()
    events = [change.data["new_state"].attributes for change in changes if change.data["entity_id"] == TOLD]
    answers = [dict(attributes) for attributes in events if attributes["event_type"] == "answered"]
    return Turn(heard(), waited, answers[-1] if answers else {})


async def test_what_has_been_said_decides_how_long_the_pause_may_last(
    speech: Speech, whisper: Whisper, boot: Boot, states: list[str]
) -> None:
    device = await boot()
    for language, transcript, heard, decided, least in (
        # Only a language model would know, or it is the beginning of a command.
        ("en", "set a timer for", "set a timer for", "pause", 0.9),
        # Whisper writes traditional characters.
        ("zh-CN", "設置一個五分鐘的計時器", "设置一个五分钟的计时器", "complete_command", 0.4),
        ("en", COMMAND, COMMAND, "complete_command", 0.4),
    ):
        await speech.use(language=language, stt_language=language[:2], conversation_language=language)
        whisper.hears = lambda _, transcript=transcript: transcript
        whisper.calls.clear()
        states.clear()
        turn = await say(speech.hass, device, speech.command, f"hello {heard}")
        assert turn.heard == [heard]
        assert turn.answered["ended_by"] == decided
        assert least < turn.waited < least + 0.35
        assert len(whisper.calls) == 1
        assert speech.hass.states.is_state(LIGHT, "on" if heard == COMMAND else "off")
        assert states == ["listening", "processing", "responding", "idle"]


@pytest.mark.parametrize("first", [COMMAND, None], ids=["command", "failure"])
async def test_somebody_who_speaks_on_is_heard_to_the_end(
    hass: HomeAssistant, whisper: Whisper, boot: Boot, command: bytes, first: str | None
) -> None:
    """Whatever the engine makes of the first half."""
    whisper.hears = lambda seconds: first if seconds < 1.8 else OFF
    device = await boot()
    turn = await say(hass, device, command + SILENCE * 3 + command)
    assert turn.heard == [OFF]
    assert len(whisper.calls) == 2
    assert [event.type for event in run_of(hass)].count(PipelineEventType.INTENT_START) == 1


async def test_a_device_learns_how_long_people_pause_and_from_cutting_them_off(
    hass: HomeAssistant, whisper: Whisper, boot: Boot, command: bytes
) -> None:
    whisper.hears = lambda _: "tell me a story"
    device = await boot()
    boot.known.record.update(pauses=(0,) * 100)
    turn = await say(hass, device, command)
    assert turn.answered["ended_by"] == "pause"
    assert 0.5 < turn.waited < 0.85
    assert boot.known.state.pauses == (0,) * 100
    await say(hass, device, command + SILENCE * 4 + command, "hello you")
    assert 35 <= boot.known.state.pauses[-1] <= 50
    # Somebody who says the wake word again, as soon as the pause is over, had not finished.
    await device.wake("hello again")
    await device.wait_state(State.LISTENING, 10)
    device.say(command)
    await device.wait_said(20)
    await asyncio.sleep(1)
    await device.wake("hello once more")
    await device.wait_state(State.IDLE, 60)
    await hass.async_block_till_done()
    assert boot.known.state.pauses[-1] == -60
    await say(hass, device, command, "hello at last")
    shown = hass.states.get("sensor.kitchen_box_response_time")
    assert shown is not None
    assert 0.7 < shown.attributes["patience"] < 0.76
    assert shown.attributes["cut_off"] == 1


async def test_a_question_after_a_short_answer_teaches_no_patience(
    hass: HomeAssistant, whisper: Whisper, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Nobody was cut off who has heard the answer to its end."""
    await speech.answer_with("Ok.", "Ok.")
    await speech.use(stt_engine=f"stt.{slugify(whisper.name)}")
    whisper.hears = lambda _: "tell me a story"
    device = await boot()
    for word in ("hello", "hello again"):
        turn = await say(hass, device, command, word)
        assert turn.answered["ended_by"] == "pause"
    assert boot.known.state.pauses == (0, 0)


async def test_speaking_on_in_the_moment_of_the_decision_is_heard_once(
    whisper: Whisper, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """Either the first half has ended the turn, or both are one command; never two, and none is lost."""
    whisper.hears = lambda seconds: COMMAND if seconds < 1.8 else OFF
    device = await boot()
    for number, gap in enumerate((0.36, 0.48, 0.6)):
        with subtests.test(gap=gap):
            turn = await say(
                boot.hass, device, command + bytes(2 * round(16000 * gap)) + command, f"hi {number}"
            )
            assert turn.heard in ([COMMAND], [OFF])
            run = [event.type for event in run_of(boot.hass)]
            assert run.count(PipelineEventType.INTENT_START) == 1
            assert boot.hass.states.is_state(LIGHT, "on" if turn.heard == [COMMAND] else "off")


async def test_a_turn_looks_the_same_whoever_asks_the_engine(
    whisper: Whisper, boot: Boot, command: bytes, states: list[str]
) -> None:
    """The pipeline gets what was understood, and its debugger shows all that comes after the transcript."""
    device = await boot()
    turns: list[Any] = []
    for option in ("quick_and_patient", "default"):
        states.clear()
        await choose(boot.hass, SELECT, option)
        turn = await say(boot.hass, device, command, f"hi {option}")
        events = [(event.type, event.data or {}) for event in run_of(boot.hass)]
        later = [kind for kind, _ in events if not kind.startswith("stt-")]
        (given,) = [data["intent_input"] for kind, data in events if "intent_input" in data]
        turns.append((turn.heard, given, later, [*states]))
    assert turns[0] == turns[1]
    assert turns[0][:2] == ([COMMAND], COMMAND)


@pytest.mark.skipif(not hasattr(stt, "PartialSpeechResult"), reason="since Home Assistant 2026.11")
async def test_an_engine_with_progress_is_asked_once_and_shown_meanwhile(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    engine = ProgressiveSpeechToText()
    engine._attr_unique_id = engine._attr_name = "progressive"
    await add_entities(hass, "progressive", {Platform.STT: [engine]})
    await speech.use(stt_engine=engine.entity_id)
    for line, board, shows, ended_by in (
        (COMMAND, "lamp", True, "complete_command"),
        (f"{COMMAND} now or later", "lamp", True, "pause"),
        # Its screen adds a line for each text.
        (COMMAND, "s3", False, "complete_command"),
    ):
        engine.lines = [line]
        device = await boot(get_profile(board))
        turn = await say(hass, device, command, f"hello {board} {line}")
        assert turn.answered["ended_by"] == ended_by
        assert (len(turn.heard) > 3) == shows
        assert all(line.startswith(heard) for heard in turn.heard)
        assert turn.heard[-1] == line
        assert len(turn.heard) - len({*turn.heard}) <= 1, "only the whole is shown again, at the end"
        await device.power_off()
    assert len(engine.streams) == 3


@pytest.mark.parametrize(
    ("fault", "least", "most"), [("a call in vain", 1.2, 1.6), ("an engine that hangs once", 10, 12)]
)
async def test_at_worst_a_turn_is_as_slow_as_a_pause_and_takes_a_call_more(
    whisper: Whisper, hass: HomeAssistant, boot: Boot, command: bytes, fault: str, least: float, most: float
) -> None:
    if fault == "a call in vain":
        whisper.hears = lambda _: "" if len(whisper.calls) == 1 else COMMAND
    else:
        whisper.hangs = 1
    turn = await say(hass, await boot(), command)
    assert turn.heard == [COMMAND]
    assert turn.answered["ended_by"] == "pause"
    assert least < turn.waited < most
    assert len(whisper.calls) == 2


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_an_answer_to_a_question_is_no_command(
    hass: HomeAssistant, whisper: Whisper, boot: Boot, command: bytes
) -> None:
    """It ends after a fixed pause."""
    device = await boot(get_profile(version="2.5.0"))
    asking = hass.async_create_task(call_action(hass, "ask", boot.device_id, question="Which light?"))
    await device.wait_announced()
    turn = await say(hass, device, command)
    assert await asking == {"id": None, "sentence": COMMAND, "slots": {}}
    assert 0.5 < turn.waited < 0.9
    assert hass.states.is_state(LIGHT, "off")
    assert len(whisper.calls) == 1


@pytest.mark.parametrize("paired", [paired_boxes(2)], ids=["two"])
async def test_nobody_waits_for_a_call_in_vain_of_somebody_else(
    hass: HomeAssistant, whisper: Whisper, boot: Boot, command: bytes
) -> None:
    whisper.seconds = 0.9
    one, other = await boot(), await boot(mac=OTHER_MAC)
    pauses = command + SILENCE * 4 + command + SILENCE * 4 + command

    async def later() -> Turn:
        await asyncio.sleep(0.7)
        return await say(hass, other, command, "hello other")

    turns = await asyncio.gather(say(hass, one, pauses), later())
    assert [turn.heard for turn in turns] == [[COMMAND], [COMMAND]]
    # The one who speaks alone is transcribed early; where both do, only what is needed is.
    assert len(whisper.calls) <= 3
    assert turns[1].waited < 0.8 + 0.9 + 0.4


SELECT = "select.kitchen_box_end_of_speech"


@pytest.mark.parametrize(("choice", "pause"), [("aggressive", 0.4), ("relaxed", 1.0)])
async def test_the_pause_that_ends_speech_is_the_one_that_was_chosen(
    hass: HomeAssistant, whisper: Whisper, boot: Boot, command: bytes, choice: str, pause: float
) -> None:
    device = await boot()
    await choose(hass, SELECT, choice)
    turn = await say(hass, device, command)
    assert turn.answered["ended_by"] == "pause"
    assert pause < turn.waited - whisper.seconds < pause + 0.35


@pytest.mark.parametrize(
    ("stored", "extra", "shown"),
    [
        ("default", None, "quick_and_patient"),
        ("aggressive", None, "aggressive"),
        ("default", {"chosen": True}, "default"),
        ("default", {"chosen": ["damaged"]}, "default"),
    ],
    ids=["default of before", "chosen before", "chosen since", "damaged"],
)
async def test_a_choice_is_kept_and_the_default_is_the_new_one(
    hass: HomeAssistant,
    make_entry: MakeEntry,
    link_data: dict[str, Any],
    stored: str,
    extra: dict[str, Any] | None,
    shown: str,
) -> None:
    remember(hass, EntityState(SELECT, stored), extra)
    await running(hass, make_entry(paired_device(MAC, CLIENT_ID), **link_data))
    assert hass.states.is_state(SELECT, shown)


async def test_consent_to_early_calls_that_are_billed_goes_with_the_device(
    whisper: Whisper, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_get_loaded_integration(boot.hass, "wyoming"), "iot_class", "cloud_push")

    async def ended_by(word: str) -> str:
        device = await boot()
        answered = (await say(boot.hass, device, command, word)).answered
        await device.power_off()
        ended: str = answered["ended_by"]
        return ended

    assert await ended_by("hello") == "pause"
    for option in ("default", "quick_and_patient"):
        await choose(boot.hass, SELECT, option)
    assert await ended_by("hello after an automation") == "pause"
    by_person = Context(user_id=MockUser(is_owner=True).add_to_hass(boot.hass).id)
    chosen = {"entity_id": SELECT, "option": "quick_and_patient"}
    await boot.hass.services.async_call("select", "select_option", chosen, blocking=True, context=by_person)
    assert await ended_by("hello with consent") == "complete_command"
    assert await boot.hass.config_entries.async_reload(boot.entry.entry_id)
    await boot.hass.async_block_till_done()
    assert await ended_by("hello after a restart") == "complete_command"
    (subentry,) = boot.entry.subentries.values()
    boot.hass.config_entries.async_remove_subentry(boot.entry, subentry.subentry_id)
    await boot.hass.async_block_till_done()
    await add_to(boot.hass, boot.entry, paired_device(MAC, CLIENT_ID))
    assert boot.hass.states.is_state(SELECT, "quick_and_patient")
    assert await ended_by("hello again") == "pause"


_KNOWN = "The user is away."


@pytest.mark.parametrize(
    ("whisper", "end_of_speech", "written"),
    [
        ("voice-match", "quick_and_patient", {f"[anna] {COMMAND}": (COMMAND, "anna")}),
        (
            "voice-match",
            "default",
            {
                f" [Li\n Na]  {OFF}": (OFF, "Li Na"),
                OFF: (OFF, None),
                "[BLANK_AUDIO]": ("[BLANK_AUDIO]", None),
                f"[{'x' * 65}] {OFF}": (f"[{'x' * 65}] {OFF}", None),
                f"[] {OFF}": (f"[] {OFF}", None),
            },
        ),
        ("faster-whisper", "default", {f"[music] {OFF}": (f"[music] {OFF}", None)}),
    ],
    indirect=["whisper"],
)
async def test_who_speaks_is_told_by_engines_that_write_it_before_the_text(
    speech: Speech,
    whisper: Whisper,
    boot: Boot,
    monkeypatch: pytest.MonkeyPatch,
    *,
    end_of_speech: str,
    written: dict[str, tuple[str, str | None]],
) -> None:
    """The assistant gets it beside what an automation has told it before."""
    await speech.answer_with(*["Good."] * len(written))
    device = await boot()
    await choose(speech.hass, SELECT, end_of_speech)
    monkeypatch.setattr(XiaozhiSatellite, "_say", AsyncMock())
    await act(
        speech.hass,
        "assist_satellite",
        "start_conversation",
        SATELLITE,
        start_message="Hi",
        extra_system_prompt=_KNOWN,
    )
    told = async_capture_events(speech.hass, EVENT_STATE_CHANGED)
    for number, transcript in enumerate(written):
        whisper.hears = lambda _, transcript=transcript: transcript
        await say(speech.hass, device, speech.command, f"hello {number}")
    texts, speakers = zip(*written.values(), strict=True)
    assert speech.agent.heard == [*texts]
    attributes = [event.data["new_state"].attributes for event in told if event.data["entity_id"] == TOLD]
    assert [found.get("speaker") for found in attributes if found["event_type"] == "heard"] == [*speakers]
    users = [f"the user is {name!r}." if name else "it is not known who the user is." for name in speakers]
    prompts = [f"{_KNOWN}\nSpeaker recognition: {user}" for user in users]
    assert speech.agent.extra_prompts == (prompts if whisper.name == "voice-match" else [_KNOWN])
    # Another person may have typed.
    await device.type("are the lights on")
    await device.wait_for(lambda: len(speech.agent.heard) > len(texts), 20)
    if whisper.name == "voice-match":
        unknown = f"{_KNOWN}\nSpeaker recognition: it is not known who the user is."
        assert speech.agent.extra_prompts[len(texts) :] == [unknown]
