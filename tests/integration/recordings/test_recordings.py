"""A conversation that its owner records plays again: the same states, texts and times."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle
import json
import os
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.diagnostics import async_get_device_diagnostics
from custom_components.xiaozhi.guests.pictures.device_pictures import DevicePictures
from custom_components.xiaozhi.guests.recordings.conversation_recorder import ConversationRecorder
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State
from simulator.replay import Recording, RecordingError, main, replay
from tests.integration.boxes import Speech, act, call_action, failure_of
from tests.integration.names import CLIENT_ID, COMMAND, MAC, OLD, Boot
from tests.integration.recordings.played_again import differences, prepare
from tests.paths import ROOT

FILES = sorted((ROOT / "tests/recordings").glob("*.jsonl"))
if given := os.environ.get("XIAOZHI_RECORDING"):
    FILES = [Path(given)]
# Set to make the files of the scenes again.
KEPT = Path(folder) if (folder := os.environ.get("XIAOZHI_KEEP_RECORDINGS")) else None
ANSWER = "This is an answer of some length, so that somebody can interrupt it before it is over."


async def wake(device: SimulatedDevice, command: bytes) -> None:
    await device.wake("hello")
    device.say(command)


async def a_command(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)


async def a_hole_in_the_radio(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)
    await asyncio.sleep(0.6)
    device.cut_network()
    await asyncio.sleep(3)
    device.restore_network()


async def a_button_released_in_the_last_word(device: SimulatedDevice, command: bytes) -> None:
    await device.press()
    device.say(command)
    await asyncio.sleep(0.9)
    await device.release()


async def a_pause_in_the_sentence(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command + bytes(round(0.5 * 32000)) + command)


async def a_wake_word_in_the_answer(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)
    await device.wait_for(lambda: device.played_seconds > 0.5, 30)
    await device.wake("hello again")
    device.say(command)


async def a_click_in_the_answer(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)
    await device.wait_for(lambda: device.played_seconds > 0.5, 30)
    await device.click()
    await device.wait_state(State.LISTENING)
    await device.click()


async def an_answer_while_a_tool_runs(device: SimulatedDevice, command: bytes) -> None:
    device.tool_seconds["self.get_device_status"] = 1.0
    await wake(device, command)


async def a_click_when_the_answer_is_over(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)
    await device.wait_for(lambda: any(is_stop(event["message"]) for event in device.events("received")), 30)
    await device.click()


async def a_goodbye_in_mid_sound(device: SimulatedDevice, command: bytes) -> None:
    await wake(device, command)
    await device.wait_for(lambda: device.played_seconds > 1, 30)
    await device.leave()


def is_stop(message: dict[str, Any]) -> bool:
    return message.get("type") == "tts" and message.get("state") == "stop"


SCENES = (
    a_command,
    a_hole_in_the_radio,
    a_button_released_in_the_last_word,
    a_pause_in_the_sentence,
    a_wake_word_in_the_answer,
    a_click_in_the_answer,
    an_answer_while_a_tool_runs,
    a_click_when_the_answer_is_over,
    a_goodbye_in_mid_sound,
)


SELDOM = {path.stem for path in FILES} - {a_pause_in_the_sentence.__name__} if KEPT is None else ()


async def record(known: Device, device_id: str, talking: Awaitable[None], **options: Any) -> Recording:
    """Record a conversation until it is over."""
    recording = asyncio.create_task(call_action(known.hass, "record_conversation", device_id, **options))
    await asyncio.sleep(0.1)
    await talking
    answer = await recording
    assert known.part(ConversationRecorder).last is not None
    lines = known.part(ConversationRecorder).last.lines
    assert answer["lines"] == len(lines)
    return Recording.read("\n".join(lines))


@pytest.mark.parametrize(
    ("scene", "link", "sound"),
    [
        # What stands for the speech dies away in a hole in another way. What is kept is played below.
        *(
            pytest.param(
                scene,
                link,
                KEPT is not None or scene is a_hole_in_the_radio,
                marks=pytest.mark.weekly if scene.__name__ in SELDOM else (),
            )
            for scene, link in zip(SCENES, cycle(LinkKind), strict=False)
        ),
        *((a_command, link, True) for link in LinkKind),
    ],
)
async def test_a_recorded_conversation_plays_again_as_it_was(
    speech: Speech,
    boot: Boot,
    device_id: str,
    command: bytes,
    scene: Callable[[SimulatedDevice, bytes], Awaitable[None]],
    link: LinkKind,
    sound: bool,
) -> None:
    device = await boot()
    answer = "Which one?" if scene is a_click_when_the_answer_is_over else ANSWER
    await speech.answer_with(answer, answer, heard=[COMMAND] * 3)
    before = await record(boot.known, device_id, scene(device, command), sound=sound)
    if KEPT is not None and (last := boot.known.part(ConversationRecorder).last) is not None:
        (KEPT / f"{scene.__name__}.jsonl").write_text("\n".join(last.lines) + "\n")
    await device.power_off()
    prepare(speech, before)
    after = await record(boot.known, device_id, replay(before, await boot()), sound=sound)
    shown = differences(before, after)
    assert not [line for line in shown if line.startswith("!")], "\n".join(shown)


@pytest.mark.parametrize(
    ("path", "link"),
    [(path, LinkKind(Recording.from_file(path).head["link"])) for path in FILES],
    ids=[path.stem for path in FILES],
)
async def test_a_kept_recording_plays_again_as_it_was(
    speech: Speech, boot: Boot, device_id: str, known: Device, path: Path, link: LinkKind
) -> None:
    before = await asyncio.to_thread(Recording.from_file, path)
    device = await boot()
    await speech.answer_with(heard=[])
    prepare(speech, before)
    after = await record(known, device_id, replay(before, device), sound=before.head["sound"])
    shown = differences(before, after)
    if given:
        print(f"{path.name:54}played again", *shown, sep="\n")  # noqa: T201 - what `scripts/replay` is for
    assert not [line for line in shown if line.startswith("!")], "\n".join(shown)


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET, LinkKind.MQTT], ids=str)
async def test_diagnostics_hold_the_recording_and_nothing_that_names_the_house(
    speech: Speech, boot: Boot, command: bytes, notes: list[str], link: LinkKind
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot(OLD)
    await record(boot.known, boot.device_id, a_command(device, command))
    assert "Download diagnostics" in notes[-1]
    entry = dr.async_get(boot.known.hass).async_get(boot.device_id)
    assert entry is not None
    diagnostics = await async_get_device_diagnostics(boot.known.hass, boot.entry, entry)
    text = "\n".join(diagnostics["recording"])
    known, settings = boot.known, boot.known.settings
    private = {
        MAC,
        CLIENT_ID,
        settings.token,
        known.part(DevicePictures).token,
        "127.0.0.1",
        f'"{OLD.ssid}"',
        "light",
    }
    private.add(boot.known.state.session_id or MAC)
    assert not [each for each in private if each.casefold() in text.casefold()]
    assert Recording.read(json.dumps({"data": diagnostics})).presses[0].action == "wake"
    # It is kept in memory only.
    assert await boot.hass.config_entries.async_reload(boot.entry.entry_id)
    assert "recording" not in await async_get_device_diagnostics(boot.hass, boot.entry, entry)


@pytest.mark.usefixtures("all_enabled")
async def test_the_button_records_lengths_and_says_when_nobody_has_talked(
    hass: HomeAssistant, speech: Speech, boot: Boot, notes: list[str]
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await act(hass, "button", "press", "button.kitchen_box_record_conversation")
    assert await failure_of(act(hass, "button", "press", "button.kitchen_box_record_conversation"))
    await a_command(device, speech.command)
    await device.wait_for(lambda: len(device.speaker.answers) > 0 and not device.channel_open, 30)
    await hass.async_block_till_done()
    assert "is recorded" in notes[-1]
    assert boot.known.part(ConversationRecorder).last is not None
    await act(hass, "button", "press", "button.kitchen_box_record_conversation")
    await asyncio.sleep(301)
    assert "Nobody has talked" in notes[-1]


async def test_nothing_is_recorded_twice_at_a_time_or_when_nobody_talks(
    hass: HomeAssistant, speech: Speech, boot: Boot, device_id: str
) -> None:
    await boot()
    first = asyncio.create_task(failure_of(call_action(hass, "record_conversation", device_id)))
    await asyncio.sleep(0)
    assert await failure_of(call_action(hass, "record_conversation", device_id)) == "recording_busy"
    assert await first == "recording_none"
    assert boot.known.part(ConversationRecorder).last is None


async def test_a_stop_of_the_gateway_is_told_to_who_waits(
    hass: HomeAssistant, boot: Boot, device_id: str, notes: list[str]
) -> None:
    recording = asyncio.create_task(failure_of(call_action(hass, "record_conversation", device_id)))
    await asyncio.sleep(0.1)
    await hass.config_entries.async_reload(boot.entry.entry_id)
    assert await recording == "unknown_device"
    assert notes == []


def earlier_caption(recording: Recording) -> None:
    """The firmware's first packet of an answer may come 2 ms after its caption."""
    lines = recording.lines
    caption = next(line for line in lines if line.get("state") == "sentence_start")
    first = next(line for line in lines if line["kind"] == "down")
    caption["ms"] = first["ms"] - 2
    lines.remove(caption)
    lines.insert(lines.index(first), caption)


def more_faces(recording: Recording) -> None:
    """Another version may have shown more, or less, before somebody interrupted the answer."""
    start = next(each for each in recording.lines if each.get("state") == "start")
    face = {"ms": start["ms"], "kind": "out", "type": "llm", "emotion": "happy"}
    after = recording.lines.index(start) + 1
    recording.lines[after:after] = [face] * 3


@pytest.mark.parametrize(
    ("scene", "answer", "change"),
    [
        (a_command, "The light is on. It was off until now.", earlier_caption),
        (a_wake_word_in_the_answer, ANSWER, more_faces),
    ],
)
async def test_what_another_version_has_recorded_plays_again_as_it_was(
    speech: Speech,
    boot: Boot,
    command: bytes,
    scene: Callable[[SimulatedDevice, bytes], Awaitable[None]],
    answer: str,
    change: Callable[[Recording], None],
) -> None:
    device = await boot()
    await speech.answer_with(answer, answer, heard=[COMMAND] * 3)
    before = await record(boot.known, boot.device_id, scene(device, command))
    change(before)
    await device.power_off()
    prepare(speech, before)
    after = await record(boot.known, boot.device_id, replay(before, await boot()))
    shown = differences(before, after)
    assert not [line for line in shown if line.startswith("!")], "\n".join(shown)
    # One line less is one that differs.
    after.lines.remove(next(line for line in after.lines if line.get("state") == "listening"))
    assert [line[:2] for line in differences(before, after)].count("! ") == 1


async def test_diagnostics_with_a_byte_order_mark_and_their_controls_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "diagnostics.json"
    lines = (HEAD.replace("}", ',"board":"\\u001b[2J"}') + END).splitlines()
    file.write_text("\ufeff" + json.dumps({"data": {"recording": lines}}))
    assert Recording.from_file(file).head["link"] == "mqtt"
    assert main(str(file)) == 0
    assert "\x1b" not in capsys.readouterr().out


END = '\n{"ms":2,"kind":"end","reason":"over"}'
HEAD = '{"format":"xiaozhi-conversation","version":1,"sound":false,"link":"mqtt"}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "neither a recording nor diagnostics"),
        ('{"data": {}}', "neither a recording nor diagnostics"),
        (HEAD.replace('"version":1', '"version":2') + '\n{"ms":1,"kind":"end"}', "has version 2"),
        (HEAD + '\n{"ms":1,"kind":"up"', "Line 2 is damaged"),
        (HEAD + '\n{"ms":1,"kind":"up","bytes":1}', "has no end"),
        (HEAD + '\n{"kind":"end"}', "no time or no kind"),
        (HEAD + "\n" + " " * 9 * 2**20, "larger than 8 MiB"),
        ("null", "neither a recording nor diagnostics"),
        ("[]", "neither a recording nor diagnostics"),
        ('{"data": {"recording": []}}', "not a recording"),
        (HEAD.replace("false", "5") + END, "does not say how it was made"),
        (HEAD + '\n{"ms":1000000000000,"kind":"up"}' + END, "Line 2 says what no"),
        (HEAD + '\n{"ms":1,"kind":"pipeline","event":"stt-end","text_words":1000000000}' + END, "Line 2"),
        (HEAD + '\n{"ms":1,"kind":"out"}' + END, "Line 2 says what no"),
        (HEAD.replace("false", "true") + '\n{"ms":1,"kind":"up","opus":"*"}' + END, "Line 2"),
        ("[" * 10**5, "neither a recording nor diagnostics"),
    ],
)
async def test_a_file_that_cannot_be_played_says_why(text: str, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason):
        Recording.read(text)
