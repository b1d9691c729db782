"""The validator checks every language, and a command says what is to be translated."""

import json
from pathlib import Path
import subprocess

import pytest

from scripts.validator import notes, problems
from scripts.validator.languages import LANGUAGES, SHOWN
from scripts.validator.translations import main
from tests.paths import ROOT
from tests.validator.sample import EN, FILES, HOME

_GERMAN = f"{HOME}/translations/de.json"
_ENGLISH = FILES[EN]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository in which everything is right, without a translation."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{reason}", "!", "exceptions.gone.message: has other placeholders than the English text"),
        ("{reason}", "{reason", "exceptions.gone.message: has other placeholders than the English text"),
        ('"port_taken"', '"x"', "config.error.x: is not in the English texts"),
        ("Add the box", "", "config.step.user.title: is empty"),
        ("Add the box", " ", "config.step.user.title: is empty"),
        ("Add the box", "Box ", "config.step.user.title: begins or ends with a space"),
        ("Add the box", "<b>Box</b>", "config.step.user.title: has HTML"),
        ("Add the box", "https://a.example", "config.step.user.title: has a web address"),
        ("Add the box", "**Box", "config.step.user.title: has not as many ** as the English text"),
        ('"Add the box"', "7", "title: is neither a text nor an object"),
        ('"Add the box"', '["Box"]', "title: is neither a text nor an object"),
        ('"title"', '"title": "Box", "title"', "title: stands there twice in one object"),
        ('"config": {', '"config": ', "cannot be read"),
        (_ENGLISH, "[]", "is not an object"),
    ],
)
def test_a_fault_of_a_translation_is_reported(root: Path, old: str, new: str, fault: str) -> None:
    assert old in _ENGLISH
    (root / _GERMAN).write_text(_ENGLISH.replace(old, new, 1))
    assert any(f"de.json: {fault}" in found for found in problems(root)), problems(root)


def test_a_file_of_another_language_is_reported(root: Path) -> None:
    (root / HOME / "translations" / "zh-hans.json").write_text(_ENGLISH)
    (found,) = problems(root, complete=False)
    assert "zh-hans.json: is not one of the languages" in found


@pytest.mark.parametrize(
    ("key", "text", "fits"),
    [
        ("timer", "Timer", True),
        ("timer", "Minuteneinstellung", False),
        ("timer", "タイマーを", True),
        ("timer", "タイマーが終わりました", False),
        ("timer", "Таймер", True),
        ("timer", "Таймер завершён", False),
        ("timer_ended", "好" * 66, True),
        ("timer_ended", "好" * 67, False),
        ("timer_ended", "o" * 132, True),
        ("timer_ended", "o" * 133, False),
        # What stands in for a placeholder has a limit of its own.
        ("timer_ended_named", "o" * 130 + "{timer}", True),
        ("asleep", "o" * 500, True),
    ],
)
def test_what_a_device_shows_fits_its_screen(root: Path, key: str, text: str, fits: bool) -> None:
    english = json.loads(_ENGLISH)
    english["exceptions"][key] = {"message": "{timer}" if "{timer}" in text else "x"}
    (root / EN).write_text(json.dumps(english))
    english["exceptions"][key] = {"message": text}
    (root / _GERMAN).write_text(json.dumps(english))
    found = [fault for fault in problems(root) if "the screen of a device has room for" in fault]
    assert (not found) is fits, found


def test_every_text_that_a_device_shows_exists() -> None:
    english = json.loads((ROOT / "custom_components/xiaozhi/translations/en.json").read_text())
    assert SHOWN.keys() <= english["exceptions"].keys()


def test_what_is_missing_is_a_note_where_languages_need_not_be_complete(root: Path) -> None:
    half = json.loads(_ENGLISH)
    del half["issues"], half["config"]["abort"]
    (root / _GERMAN).write_text(json.dumps(half))
    assert problems(root, complete=False) == []
    absent, missing, outdated = notes(root)
    assert absent.endswith("no file for " + ", ".join(code for code in LANGUAGES if code != "de"))
    assert "de.json: 3 texts are missing" in missing
    assert "de.json: 22 texts are outdated" in outdated
    assert set(problems(root, complete=True)) == {absent, missing, outdated}


def test_texts_are_merged_in_the_order_of_the_english_ones_and_recorded(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["de", "--todo"], root)
    todo = json.loads(capsys.readouterr().out)
    assert todo == json.loads(_ENGLISH)

    first = tmp_path / "first.json"
    first.write_text(json.dumps({"issues": todo["issues"]}))
    rest = tmp_path / "rest.json"
    del todo["issues"]
    todo["exceptions"]["gone"]["message"] = "{name} ist weg: {reason}"
    rest.write_text(json.dumps(todo))
    assert main(["de", "--merge", str(first)], root) == 0
    assert main(["de", "--merge", str(rest)], root) == 0

    german = json.loads((root / _GERMAN).read_text())
    assert list(german) == list(json.loads(_ENGLISH))
    assert german["exceptions"]["gone"]["message"] == "{name} ist weg: {reason}"
    assert len(notes(root)) == 1
    main(["de", "--todo"], root)
    assert json.loads(capsys.readouterr().out) == {}


def test_a_text_is_outdated_when_its_english_changes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / _GERMAN).write_text(_ENGLISH)
    main(["de", "--record"], root)
    (root / EN).write_text(_ENGLISH.replace("The voice is lost.", "The voice has gone."))
    main(["de"], root)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "0 missing",
        "0 superfluous",
        "1 outdated",
        '  exceptions.voice_lost.message: "The voice has gone."',
    ]
    main([], root)
    german = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("de"))
    assert german.split()[-2:] == ["1", "outdated"]


def test_texts_that_english_does_not_have_are_not_merged(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "given.json"
    given.write_text('{"config": {"error": {"port_lost": "x"}}}')
    assert main(["de", "--merge", str(given)], root) == 1
    assert "config.error.port_lost" in capsys.readouterr().err
    assert not (root / _GERMAN).exists()
