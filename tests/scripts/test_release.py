"""A release holds the integration as it is, and its part of the changelog."""

import json
from pathlib import Path
import subprocess
from zipfile import ZipFile

import pytest

from scripts.release import ReleaseError, build
from tests.paths import ROOT

INTEGRATION = ROOT / "custom_components/xiaozhi"
VERSION = json.loads((INTEGRATION / "manifest.json").read_text())["version"]


def test_the_archive_holds_each_file_of_the_integration_where_hacs_expects_it(tmp_path: Path) -> None:
    build(f"v{VERSION}", tmp_path)
    expected = {
        path.relative_to(INTEGRATION).as_posix(): path.read_bytes()
        for path in INTEGRATION.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with ZipFile(tmp_path / "xiaozhi.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
    assert {"manifest.json", "translations/en.json"} <= expected.keys()


def test_hacs_looks_for_the_archive_that_is_built(tmp_path: Path) -> None:
    build(f"v{VERSION}", tmp_path)
    told = json.loads((ROOT / "hacs.json").read_text())
    assert told["zip_release"]
    assert (tmp_path / told["filename"]).exists()


def test_the_notes_are_those_of_this_version_only(tmp_path: Path) -> None:
    build(f"v{VERSION}", tmp_path)
    notes = (tmp_path / "notes.md").read_text()
    assert notes in (ROOT / "CHANGELOG.md").read_text()
    assert "\n## " not in f"\n{notes}"


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        build(f"v{VERSION}", tmp_path / folder)
    one, two = ((tmp_path / folder / "xiaozhi.zip").read_bytes() for folder in ("one", "two"))
    assert one == two


def test_a_tag_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"the tag is v9\.9\.9, but the version in the manifest is"):
        build("v9.9.9", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_tells_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "scripts/release", "v9.9.9", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("release: the tag is v9.9.9")
    assert done.stderr.count("\n") == 1
