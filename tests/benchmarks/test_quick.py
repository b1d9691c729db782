"""Every benchmark still measures something. How much is for the benchmarks to say, not for a test."""

from concurrent.futures import ThreadPoolExecutor
import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.__main__ import BENCHMARKS
from simulator.audio.espeak import synthesize
from simulator.audio.sound import write_wav
from tests.paths import ROOT

# It has a test of its own.
_NOT_HERE = {"soak"}
# For processes of their own, so that each waits for a third as long.
_SECOND = ("media", "hearing", "waterfall", "nearest", "end_of_speech", "patience")
_THIRD = ("large_house", "left_behind")

pytestmark = pytest.mark.weekly

type Rows = dict[str, list[dict[str, Any]]]


def run(arguments: list[str]) -> Rows:
    """Run benchmarks as a person does; return the rows of each."""
    command = [sys.executable, "-m", "benchmarks", "--quick", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return {line["benchmark"]: line["rows"] for line in lines}


@pytest.fixture(scope="module")
def all_found(tmp_path_factory: pytest.TempPathFactory) -> list[Rows]:
    """What three processes found, each in one Home Assistant, which takes longer to start than most do."""
    recordings = tmp_path_factory.mktemp("recordings")
    pcm, rate = synthesize("turn on the kitchen light", sample_rate=16000)
    write_wav(recordings / "command.wav", bytes(rate) + pcm + bytes(rate), rate)
    first = [name for name in BENCHMARKS if name not in {*_NOT_HERE, *_SECOND, *_THIRD}]
    second = [*_SECOND, "--recordings", str(recordings)]
    with ThreadPoolExecutor() as threads:
        return list(threads.map(run, (first, second, [*_THIRD])))


@pytest.mark.timeout(600)
def test_every_benchmark_has_something_to_tell(all_found: list[Rows]) -> None:
    found = all_found[2] | all_found[1] | all_found[0]
    assert found.keys() == BENCHMARKS.keys() - _NOT_HERE
    figures = {row["figure"]: row["value"] for row in found["memory"]}
    assert figures["entities of each device"] > 10
    assert figures["ms of processor time for each link"] > 0
    assert [row["houses"] for row in found["nearest"]] == [2, 2, 2]
    # The second voice takes half a second.
    first_packets = [row["first packet median"] for row in found["turn"]]
    assert first_packets[0] > 0
    assert first_packets[1] > 500
    assert found["downlink"][0]["packets"] > 10
    assert [row["still heard"] for row in found["uplink_cpu"]] == [2, 2]
    assert all(row["% of a core"] > 0 and row["in real time"] > 0 for row in found["uplink_cpu"])
    assert {row["engine s"] for row in found["end_of_speech"]} == {0.05, 0.3, 0.8}
    assert len(found["media"]) == 3
    assert all(row["CPU ms for each second"] > 0 for row in found["media"])
    lived = {row["figure"]: row["value"] for row in found["large_house"]}
    assert lived["packets of answers"] > 10
    assert lived["ms a second of ours for each device that speaks"] > 0
    assert lived["steps of more than 50 ms"] <= lived["steps of more than 20 ms"]
    # Warm-up and measurement are one of each.
    assert all(row["times"] > 0 for row in found["left_behind"])
    # Through a device as without one, and nothing of what is no command.
    assert [(row["transcripts"], row["same"]) for row in found["hearing"]] == [(1, 1), (1, 1), (0, None)]
    assert [row["not cut off"] for row in found["waterfall"]] == [1] * 4
    assert all(0 < row["transcript median"] < row["sound median"] for row in found["waterfall"])


@pytest.mark.timeout(600)
def test_what_ends_a_turn_is_compared(all_found: list[Rows]) -> None:
    rows = all_found[1]["end_of_speech"]
    waits = {row["the end is found by"]: row["mean"] for row in rows if row["engine s"] == 0.3}
    assert waits["quick and patient"] < waits["fixed, default"] < waits["fixed, relaxed"]
    assert waits["fixed, relaxed"] < waits["Home Assistant's"]
    assert all(row["never"] == row["cut"] == 0 for row in all_found[1]["end_of_speech"])
