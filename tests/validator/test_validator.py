"""The validator holds texts, actions and icons against the code, and complains of nothing that is right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.translations import main as translations
from scripts.validator import problems
from scripts.validator.languages import LANGUAGES
from tests.validator.sample import EN, FILES, HOME, ICONS, INIT, SENSOR, SERVICES

_GERMAN = f"{HOME}/translations/de.json"
_ENGLISH = FILES[EN]
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
    for code in LANGUAGES:
        (tmp_path / HOME / "translations" / f"{code}.json").write_text(_ENGLISH)
        assert translations([code, "--record"], tmp_path) == 0

    def run(*changes: Change) -> list[str]:
        for name, old, new in changes:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_text() if path.is_file() else ""
            assert old in content, f"{old!r} is not in {name}"
            path.write_text(content.replace(old, new, 1) if old else content + new)
        return problems(tmp_path)

    return run


_FAULTS: list[tuple[Change, str]] = [
    ((SENSOR, 'translation_key="mood"', 'translation_key="temper"'), "*.temper: is missing"),
    ((EN, '"sad": "Sad"', '"sad": "Sad", "furious": "F"'), "mood.state.furious: nothing in the code asks"),
    ((INIT, '"gone", name', '"vanished", name'), "exceptions.vanished: is missing"),
    ((INIT, ', reason="y"', ""), "exceptions.gone: has ['name', 'reason'], the code gives ['name']"),
    ((EN, '"asleep": {', '"dead": {"message": "x"}, "asleep": {'), "exceptions.dead: nothing in the code"),
    ((EN, '"port": "Port"', '"port": "Port", "host": "Host"'), "step.user.data.host: nothing in the code"),
    ((ICONS, "mdi:robot-happy", "mdi:robot-glad"), "there is no icon mdi:robot-glad"),
    ((ICONS, '"happy"', '"glad"'), "mood.state.glad: is no state in the texts"),
    ((ICONS, '"mood"', '"heat"'), "entity.sensor.heat: no entity has this translation key"),
    ((ICONS, '"show"', '"hide"'), "services.yaml: hide: is not in this file, the texts and the icons"),
    ((SERVICES, "words:", "tune:"), "services.yaml: tune: is not in the code"),
    ((SERVICES, "words:", "tune:"), "show.fields.words: is not in this file and the texts"),
    ((TRIGGERS, "", "vanished:\n"), "triggers.yaml: vanished: is not in the code"),
    (("pyproject.toml", "1.2.0", "1.2.1"), "pyproject.toml: its version is 1.2.1, the manifest has 1.2.0"),
    (("CHANGELOG.md", "## 1.2.0 (unreleased)", ""), "CHANGELOG.md: its version is 1.1.0"),
    ((_GERMAN, "{reason}", "!"), "exceptions.gone.message: has other placeholders than the English text"),
    ((_GERMAN, "Add the box", " "), "config.step.user.title: is empty"),
    ((_GERMAN, "Add the box", "Box "), "config.step.user.title: begins or ends with a space"),
    ((_GERMAN, "Add the box", "<b>Box</b>"), "config.step.user.title: has HTML"),
    ((_GERMAN, "Add the box", "https://a.example"), "config.step.user.title: has a web address"),
    ((_GERMAN, "Add the box", "Open {portal_url}."), "title: has an address that is not in angle brackets"),
    ((_GERMAN, "Add the box", "**Box"), "config.step.user.title: has not as many ** as the English text"),
    (
        (_GERMAN, '"port_taken"', '"x"'),
        "de.json: 1 texts are superfluous; scripts/translations de lists them",
    ),
    ((_GERMAN, "The voice is lost.", "o" * 133), "voice_lost.message: has 133 characters"),
    ((_GERMAN, "The voice is lost.", "好" * 67), "the screen of a device has room for 66"),
    ((EN, "The voice is lost.", "It is lost."), "de.json: 1 texts are outdated"),
    ((INIT, 'ACTION = "show"', 'ACTION = "show"\n"""What is shown."""'), '7: a docstring begins with "What"'),
    ((INIT, "", 'def on() -> str:\n    """Whether it is on."""\n'), 'a docstring begins with "Whether"'),
    (("demo/film.py", "", '"""What is filmed."""\n'), 'demo/film.py: 1: a docstring begins with "What"'),
    (
        (INIT, "", 'def _on() -> None:\n    """Go on. Wait.\n\n    Then stop.\n    """\n'),
        "the docstring of a private function has more than 2 sentences",
    ),
]


def test_a_repository_that_is_right_has_no_problems(check: Check) -> None:
    assert check((_GERMAN, "Add the box", "Open <{portal_url}>.")) == [
        f"{_GERMAN}: config.step.user.title: has other placeholders than the English text"
    ]
    assert check((_GERMAN, "Open <{portal_url}>.", "x"), (_GERMAN, "The voice is lost.", "o" * 132)) == []
    boolean = 'def on() -> bool:\n    """Whether it is on."""\n\n\nON = True\n"""Whether it is."""\n'
    assert check((INIT, "", boolean)) == []


@pytest.mark.parametrize(
    ("change", "expected"), _FAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_fault_is_reported(check: Check, change: Change, expected: str) -> None:
    found = check(change)
    assert any(expected in problem for problem in found), found
