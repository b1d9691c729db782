"""The demo: speech goes in, a lamp goes on, speech comes out; and nothing is left behind."""

import asyncio
import json
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import wave

import pytest

from demo.control import say
from demo.errors import DemoError
from demo.processes import ROOT
from demo.speech_server import HOST
from tests.e2e.demo_process import DemoProcess, started_demo

pytestmark = [pytest.mark.timeout(460), pytest.mark.usefixtures("socket_enabled")]


def test_the_check_talks_over_each_link_uses_the_device_and_ends_with_a_line_of_json(tmp_path: Path) -> None:
    """Everything for real: Opus over the link, speech recognition, the assistant, speech, Opus back.

    And what the device on MQTT can do: its lights, its camera, its notifications, its firmware. And what Home
    Assistant says, rings, plays and asks on its own, and an assistant in a cloud that uses the home's tools.
    """
    with started_demo(tmp_path, "--check") as demo:
        output, progress = demo.process.communicate(timeout=400)
        assert demo.process.returncode == 0, progress
        demo.wait_gone(0)
    assert "The idle MQTT box took another volume" in progress
    results = json.loads(output.splitlines()[-1])
    used = ["light_colour", "photo", "notification", "firmware"]
    heard = ["announcement", "file", "timer", "asked", "music"]
    assert list(results) == ["mqtt", "websocket", "question", *used, *heard, "access_point"]
    for link in ("mqtt", "websocket"):
        result = results[link]
        assert result["said"] == result["heard"] == "turn on the kitchen light"
        assert result["light"] == "on"
        assert "light" in result["answer"]
        assert 0.5 < result["answer_seconds"] < 5
        assert 0 < result["stt_end_to_first_audio_ms"] < 5000
        assert 0 <= result["late_frames_pct"] <= 100
    question = results["question"]
    assert question["said"] == question["heard"] == "it is dark yes"
    assert question["answer"].startswith("Shall I turn on the kitchen light? ")
    assert question["light"] == "on"
    assert results["light_colour"]["colour"] == [255, 96, 0]
    assert results["photo"]["answer"] == f"I see mostly {results['photo']['seen']}."
    assert results["notification"]["method"] == "notifications/message"
    assert (results["firmware"]["from"], results["firmware"]["to"]) == ("2.4.2", "2.4.3")
    assert results["firmware"]["steps"] > 1
    assert results["announcement"]["shown"] == "Dinner is ready."
    assert results["file"]["seconds"] > 10
    assert results["timer"]["seconds"] > 2
    assert results["asked"]["answer"]["id"] == "no"
    assert results["music"]["seconds"] > 2
    assert results["access_point"]["called"].endswith("HassTurnOn")
    assert results["access_point"]["tools"] > 3
    assert 0 < results["access_point"]["milliseconds"] < 5000
    assert list(tmp_path.iterdir()) == [], "temporary files are left"


def test_a_person_talks_to_the_demo_from_another_terminal(running_demo: DemoProcess) -> None:
    """On and off, to either device, and the answer can be listened to."""
    on = running_demo.say("turn on the kitchen light")
    assert "to the MQTT box" in on
    assert "Understood:  turn on the kitchen light" in on
    assert "the light is on" in on
    with wave.open(str(running_demo.folder / "answer.wav")) as answer:
        assert answer.getnframes() > answer.getframerate() / 2
    called = running_demo.run("cloud", "turn off the kitchen light")
    assert "HassTurnOff" in called
    assert "success" in called
    on = running_demo.say("--link", "websocket", "turn on the kitchen light")
    assert "the light is on" in on
    off = running_demo.say("--link", "websocket", "turn off the kitchen light")
    assert "to the WebSocket box" in off
    assert "the light is off" in off


def test_what_the_demo_does_not_understand_changes_nothing(running_demo: DemoProcess) -> None:
    """And is said to be so."""
    printed = running_demo.say("please tell me a story about a rabbit")
    assert "(nothing" in printed
    assert "the light is off" in printed


def test_a_device_of_the_demo_notifies_something(running_demo: DemoProcess) -> None:
    """As a person asks for it, at another terminal."""
    assert "MQTT box has notified: The bin is full" in running_demo.run("notify", "The bin is full")


def test_a_link_that_no_device_uses_is_named(running_demo: DemoProcess) -> None:
    """And the demo goes on."""
    with pytest.raises(DemoError, match="no device uses smoke"):
        asyncio.run(say(running_demo.folder, "stop", "smoke"))


def test_a_second_demo_in_the_same_folder_is_refused(running_demo: DemoProcess) -> None:
    """Instead of taking away the files of the first."""
    command = [sys.executable, "-m", "demo", "--folder", str(running_demo.folder)]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "runs already" in second.stderr
    assert running_demo.process.poll() is None


def test_nobody_but_its_user_can_make_the_demo_speak(running_demo: DemoProcess) -> None:
    """The file with the secret is private, and a wrong secret is refused."""
    file = running_demo.folder / "control.json"
    assert file.stat().st_mode & 0o077 == 0
    where = json.loads(file.read_text())
    with socket.create_connection((HOST, where["port"]), timeout=30) as connection:
        connection.sendall(json.dumps({"token": "guessed", "say": "stop", "link": "mqtt"}).encode() + b"\n")
        assert json.loads(connection.makefile().readline()) == {"error": "another demo was asked"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    """Whatever ends it, even while it starts."""
    with started_demo(tmp_path, "--check") as demo:
        demo.wait_for("homeassistant")
        demo.wait_for_processes(4)
        demo.process.send_signal(number)
        demo.process.wait(timeout=60)
        demo.wait_gone()
        expected = -number if number == signal.SIGKILL else 128 + number
        assert demo.process.returncode == expected


def test_a_part_that_does_not_start_is_the_reason_that_is_given(tmp_path: Path) -> None:
    """With the end of its log."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "pocketsphinx.py").write_text("raise ImportError('no ears')")
    with started_demo(tmp_path, "--check", env={"PYTHONPATH": str(broken)}) as demo:
        _, progress = demo.process.communicate(timeout=100)
        assert demo.process.returncode == 1
        assert "Speech recognition does not start" in progress
        assert "The end of stt.log:" in progress
        assert "no ears" in progress
        demo.wait_gone(0)


def test_a_home_assistant_that_ends_while_it_starts_is_reported(tmp_path: Path) -> None:
    """At once, not when the time is up."""
    with started_demo(tmp_path, "--check") as demo:
        os.kill(demo.wait_for("homeassistant"), signal.SIGKILL)
        _, progress = demo.process.communicate(timeout=60)
        assert demo.process.returncode == 1
        assert "Home Assistant" in progress
        demo.wait_gone(0)


@pytest.mark.parametrize("content", [None, json.dumps({"port": 1, "token": "", "url": ""})])
def test_talking_to_a_demo_that_does_not_run_says_how_to_start_it(
    content: str | None, tmp_path: Path
) -> None:
    """Also when an earlier one was killed and has left its file."""
    if content:
        (tmp_path / "control.json").write_text(content)
    with pytest.raises(DemoError, match="Start it with scripts/demo"):
        asyncio.run(say(tmp_path, "stop", "mqtt"))


def test_a_running_demo_ends_when_one_of_its_parts_does(running_demo: DemoProcess) -> None:
    """And says which. The last test of this file, since it ends the demo that the others share."""
    os.kill(running_demo.wait_for("demo.text_to_speech"), signal.SIGKILL)
    _, progress = running_demo.process.communicate(timeout=60)
    assert running_demo.process.returncode == 1
    assert "Speech synthesis has ended" in progress
    running_demo.wait_gone(0)
