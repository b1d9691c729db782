"""A release of Home Assistant has moved what it does not promise: people are answered all the same."""

from collections.abc import Callable
from enum import StrEnum
from types import SimpleNamespace

from homeassistant.components import assist_pipeline
from homeassistant.components.assist_pipeline import PipelineEvent, PipelineInput
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.voice import (
    pipeline_runs,
    satellite_states,
    speech_to_text,
    understood_commands,
)
from simulator import State, converse
from tests.integration.boxes import Speech, open_issues
from tests.integration.changed_parts import Change, refuses, wrapped
from tests.integration.names import COMMAND, LIGHT, Boot

RUNS = "home_assistant_changed_runs"
ASKED_HERE = "Voice match"
"""Name of an engine that is asked in the place of the pipeline's first stage."""


class Renamed(StrEnum):
    """Types of events, the first with another name."""

    STT_BEGIN = "stt-start"
    STT_END = "stt-end"
    RUN_END = "run-end"


def renamed_type(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pipeline_runs, speech_to_text, satellite_states):
        monkeypatch.setattr(module, "PipelineEventType", Renamed)


CHANGES: dict[str, Change] = {
    "run": refuses(assist_pipeline, "PipelineRun", more="reason"),
    "input": refuses(assist_pipeline, "PipelineInput", more="reason"),
    "session": refuses(pipeline_runs, "async_get_chat_session", satellite_states, more="reason"),
    "validate": refuses(PipelineInput, "execute", without="validate"),
    "event": refuses(AssistSatelliteEntity, "_internal_on_pipeline_event", more="reason"),
    "detector": refuses(assist_pipeline, "AudioSettings", without="is_vad_enabled"),
    "type": renamed_type,
    "not said": refuses(assist_pipeline, "PipelineRun", more="reason", says_so=False),
    "states": refuses(AssistSatelliteEntity, "_internal_on_pipeline_event", more="reason", says_so=False),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_command_is_answered_in_the_turn_in_which_the_change_is_found(
    speech: Speech, boot: Boot, states: list[str], monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    """The owner reads what is missing until the update."""
    change(monkeypatch)
    if change is renamed_type:
        monkeypatch.setattr(speech.recognizer, "_attr_name", ASKED_HERE)
    assert await speech.hass.config_entries.async_reload(boot.entry.entry_id)
    device = await boot()
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, speech.command)
    await speech.hass.async_block_till_done()
    assert speech.hass.states.is_state(LIGHT, "on")
    assert (talk.heard, talk.answers) == ([COMMAND], ["Turned on the switch"])
    assert states == ["listening", "processing", "responding", "idle"]
    issue = ir.async_get(speech.hass).async_get_issue(DOMAIN, RUNS)
    assert issue is not None
    assert "same assistant" in (issue.translation_placeholders or {})["missing"]


async def test_a_change_that_is_found_after_the_speech_costs_that_turn_only(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audio is gone by then, and the device shows that it did not work."""
    refuses(PipelineInput, "execute", without="validate", says_so=False)(monkeypatch)
    monkeypatch.setattr(speech.recognizer, "_attr_name", ASKED_HERE)
    speech.recognizer.lines = [COMMAND, COMMAND]
    device = await boot()
    first = await converse(device, speech.command)
    assert first.heard == [COMMAND]
    assert "Something went wrong" in first.answers[0]
    assert ir.async_get(hass).async_get_issue(DOMAIN, RUNS) is not None
    second = await converse(device, speech.command, word="hello again")
    assert second.answers == ["Turned on the switch"]


async def test_an_unexpected_error_is_shown_on_the_screen_and_is_a_repair(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = assist_pipeline.PipelineRun.process_event

    def renamed(run: assist_pipeline.PipelineRun, event: PipelineEvent) -> None:
        data = event.data or {}
        if "token" in (output := data.get("tts_output") or {}):
            event = PipelineEvent(event.type, {**data, "tts_output": {"key": output["token"]}})
        process(run, event)

    monkeypatch.setattr(assist_pipeline.PipelineRun, "process_event", renamed)
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await converse(device, speech.command)
    assert "Something went wrong" in device.screen.captions[-1]
    assert device.state is State.IDLE
    (issue,) = open_issues(hass)
    assert (issue.issue_id, issue.translation_placeholders) == (
        "turn_failed",
        {"name": "Kitchen box", "error": "KeyError"},
    )
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    assert open_issues(hass) == []


async def test_a_recognizer_that_cannot_be_asked_costs_only_time(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(understood_commands, "async_get_agent", more="reason")(monkeypatch)
    speech.recognizer.lines = [COMMAND]
    talk = await converse(await boot(), speech.command)
    assert talk.answers == ["Turned on the switch"]
    assert ir.async_get(hass).async_get_issue(DOMAIN, RUNS) is None


async def test_what_is_checked_is_what_is_given(
    speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[str, int, set[str]]] = []
    given: list[tuple[str, int, set[str]]] = []

    def note(calls: list[tuple[str, int, set[str]]], name: str) -> Callable[..., None]:
        return lambda args, named: calls.append((name, len(args), {*named}))

    with monkeypatch.context() as patched:
        patched.setattr(
            pipeline_runs,
            "signature",
            lambda takes: SimpleNamespace(
                bind=lambda *args, **named: note(checked, takes.__name__)(args, named)
            ),
        )
        pipeline_runs.check_runs()
    for where, name in (
        (assist_pipeline, "PipelineRun"),
        (assist_pipeline.PipelineRun, "accept_wake_word"),
        (assist_pipeline.PipelineRun, "end"),
        (assist_pipeline, "PipelineInput"),
        (PipelineInput, "execute"),
        (assist_pipeline, "AudioSettings"),
        (satellite_states, "async_get_chat_session"),
        (AssistSatelliteEntity, "_internal_on_pipeline_event"),
    ):
        monkeypatch.setattr(where, name, wrapped(getattr(where, name), note(given, name)))
    monkeypatch.setattr(speech.recognizer, "_attr_name", ASKED_HERE)
    speech.recognizer.lines = [COMMAND]
    await converse(await boot(), command)
    assert all(call in checked for call in given)
    assert {name for name, *_ in given} == {name for name, *_ in checked}
