"""The fuzz command, for as long as a test may take."""

import json

import pytest

from benchmarks.fuzz import main


async def test_the_network_cannot_upset_its_readers(
    socket_enabled: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some thousand inputs for each: most are refused, some taken, and nothing else happens."""
    await main(["--inputs", "5000", "--seed", "3"])
    outcomes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [outcome["target"] for outcome in outcomes] == ["mqtt", "udp"]
    for outcome in outcomes:
        assert outcome["taken"] > 300
        assert outcome["refused"] > 1000
