"""The fuzz command, for as long as a test may take."""

import pytest

from benchmarks.fuzz.__main__ import fuzz
from benchmarks.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.usefixtures("socket_enabled")
async def test_no_input_upsets_its_reader(name: str) -> None:
    outcome = await fuzz(name, seed=3, first=0, count=300)
    assert "fault" not in outcome
    assert 0 < outcome["accepted"] < outcome["inputs"]
