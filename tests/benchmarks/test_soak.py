"""A soak of some seconds leaves nothing behind, and a soak that fails says why."""

import asyncio
from asyncio.subprocess import PIPE
from collections import Counter
import json
import sys
from typing import Any

import pytest

from benchmarks.soak.measure import SoakResult, failures
from benchmarks.soak.watch import State, look
from tests.paths import ROOT


@pytest.mark.timeout(400)
async def test_a_short_soak_leaves_nothing_behind() -> None:
    """Two devices on two links live and are attacked, with a Home Assistant that must not notice."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks", "soak", "--quick", "--seed", "7"),
        cwd=ROOT,
        stdout=PIPE,
        stderr=PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    (line,) = (line for line in output.decode().splitlines() if line.startswith("{"))
    figures = {row["figure"]: row["value"] for row in json.loads(line)["rows"]}
    assert figures["devices back"] == 2
    assert figures["hours of device life"] > 0
    assert figures["attacks"] > 0
    assert figures["sockets at the end"] <= figures["sockets after the warm-up"]
    assert figures["tasks at the end"] <= figures["tasks after the warm-up"]


def result_with(**changes: Any) -> SoakResult:
    """Return the result of ten hours in which nothing went wrong, with changes."""
    before = State(memory_kib=200_000, sockets=10, tasks=Counter({"serve": 2}))
    good: dict[str, Any] = {
        "start": before,
        "warm": before,
        "end": State(memory_kib=201_000, sockets=9, tasks=Counter({"serve": 2})),
        "hours": 10,
        "back": {"02:00:00:00:00:01": "answered"},
        "errors": [],
    }
    return SoakResult(**good | changes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"back": {"02:00:00:00:00:01": "not understood"}}, "02:00:00:00:00:01 is not back: not understood"),
        ({"errors": ["homeassistant: x"]}, "logged: homeassistant: x"),
        (
            {"end": State(memory_kib=200_000, sockets=9, tasks=Counter({"serve": 2, "poll": 1}))},
            "left behind: 1 tasks poll",
        ),
        (
            {"end": State(memory_kib=200_000, sockets=13, tasks=Counter({"serve": 1}))},
            "left behind: 3 sockets",
        ),
        (
            {"end": State(memory_kib=280_000, sockets=9)},
            "memory has grown by 80000 KiB in 10 hours of device life",
        ),
    ],
)
def test_each_failure_of_a_soak_is_named(changes: dict[str, Any], fault: str) -> None:
    assert failures(result_with()) == []
    assert failures(result_with(**changes)) == [fault]


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells its sockets in a folder")
@pytest.mark.usefixtures("socket_enabled")
async def test_a_task_and_a_socket_that_are_left_behind_are_seen() -> None:
    before = look()
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    task = asyncio.create_task(asyncio.sleep(60), name="left")
    assert look().left_since(before) == ["1 tasks sleep", "1 sockets"]
    task.cancel()
    server.close()
    await asyncio.gather(task, server.wait_closed(), return_exceptions=True)
    assert look().left_since(before) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say how much memory a process has")
async def test_freed_memory_is_no_growth() -> None:
    """Also where small pieces that are still in use lie between the freed ones."""
    before = look().memory_kib
    pieces = [b"x" * (32 * 1024) for _ in range(4096)]
    held = pieces[::64]
    assert look().memory_kib > before + 100 * 1024
    del pieces
    assert look().memory_kib < before + 16 * 1024
    del held
