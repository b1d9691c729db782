"""The promise about coverage holds for every module, not only for their sum."""

import json
from pathlib import Path

import pytest

from scripts.check_coverage import main


def report(folder: Path, **missing: int) -> Path:
    """Write a report about modules of 100 lines, some of which were not run."""
    files = {}
    for name, lines in missing.items():
        summary = {"num_statements": 100, "covered_lines": 100 - lines, "percent_covered": 100.0 - lines}
        files[f"{name}.py"] = {"summary": summary, "missing_lines": [*range(1, lines + 1)]}
    path = folder / "report.json"
    path.write_text(json.dumps({"files": files}))
    return path


def test_one_low_module_fails_although_the_sum_is_high(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(report(tmp_path, good=0, better=0, low=6)) == 1
    told = capsys.readouterr().out
    assert "98.0 % of 300 lines" in told
    assert "low.py: 94.0 %, without the lines 1, 2, 3, 4, 5, 6" in told
    assert "good" not in told


def test_modules_that_all_reach_it_pass_and_no_module_fails(tmp_path: Path) -> None:
    assert main(report(tmp_path, good=0, enough=5)) == 0
    assert main(report(tmp_path)) == 1
