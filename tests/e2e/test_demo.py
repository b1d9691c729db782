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

import aiohttp
import numpy as np
from playwright.async_api import Page, WebSocket, expect
import pytest

from demo.engines import spoken
from demo.processes import HOST, ROOT
from simulator.audio.opus import UPLINK_RATE
from simulator.audio.sound import write_wav
from tests.e2e.browser import browser
from tests.e2e.demo_process import DemoProcess, started_demo

pytestmark = [
    # `scripts/demo --check` runs it on others.
    pytest.mark.any_version,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("socket_enabled"),
]

_SILENCE = bytes(2 * UPLINK_RATE)
_PATIENCE_MS = 120_000
# Keeps what the status bar and the advice show: on a busy machine, something short is over before one looks.
_KEEP_WHAT_IS_SHOWN = """() => {
  window.shown = [];
  for (const part of document.querySelectorAll("#status, #advice"))
    new MutationObserver(() => shown.push(part.textContent)).observe(part, {childList: true});
}"""


async def _open(page: Page, url: str) -> None:
    """Go to the page that talks to the demo, with patience for its speech engines."""
    page.set_default_timeout(_PATIENCE_MS)
    expect.set_options(timeout=_PATIENCE_MS)
    await page.goto(url)
    await page.evaluate(_KEEP_WHAT_IS_SHOWN)


async def _has_shown(page: Page, text: str) -> None:
    await page.wait_for_function("text => shown.includes(text)", arg=text)


def test_a_person_talks_to_the_demo_from_another_terminal(running_demo: DemoProcess) -> None:
    """To either device. The answer can be listened to; what is not understood is said to be so."""
    on = running_demo.say("turn on the kitchen light")
    assert "to the MQTT box" in on
    assert "Understood:  turn on the kitchen light" in on
    assert "the light is on" in on
    with wave.open(str(running_demo.folder / "answer.wav")) as answer:
        assert answer.getnframes() > answer.getframerate() / 2
    for said, answer in (
        ("wake me at half past seven tomorrow", "Alarm set: tomorrow at 7:30 AM."),
        ("what alarms do i have", "These alarms are set: tomorrow at 7:30 AM."),
        ("not tomorrow", "Deleted: tomorrow at 7:30 AM."),
    ):
        assert answer in running_demo.say(said)
    called = running_demo.run("cloud", "turn off the kitchen light")
    assert "HassTurnOff" in called
    assert "success" in called
    assert "MQTT box has notified: The bin is full" in running_demo.run("notify", "The bin is full")
    on = running_demo.say("--link", "websocket", "turn on the kitchen light")
    assert "to the WebSocket box" in on
    assert "the light is on" in on
    not_understood = running_demo.say("please tell me a story about a rabbit")
    assert "(nothing" in not_understood
    assert "the light is on" in not_understood


def test_a_second_demo_in_the_same_folder_is_refused(running_demo: DemoProcess) -> None:
    """Instead of taking away the files of the first."""
    command = [sys.executable, "-m", "demo", "--folder", str(running_demo.folder)]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
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


async def test_somebody_presses_speaks_and_hears_the_answer(
    running_demo: DemoProcess, tmp_path: Path
) -> None:
    """The light goes on, words and face are on the screen, and a second page takes the box."""
    recording = tmp_path / "said.wav"
    # It is heard from when the page opens the microphone, also before the device listens, which waits 8 s.
    sound = _SILENCE * 6 + await spoken("turn on the kitchen light") + _SILENCE * 5
    await asyncio.to_thread(write_wav, recording, sound, UPLINK_RATE)
    await asyncio.to_thread(running_demo.run, "cloud", "turn off the kitchen light")
    url = running_demo.where("talk")
    heard: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: heard.append(frame) if isinstance(frame, bytes) else None)

    async with browser(url, microphone=recording) as web:
        page, kitchen = web.page, web.page.locator(".lamp", has_text="Kitchen light")
        page.on("websocket", listen)
        await _open(page, url)
        await expect(kitchen).to_contain_text("Off")
        await page.get_by_role("button", name="Press and speak").click()
        await _has_shown(page, "Speaking")
        await expect(page.locator("#heard")).to_have_text("turn on the kitchen light")
        await expect(kitchen).to_contain_text("On, 100 %")
        await expect(page.locator("#status")).to_have_text("Standby")
        await expect(page.locator("#answer")).to_contain_text("light")
        second = await page.context.new_page()
        await second.goto(url)
        for part, text in ("#heard", "turn on the kitchen light"), ("#status", "Standby"):
            await expect(second.locator(part)).to_have_text(text)
        await expect(page.locator("#status")).to_have_text("In another page")
        await expect(page.get_by_text("Another page has this box now.")).to_be_visible()
        await page.locator("#press").click()
        await expect(page.locator("#heard")).to_have_text("turn on the kitchen light")
        await second.get_by_label("Box", exact=True).select_option("Announcer")
        for each in page, second:
            await expect(each.locator("#status")).to_have_text("Standby")
    played = np.frombuffer(b"".join(heard), "<i2").astype(float)
    assert len(played) > 12_000
    assert np.sqrt(np.mean(played**2)) > 200


async def test_without_a_microphone_timers_ring_and_announcements_are_said(
    running_demo: DemoProcess,
) -> None:
    """The box that speaks while it is idle announces and asks."""
    await asyncio.to_thread(running_demo.run, "cloud", "turn off the kitchen light")
    url = running_demo.where("talk")
    async with browser(url) as web:
        page = web.page
        answer, alert, status = (page.locator(f"#{part}") for part in ("answer", "alert", "status"))
        kitchen = page.locator(".lamp", has_text="Kitchen light")
        await _open(page, url)
        await page.get_by_role("button", name="Set a timer").click()
        await expect(answer).to_contain_text("Timer set")
        # Another one is tried while it runs, no longer than it rings: from 15 to 45 s.
        await page.get_by_label("Box", exact=True).select_option("Announcer")
        await page.get_by_role("button", name="Announce").click()
        await expect(answer).to_have_text("Dinner is ready.")
        await page.get_by_label("Box", exact=True).select_option("MQTT box")
        await expect(alert).to_have_text("Your timer has ended.")
        await expect(status).to_have_text("Timer")
        await page.locator("#press").click()
        await expect(alert).to_be_empty()
        await page.get_by_label("Box", exact=True).select_option("Announcer")
        await page.get_by_role("button", name="Ask").click()
        await expect(answer).to_contain_text("To answer")
        await page.get_by_role("button", name="Yes").click()
        await expect(kitchen).to_contain_text("On, 100 %")
        await expect(status).to_have_text("Standby")


async def test_boxes_take_other_wake_words_and_one_is_the_loudspeaker_of_another(
    running_demo: DemoProcess,
) -> None:
    url = running_demo.where("talk")
    async with browser(url) as web:
        page = web.page
        advice, status, hint = (page.locator(f"#{part}") for part in ("advice", "status", "hint"))
        await _open(page, url)
        # Another wake word than its own does nothing, until it is chosen.
        await page.get_by_label("Box", exact=True).select_option("Announcer")
        word = page.get_by_label("What you say to wake it")
        await word.fill("computer")
        await page.get_by_role("button", name="Say it").click()
        await expect(advice).to_have_text("Nothing happens: “computer” is not its wake word.")
        choice = page.get_by_label("Wake word", exact=True)
        # A choice fetches nothing here.
        await expect(choice).to_be_enabled()
        await expect(hint).to_be_empty()
        await choice.select_option("Computer")
        await _has_shown(page, "Loading ...")
        # It starts twice, and has no wake word in between.
        await expect(choice).to_have_value("Computer")
        await expect(status).to_have_text("Standby")
        await page.get_by_role("button", name="Say it").click()
        await expect(advice).to_have_text("It listens, but this page has no microphone. Press an example")
        await page.locator("#press").click()
        await expect(status).to_have_text("Standby")
        # The other box has its alarm ring on this one.
        await page.get_by_label("Box", exact=True).select_option("MQTT box")
        await page.get_by_label("Voice output").select_option("Announcer Speaker")
        await page.get_by_role("button", name="Set an alarm").click()
        await _has_shown(page, "It rings in 10 seconds. A press stops it.")
        # Nothing of the question before stays under it.
        await expect(page.locator(".text")).to_have_text("Alarm: Tea")
        await expect(page.get_by_text("Now you hear the Announcer.")).to_be_visible()
        # To speak to that one ends the ring first.
        say = asyncio.to_thread(running_demo.say, "--link", "announcer", "stop the alarm")
        assert "Understood:  stop the alarm" in await say
        await page.get_by_role("button", name="Snooze").click()
        await expect(advice).to_have_text("It rings again in nine minutes.")
        await expect(page.locator("#elsewhere")).to_be_empty()
        # This one takes it at its next conversation.
        await page.get_by_label("Box", exact=True).select_option("WebSocket box")
        await choice.select_option("Jarvis")
        await expect(hint).to_contain_text("at its next conversation")
        await page.get_by_role("button", name="Say it").click()
        await expect(choice).to_have_value("Jarvis")
        await expect(word).to_have_value("Jarvis")
        # The page has no microphone, and speaks the message itself.
        await page.get_by_role("button", name="Send “Dinner is ready.”").click()
        await expect(page.locator("#answer")).to_have_text("Sent.")
        await expect(page.locator("#elsewhere")).to_have_text("Now you hear the Announcer.")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/talk", {"Origin": "http://example.com"}, 403),
        ("/talk", {"Host": "example.com"}, 403),
        ("/", {"Host": "example.com"}, 403),
        ("/", {}, 200),
    ],
)
async def test_no_other_site_can_use_the_page(
    running_demo: DemoProcess, path: str, headers: dict[str, str], status: int
) -> None:
    """Nor its microphone, by a name that leads to this computer."""
    url = running_demo.where("talk") + path
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        assert response.status == status


def test_a_running_demo_ends_when_one_of_its_parts_does(running_demo: DemoProcess) -> None:
    """And says which. The last test that uses it, since it ends the demo that the others share."""
    os.kill(running_demo.wait_for("demo.text_to_speech"), signal.SIGKILL)
    _, progress = running_demo.process.communicate(timeout=200)
    assert running_demo.process.returncode == 1
    assert "Speech synthesis has ended" in progress
    running_demo.wait_gone()


@pytest.mark.weekly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    """Whatever ends it, even while it starts."""
    with started_demo(tmp_path, "--check") as demo:
        demo.wait_for("homeassistant")
        demo.wait_for_processes(4)
        demo.process.send_signal(number)
        demo.process.wait(timeout=200)
        demo.wait_gone()
        expected = -number if number == signal.SIGKILL else 128 + number
        assert demo.process.returncode == expected
