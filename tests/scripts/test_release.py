"""A release holds the integration as it is, and its part of the changelog."""

import json
from pathlib import Path
import subprocess
from zipfile import ZipFile

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
