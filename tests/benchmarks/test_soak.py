"""A soak of some seconds leaves nothing behind, and would see it."""

import asyncio
from asyncio.subprocess import PIPE
import json
import sys

import pytest

from benchmarks.soak.watch import look
from tests.paths import ROOT


@pytest.mark.weekly
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
