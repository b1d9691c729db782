"""The validator reads manifest, imports, images and the whole repository as hassfest and HACS do."""

import os
from pathlib import Path
import subprocess
import sys

import pytest

from scripts.validator import checks
from scripts.validator.checks import problems
from scripts.validator.forms import RULES
from tests.validator.sample import (
    DOMAIN,
    EN,
    HOME,
    ICONS,
    INIT,
    MANIFEST,
    QUALITY,
    SENSOR,
    SERVICES,
    WIRE,
    Change,
    Check,
    drop,
    png,
)

MANIFEST_FAULTS = [
    ((MANIFEST, '"domain": "sample_box",', '"domain": "other",'), "domain: must be 'sample_box'"),
    ((MANIFEST, '"codeowners"', '"depends": 1, "codeowners"'), "depends: is not a key that belongs here"),
    (drop(MANIFEST, "codeowners"), "has no 'codeowners'"),
    ((MANIFEST, '"1.2.0"', '"1.2.0", "config_flow": true'), "the key 'config_flow' is there twice"),
    (
        (MANIFEST, '"name"', '"after_dependencies": [], "name"'),
        "order of the keys must be domain, name, after_",
    ),
    ((MANIFEST, '["@somebody"]', '["somebody"]'), "codeowners[0]: 'somebody' is not a GitHub name"),
    ((MANIFEST, "https:", "http:"), "documentation: must be an address that begins with https"),
    ((MANIFEST, "local_push", "push"), "iot_class: 'push' is none of"),
    ((MANIFEST, '"sample-*"', '"Sample-*"'), "dhcp[0].hostname: 'Sample-*' is not in lower case"),
    ((MANIFEST, '"http"]', '"http"], "after_dependencies": ["http"]'), "'http' is in after_dependencies too"),
    (
        (MANIFEST, '"config_flow": true', '"config_flow": false'),
        "config_flow: true and config_flow.py go together",
    ),
    ((MANIFEST, '"1.2.0"', '"1.2.1"'), "pyproject.toml: version is 1.2.0, the manifest has 1.2.1"),
    ((MANIFEST, '"1.2.0"', '"one"'), "version: must be a version like 1.2.3"),
    (("CHANGELOG.md", "## 1.2.0 (", "## 1.3.0 ("), "newest version is 1.3.0, the manifest has 1.2.0"),
    (("CHANGELOG.md", "## 1.2.0 (unreleased)\n\n## 1.1.0", ""), "has no heading"),
    ((MANIFEST, "websockets>=15.0.1", "websockets >=15.0.1"), "is not a requirement, or has spaces"),
    ((MANIFEST, "websockets>=15.0.1", "no-such-package==1.0"), "is not installed here"),
    ((MANIFEST, "websockets>=15.0.1", "websockets<15"), "which the tests use"),
    ((MANIFEST, "websockets>=15.0.1", "av>=20"), "cannot be met: Home Assistant pins"),
    ((MANIFEST, '"domain": "sample_box",', '"domain": "sample_box"'), "manifest.json: cannot be read"),
    (("hacs.json", '"render_readme"', '"content"'), "content: is not a key that belongs here"),
    (("hacs.json", '"name": "Sample", ', ""), "has no 'name'"),
    (("hacs.json", '"render_readme"', '"zip_release"'), "zip_release needs a filename"),
    (("hacs.json", "2026.10.0", "2099.1.0"), "homeassistant: 2099.1.0 is newer than"),
    ((INIT, "CONFIG_SCHEMA =", "SCHEMA ="), "async_setup needs a CONFIG_SCHEMA"),
]

IMPORT_FAULTS = [
    (
        (WIRE, "", "import homeassistant\n"),
        "wire.py:5: imports homeassistant: protocol/ knows nothing of Home",
    ),
    ((WIRE, "", "import homeassistant.const as c\n"), "imports homeassistant.const: protocol/ knows"),
    ((WIRE, "", "from homeassistant import const\n"), "imports homeassistant.const: protocol/ knows"),
    (
        (WIRE, "", "def f():\n    from homeassistant.core import State\n"),
        "imports homeassistant.core.State: protocol",
    ),
    (
        (WIRE, "", "if TYPE_CHECKING:\n    from homeassistant import core\n"),
        "imports homeassistant.core: protocol",
    ),
    (
        (WIRE, "", "from ..const import DOMAIN\n"),
        "const.DOMAIN: protocol/ knows nothing of the modules above it",
    ),
    ((WIRE, "", "from .. import const\n"), f"imports custom_components.{DOMAIN}.const: protocol/ knows"),
    ((WIRE, "", f"import custom_components.{DOMAIN}.const\n"), "knows nothing of the modules above it"),
    (
        (f"{HOME}/protocol/audio/codec.py", "", "from ... import const\n"),
        "codec.py:1: imports custom_components",
    ),
    (
        (INIT, "", "from homeassistant.components import mqtt\n"),
        "imports 'mqtt', which the manifest does not name",
    ),
    ((INIT, "", "from homeassistant.components.mqtt import models\n"), "imports 'mqtt', which the manifest"),
    ((INIT, "", "import homeassistant.components.mqtt.models\n"), "imports 'mqtt', which the manifest"),
    ((WIRE, "", "import av\n"), "imports 'av', which the manifest does not require"),
    ((WIRE, "", "from no_such_package import x\n"), "imports 'no_such_package', which is not installed"),
    ((WIRE, "", "def:\n"), "wire.py:5: is not Python"),
]

# Put together, so that this file shows no traces itself.
TRACES = [
    (
        ("a.txt", "", "https://files.example.org/some." + "whl"),
        "a.txt:1: names an address of a package registry",
    ),
    (("a.txt", "", "index = https://example.org/sim" + "ple/\n"), "names an address of a package registry"),
    (("a.txt", "", "one\ncache = /ho" + "me/somebody/x\n"), "a.txt:2: names a path of a machine"),
    (("uv.lock", "", "x"), "is a lock file"),
]


def test_a_repository_that_is_right_has_no_problems(check: Check) -> None:
    assert check() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [*MANIFEST_FAULTS, *IMPORT_FAULTS, *TRACES],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_reported(check: Check, change: Change, expected: str) -> None:
    found = check(change)
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("icon.png", png(128, 128), "its shorter side has 128 pixels, not 256 to 256"),
        ("icon@2x.png", png(512, 600), "is 512×600, an icon is square"),
        ("logo.png", png(900, 300), "its shorter side has 300 pixels, not 128 to 256"),
        ("logo@2x.png", b"GIF89a" + bytes(40), "is not a PNG image"),
        ("icon.png", b"\x89PNG\r\n\x1a\n", "is not a PNG image"),
        ("logo.png", None, "is missing"),
    ],
)
def test_images_of_a_wrong_kind_or_size_are_reported(
    check: Check, tmp_path: Path, name: str, content: bytes | None, expected: str
) -> None:
    path = tmp_path / HOME / "brand" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert check() == [f"{HOME}/brand/{name}: {expected}"]


def test_the_list_of_quality_rules_is_complete_and_does_not_claim_what_is_not_there(check: Check) -> None:
    rules = [
        rule for tier in RULES.values() for rule in tier if rule not in {"brands", "devices", "diagnostics"}
    ]
    listed = "".join(f"  {rule}: done\n" for rule in rules)
    found = check(
        (
            QUALITY,
            "",
            f"rules:\n{listed}  brands: perfect\n  devices: {{status: exempt}}\n  own-rule: done\n",
        ),
        (SENSOR, "PARALLEL_UPDATES = 0", ""),
        (EN, ', "quality": "How good it is."', ""),
    )
    prefix = f"{QUALITY}: "
    assert [problem.removeprefix(prefix) for problem in found] == [
        "rules.brands: must be done, todo or exempt",
        "rules.config-entry-unloading: is done, but the code has no async_unload_entry",
        "rules.config-flow: is done, but these fields have no data_description: quality",
        "rules.devices: exempt needs a comment that says why",
        "rules.has-entity-name: is done, but the code has no _attr_has_entity_name",
        "rules.own-rule: is not a key that belongs here",
        "rules.parallel-updates: is done, but these have no PARALLEL_UPDATES: sensor.py",
        "rules.reauthentication-flow: is done, but the code has no async_step_reauth",
        "rules.reconfiguration-flow: is done, but the code has no async_step_reconfigure",
        "rules: has no 'diagnostics'",
    ]


def test_only_what_git_would_track_is_searched_for_traces(check: Check, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    path = "cache = /ro" + "ot/x\n"
    found = check((".gitignore", "", "*.log\n"), ("a.log", "", path), ("b.txt", "", path))
    assert found == ["b.txt:1: names a path of a machine"]


def test_without_git_all_but_hidden_folders_is_searched(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "cache = /ro" + "ot/x\n"
    monkeypatch.setenv("PATH", "")
    found = check((".tools/a.txt", "", path), ("docs/b.txt", "", path))
    assert found == ["docs/b.txt:1: names a path of a machine"]


def test_an_empty_repository_is_reported_without_a_crash(tmp_path: Path) -> None:
    assert any("manifest.json: is missing" in str(problem) for problem in problems(tmp_path))


@pytest.mark.parametrize(
    "content", ["[]", "7", '{"entity": [], "config": {"step": {"user": "x"}}, "services": 1}']
)
@pytest.mark.parametrize("path", [EN, ICONS, SERVICES, MANIFEST, "hacs.json", QUALITY])
def test_a_file_of_any_form_is_reported_without_a_crash(
    check: Check, tmp_path: Path, path: str, content: str
) -> None:
    (tmp_path / path).write_text(content)
    assert any(problem.startswith(path) for problem in check())


def test_the_command_prints_the_problems_and_fails(check: Check, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(checks.__file__).parents[2])}
    command = [sys.executable, "-m", "scripts.validator"]
    assert check() == []
    good = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    (tmp_path / "uv.lock").touch()
    bad = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout) == (0, "0 problems\n")
    assert bad.returncode == 1
    assert bad.stdout.splitlines()[-1] == "1 problem"
    assert bad.stdout.startswith("uv.lock: is a lock file")
