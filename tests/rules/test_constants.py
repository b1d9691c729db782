"""No test replaces a constant of the product or the simulator: time-outs are handed in."""

import re

import pytest

from tests.paths import ROOT

# By pytest's `monkeypatch`, by `unittest.mock` or by an assignment; the object may come from a loop.
_NAME = r"_?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*"
_REPLACED = re.compile(
    rf"""(?:setattr|patch|object)\([^)]*["'](?:[\w.]+\.)?({_NAME})["']"""
    rf"""|^\s+\w+\.({_NAME}) = |in \["({_NAME})"]""",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(library, "_MAX_FILES", 1)',
        'monkeypatch.setattr("custom_components.xiaozhi.firmware.available_firmware._MAX_FILES", 1)',
        'patch.object(library, "_MAX_FILES", 1)',
        "library._MAX_FILES = 1",
        'for name in ["_MAX_FILES"]: setattr(library, name, 1)',
    ],
)
def test_a_replaced_constant_is_found(line: str) -> None:
    assert _REPLACED.search(f"def test():\n    {line}\n")


def test_no_constant_is_replaced() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "test_constants.py"]
    found = {path.name: texts for path in files if (texts := _REPLACED.findall(path.read_text()))}
    assert len(files) > 100
    assert found == {}
