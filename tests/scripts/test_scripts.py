"""What scripts refuse: a module without its coverage, a release that is not the integration as it is."""

from importlib.metadata import version
import json
from pathlib import Path
import subprocess
import tomllib
from zipfile import ZipFile

import pytest

from scripts.check_coverage import main as check_coverage
from scripts.pins import pins
from scripts.release import build
from tests.paths import ROOT

INTEGRATION = ROOT / "custom_components/xiaozhi"
VERSION = json.loads((INTEGRATION / "manifest.json").read_text())["version"]


def test_the_archive_holds_each_file_of_the_integration_where_hacs_expects_it(tmp_path: Path) -> None:
    """And the notes are those of this version only. Building twice gives the same bytes."""
    for folder in ("one", "two"):
        build(f"v{VERSION}", tmp_path / folder)
    hacs = json.loads((ROOT / "hacs.json").read_text())
    assert hacs["zip_release"]
    one, two = (tmp_path / folder / hacs["filename"] for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    expected = {
        path.relative_to(INTEGRATION).as_posix(): path.read_bytes()
        for path in INTEGRATION.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with ZipFile(one) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
    assert {"manifest.json", "translations/en.json"} <= expected.keys()
    notes = (tmp_path / "one/notes.md").read_text()
    assert notes in (ROOT / "CHANGELOG.md").read_text()
    assert "\n## " not in f"\n{notes}"


def test_the_command_tells_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "scripts/release", "v9.9.9", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("release: the tag is v9.9.9")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_packages_are_those_that_home_assistant_pins() -> None:
    """Also in the environments of other versions than pyproject.toml has."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    used = [line.partition("==")[0] for line in groups["homeassistant"]]
    wanted = {name: pinned for name, pinned in pins().items() if name in used}
    assert "home-assistant-frontend" in wanted
    assert {name: version(name) for name in wanted} == wanted


def _report(folder: Path, **missing: int) -> Path:
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
    assert check_coverage(_report(tmp_path, good=0, better=0, low=6)) == 1
    told = capsys.readouterr().out
    assert "98.0 % of 300 lines" in told
    assert "low.py: 94.0 %, without the lines 1, 2, 3, 4, 5, 6" in told
    assert "good" not in told
    assert check_coverage(_report(tmp_path, good=0, enough=5)) == 0
    assert check_coverage(_report(tmp_path)) == 1
