"""Rules for tests: no replaced constants, since time-outs are handed in, and short names."""

import re

import pytest

from tests.paths import ROOT

# By pytest's `monkeypatch`, by `unittest.mock` or by an assignment; the object may come from a loop.
_NAME = r"_?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*"
_TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
_REPLACED = re.compile(
    rf"""(?:setattr|patch|object)\([^)]*["'](?:[\w.]+\.)?({_NAME})["']"""
    rf"""|^\s+\w+\.({_NAME}) = |in \["({_NAME})"]""",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(library, "_MAX_FILES", 1)',
        'monkeypatch.setattr("custom_components.xiaozhi.guests.firmware.available_firmware._MAX_FILES", 1)',
        'patch.object(library, "_MAX_FILES", 1)',
        "library._MAX_FILES = 1",
        'for name in ["_MAX_FILES"]: setattr(library, name, 1)',
    ],
)
def test_a_replaced_constant_is_found(line: str) -> None:
    assert _REPLACED.search(f"def test():\n    {line}\n")


def test_no_constant_is_replaced() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "test_of_tests.py"]
    found = {path.name: texts for path in files if (texts := _REPLACED.findall(path.read_text()))}
    assert len(files) > 100
    assert found == {}


def test_no_name_of_a_test_is_longer_than_70_characters() -> None:
    names = [name for path in (ROOT / "tests").rglob("*.py") for name in _TEST.findall(path.read_text())]
    assert len(names) > 1000
    assert [name for name in names if len(name) > 70] == []
