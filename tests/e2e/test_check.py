"""The check of the demo: everything that it shows, from the first word to the last line."""

import json
from pathlib import Path

import pytest

from tests.e2e.demo_process import started_demo

pytestmark = [pytest.mark.weekly, pytest.mark.timeout(460), pytest.mark.usefixtures("socket_enabled")]


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
        assert result["stt_end_to_first_audio_ms"] > 0
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
    assert results["access_point"]["milliseconds"] > 0
    assert list(tmp_path.iterdir()) == [], "temporary files are left"
