"""The fuzz command, for as long as a test may take."""

import random
from typing import Any

import pytest

from benchmarks.fuzz.__main__ import fuzz
from benchmarks.fuzz.targets import TARGETS, Make, Read


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.usefixtures("socket_enabled")
async def test_no_input_upsets_its_reader(name: str) -> None:
    outcome = await fuzz(name, seed=3, first=0, count=300)
    assert "fault" not in outcome
    assert 0 < outcome["accepted"] < outcome["inputs"]


@pytest.fixture
def broken_reader(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name a target that raises at its tenth input."""

    def target(_: random.Random) -> tuple[Make, Read]:
        numbers = iter(range(1000))

        async def read(data: bytes) -> bool:
            if data == b"\x0a":
                raise KeyError("x")
            return True

        return lambda: bytes([next(numbers)]), read

    monkeypatch.setitem(TARGETS, "broken", target)
    return "broken"


async def test_a_fault_is_named_with_what_repeats_it(broken_reader: str) -> None:
    found: dict[str, Any] = await fuzz(broken_reader, seed=5, first=0, count=100)
    assert found["fault"] == "KeyError('x') at input 10 of seed 5: 0a"
    assert "fault" in await fuzz(broken_reader, seed=5, first=10, count=1)
    assert "fault" not in await fuzz(broken_reader, seed=5, first=11, count=5)
