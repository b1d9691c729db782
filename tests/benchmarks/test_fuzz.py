"""The fuzz command, for as long as a test may take."""

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
import json
import logging
import random
import sys
from time import thread_time

import pytest

from benchmarks.fuzz.target import FoundError, Outcome, Spec, run_target
from benchmarks.fuzz.targets import TARGETS
from benchmarks.process import peak_kib, resident_kib
from tests.paths import ROOT


@pytest.mark.timeout(300)
async def test_no_input_upsets_its_reader() -> None:
    """Some hundred inputs for each: many are refused, many taken, and nothing else happens."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.fuzz", "--inputs", "200", "--seed", "3"),
        cwd=ROOT,
        stdout=PIPE,
        stderr=PIPE,
    )
    output, errors = await process.communicate()
    outcomes = [json.loads(line) for line in output.decode().splitlines()]
    assert [outcome for outcome in outcomes if "found" in outcome] == [], errors.decode()
    assert process.returncode == 0, errors.decode()
    assert {outcome["target"] for outcome in outcomes} == TARGETS.keys()
    for outcome in outcomes:
        assert outcome["inputs"] == 200 // TARGETS[outcome["target"]].one_in
        assert outcome["taken"] > 0, outcome
        assert outcome["refused"] > 0, outcome


class Reader:
    """Does something wrong at its tenth input."""

    def __init__(self, fault: str) -> None:
        """`fault` says what."""
        self.outcome = Outcome()
        self._fault = fault
        self._read = 0
        self._kept = b""

    def inputs(self) -> Iterator[bytes]:
        """Yield numbers."""
        number = 0
        while True:
            yield number.to_bytes(4)
            number += 1

    async def take(self, data: bytes) -> None:
        """Read an input."""
        self._read += 1
        if data != b"\0\0\0\x0a":
            return
        match self._fault:
            case "raises":
                raise KeyError("x")
            case "takes long":
                begun = thread_time()
                while thread_time() < begun + 0.6:
                    self._read += 1
            case "takes memory":
                # More than the process has ever had.
                self._kept = b"x" * int(1024 * (peak_kib() - resident_kib() + 60 * 1024))
            case "logs":
                logging.getLogger("a").error("b")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "KeyError('x') at input 10 of seed 5: 0000000a"),
        ("takes long", "s of processor time at input 10"),
        ("takes memory", "the process has grown by"),
        ("logs", "logged: b at input 10"),
    ],
)
@pytest.mark.usefixtures("socket_enabled")
def test_a_find_is_told_with_what_repeats_it(fault: str, said: str) -> None:
    @asynccontextmanager
    async def opened(_: random.Random) -> AsyncIterator[Reader]:
        yield Reader(fault)

    spec = Spec(name="a", reader="b", open=opened, cpu_seconds=0.5, memory_kib=30 * 1024)
    with pytest.raises(FoundError, match=said.replace("(", r"\(").replace(")", r"\)")):
        run_target(spec, seed=5, count=100)
    # Found again without what came before.
    with pytest.raises(FoundError):
        run_target(spec, seed=5, count=100, first=10)
    assert run_target(spec, seed=5, count=10)["inputs"] == 10
