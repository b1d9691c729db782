"""The validator holds texts, actions and icons against the code, and complains of nothing that is right."""

from collections.abc import Callable
from pathlib import Path
import subprocess
import sys

import pytest

from scripts.validator import problems
from scripts.validator.languages import LANGUAGES
from scripts.validator.translations import main as translations
from tests.paths import ROOT
from tests.validator.sample import EN, FILES, FLOW, HOME, ICONS, INIT, SENSOR, SERVICES

_GERMAN = f"{HOME}/translations/de.json"

TRIGGERS = f"{HOME}/triggers.yaml"

type Change = tuple[str, str, str]
"""A file, a piece of it, and what to put there; an empty piece adds to the end, or makes the file."""
type Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a check of the sample, in which pieces of files are replaced."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def run(*changes: Change) -> list[str]:
        for name, old, new in changes:
            path = tmp_path / name
            content = path.read_text() if path.is_file() else ""
            assert old in content, f"{old!r} is not in {name}"
            path.write_text(content.replace(old, new, 1) if old else content + new)
        return problems(tmp_path, complete=False)

    return run


# Put together, so that this file shows no traces itself.
_FAULTS: list[tuple[Change, str]] = [
    ((SENSOR, 'translation_key="mood"', 'translation_key="temper"'), "entity.*.temper: is missing"),
    ((EN, '"sad": "Sad"', '"sad": "Sad", "furious": "F"'), "mood.state.furious: nothing in the code asks"),
    ((EN, '"sensor": {', '"sensor": {"speed": {"name": "S"},'), "entity.sensor.speed: nothing in the code"),
    ((INIT, 'gone("gone", "a")', 'gone("vanished", "a")'), "exceptions.vanished: is missing"),
    ((INIT, '"lost": "voice_lost"', '"lost": "lost"'), "exceptions.lost: is missing"),
    ((INIT, ', "reason": "y"', ""), "exceptions.gone: wants {reason}, which the code does not give"),
    ((EN, "{name} is gone", "It is gone"), "exceptions.gone: does not say {name}, which the code gives"),
    ((EN, '"asleep": {', '"dead": {"message": "x"}, "asleep": {'), "exceptions.dead: nothing in the code"),
    ((INIT, 'translation_key="reset"', 'translation_key="new"'), "issues.new: is missing"),
    ((INIT, ", translation_placeholders=filled)", ")"), "issues.reset: wants {name}"),
    ((FLOW, '"port_taken"', '"port_used"'), "*.error.port_used: is missing"),
    ((FLOW, "errors=errors", 'errors={"base": "used"}'), "*.error.used: is missing"),
    ((FLOW, 'reason="no_box"', 'reason="lost"'), "*.abort.lost: is missing"),
    ((FLOW, 'step_id="user"', 'step_id="start"'), "*.step.start: is missing"),
    ((EN, '"no_box":', '"rain": "It rains.", "no_box":'), "config.abort.rain: nothing in the code asks"),
    ((EN, '"port": "Port"', '"port": "Port", "host": "Host"'), "step.user.data.host: nothing in the code"),
    ((EN, '"config": {', '"config": '), "en.json: cannot be read"),
    ((ICONS, "mdi:robot-happy", "mdi:robot-glad"), "there is no icon mdi:robot-glad"),
    ((ICONS, "mdi:robot-happy", "mdi:robot"), "mood.state.happy: is the default anyway"),
    ((ICONS, '"happy"', '"glad"'), "mood.state.glad: is no state in the texts"),
    ((ICONS, '"mood"', '"heat"'), "entity.sensor.heat: no entity has this translation key"),
    ((ICONS, '"show"', '"hide"'), "services.hide: is not in both files"),
    ((SERVICES, "show:", "hide:"), "hide: no action in the code"),
    ((SERVICES, "words:", "tune:"), "tune: no field of show in the code"),
    ((SERVICES, "words:", "tune:"), "services.show.fields.words: is not in both files"),
    ((EN, '"loud": "Loud"', '"shrill": "Shrill"'), "selector: show.style offers 'loud' without a text"),
    ((TRIGGERS, "", "gone:\n"), "triggers.gone: is not in both files"),
    ((TRIGGERS, "", "show:\n  fields:\n    words:\n"), "triggers.show.fields.words: is not in both files"),
    ((TRIGGERS, "", "vanished:\n"), "triggers.yaml: vanished: is not in the code"),
    (
        (EN, '"services": {', '"conditions": {"x": {"name": "X"}}, "services": {'),
        "conditions.x: is not in both",
    ),
    ((INIT, "", "def:\n"), "__init__.py: is not Python"),
    (("pyproject.toml", "1.2.0", "1.2.1"), "pyproject.toml: its version is 1.2.1, the manifest has 1.2.0"),
    (("CHANGELOG.md", "## 1.2.0 (unreleased)", ""), "CHANGELOG.md: its version is 1.1.0"),
    (("a.txt", "", "https://files.example.org/some." + "whl"), "names an address of a package registry"),
    (("a.txt", "", "cache = /ho" + "me/somebody/x\n"), "names a path of a machine"),
    (("uv.lock", "", "x"), "is a lock file"),
]


def test_a_repository_that_is_right_has_no_problems(check: Check) -> None:
    assert check((_GERMAN, "", FILES[EN]), (".gitignore", "", "*.log\n"), ("a.log", "", "/ro" + "ot/x")) == []


@pytest.mark.parametrize(
    ("change", "expected"), _FAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_fault_is_reported(check: Check, change: Change, expected: str) -> None:
    found = check(change)
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    "content", ["[]", "7", '{"entity": [], "config": {"step": {"user": "x"}}, "services": 1}']
)
@pytest.mark.parametrize("path", [EN, ICONS, SERVICES])
def test_a_file_of_any_form_is_reported_without_a_crash(
    check: Check, tmp_path: Path, path: str, content: str
) -> None:
    (tmp_path / path).write_text(content)
    assert check()


def test_the_command_prints_the_problems_and_fails(check: Check, tmp_path: Path) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-c",
            f"import sys; sys.path[0] = {str(ROOT)!r}; import scripts.validator.__main__",
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert check() == []
    for code in LANGUAGES:
        (tmp_path / HOME / "translations" / f"{code}.json").write_text(FILES[EN])
        assert translations([code, "--record"], tmp_path) == 0
    good = run()
    (tmp_path / "uv.lock").touch()
    bad = run()
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "0 problems")
    assert (bad.returncode, bad.stdout.splitlines()[-1]) == (1, "1 problem")


@pytest.mark.parametrize(
    "line",
    [
        "import homeassistant",
        "from homeassistant.core import State",
        "from ..const import DOMAIN",
        "from .. import device",
    ],
)
def test_the_protocol_may_not_know_what_stands_above_it(line: str) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--output-format", "concise", "-"]
    for folder, refused in (
        ("custom_components/xiaozhi/protocol", True),
        ("custom_components/xiaozhi/voice", False),
    ):
        name = ["--stdin-filename", f"{folder}/some.py"]
        found = subprocess.run(
            [*command, *name], cwd=ROOT, input=f"{line}\n", capture_output=True, text=True, check=False
        )
        assert ("TID251" in found.stdout) is refused, found
