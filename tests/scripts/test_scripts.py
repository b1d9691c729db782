"""A release is the integration as it is, and tests run with what Home Assistant pins."""

from importlib.metadata import version
import json
from pathlib import Path
import tomllib
from zipfile import ZipFile

from scripts.pins import pins
from scripts.release import build
from tests.paths import ROOT

INTEGRATION = ROOT / "custom_components/xiaozhi"
VERSION = json.loads((INTEGRATION / "manifest.json").read_text())["version"]


def test_the_archive_holds_each_file_where_hacs_expects_it(tmp_path: Path) -> None:
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


def test_packages_are_those_that_home_assistant_pins() -> None:
    """Also in the environments of other versions than pyproject.toml has."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    used = [line.partition("==")[0] for line in groups["homeassistant"]]
    wanted = {name: pinned for name, pinned in pins().items() if name in used}
    assert "home-assistant-frontend" in wanted
    assert {name: version(name) for name in wanted} == wanted
