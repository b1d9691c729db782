"""The running demo: speech goes in, a lamp goes on, speech comes out; and nothing is left behind."""

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
from tests.e2e.demo_process import DemoProcess

pytestmark = [pytest.mark.timeout(460), pytest.mark.usefixtures("socket_enabled")]


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
