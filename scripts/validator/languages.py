"""The languages of the integration: what is translated, and whether it fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from hashlib import sha256
import json
from pathlib import Path
import re
import string
from typing import Any, Final
import unicodedata

from .project import Project

__all__ = [
    "COMPLETE",
    "LANGUAGES",
    "SHOWN",
    "Keys",
    "Language",
    "check",
    "dotted",
    "fingerprint",
    "languages",
    "leaves",
    "notes",
    "placeholders",
    "records_path",
]

COMPLETE: Final = True
"""Whether every language must have every text, in its latest form. Until then what is missing is a note."""

LANGUAGES: Final = (
    *("de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt-BR", "ru", "tr", "vi", "zh-Hans", "zh-Hant"),
)
"""All besides English, as Home Assistant names them."""

type Keys = tuple[str, ...]
"""The keys that lead to a text."""


class Place(StrEnum):
    """Where on the screen of a device a text is shown."""

    STATUS = auto()
    """The line at the top, beside the icons."""
    MESSAGE = auto()
    """The lines below the face."""


SHOWN: Final[Mapping[str, Place]] = {
    "timer": Place.STATUS,
    "timer_ended": Place.MESSAGE,
    "timer_ended_named": Place.MESSAGE,
    "unasked_how_to_answer": Place.MESSAGE,
    "voice_failed": Place.MESSAGE,
    "voice_no_assistant": Place.MESSAGE,
    "voice_no_speech_to_text": Place.MESSAGE,
    "voice_no_text_to_speech": Place.MESSAGE,
    "voice_nothing_heard": Place.MESSAGE,
    "voice_nothing_understood": Place.MESSAGE,
    "voice_without_speech_to_text": Place.MESSAGE,
}
"""The texts under `exceptions` that a device shows."""

# Characters that fit a screen of 240 pixels with a font of 20: one line of about 170 pixels beside the
# icons, or six lines of 220. Chinese, Japanese and Korean characters are 20 pixels wide.
_WIDE: Final = {Place.STATUS: 8, Place.MESSAGE: 66}
_CYRILLIC: Final = {Place.STATUS: 14, Place.MESSAGE: 114}
_LATIN: Final = {Place.STATUS: 16, Place.MESSAGE: 132}

_RECORDS: Final = Path("scripts", "translated")
_FORBIDDEN: Final = {
    re.compile(r"^\s|\s$"): "begins or ends with a space",
    re.compile(r"<[a-zA-Z/][^>]*>"): "has HTML",
    re.compile(r"https?://"): "has a web address; use a placeholder",
    re.compile(r"'\{\w+\}'"): "has a placeholder in single quotes",
}
_MARKS: Final = ("**", "`")


@dataclass(frozen=True)
class Language:
    """One translation beside the English texts."""

    code: str
    path: Path
    texts: Mapping[Keys, str]
    faults: tuple[str, ...]
    """What is wrong with the file itself."""
    english: Mapping[Keys, str]
    records: Mapping[str, str]
    """Hashes of the English texts that were translated."""

    @property
    def missing(self) -> list[Keys]:
        """Texts that are not translated, in the order of the English file."""
        return [keys for keys in self.english if keys not in self.texts]

    @property
    def superfluous(self) -> list[Keys]:
        """Texts that English does not have."""
        return [keys for keys in self.texts if keys not in self.english]

    @property
    def outdated(self) -> list[Keys]:
        """Texts whose English has changed since they were translated, or that were not recorded."""
        return [
            keys
            for keys, text in self.english.items()
            if keys in self.texts and self.records.get(dotted(keys)) != fingerprint(text)
        ]


def dotted(keys: Keys) -> str:
    """Return keys as one name."""
    return ".".join(keys)


def fingerprint(text: str) -> str:
    """Return what tells one English text from its other versions."""
    return sha256(text.encode()).hexdigest()[:8]


def leaves(value: Any, path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Yield all texts of a file, with the keys that lead to them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, str(value)


def placeholders(text: str) -> frozenset[str]:
    """Return the placeholders of a text; unbalanced braces count as a placeholder."""
    try:
        return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)
    except ValueError:
        return frozenset({"{"})


def records_path(root: Path, code: str) -> Path:
    """Return the file that says which English texts a language was translated from."""
    return root / _RECORDS / f"{code}.json"


def languages(project: Project) -> list[Language]:
    """Return all translations that exist."""
    english = dict(leaves(project.texts))
    return [
        _read(project, path, english)
        for path in sorted(project.english.parent.glob("*.json"))
        if path != project.english
    ]


def _read(project: Project, path: Path, english: Mapping[Keys, str]) -> Language:
    faults: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                faults.append(f"{key}: stands there twice in one object")
            if not isinstance(value, dict | str):
                faults.append(f"{key}: is neither a text nor an object")
            found[key] = value
        return found

    content: Any = {}
    try:
        content = json.loads(path.read_text(), object_pairs_hook=once)
    except ValueError as err:
        faults.append(f"cannot be read: {err}")
    if not isinstance(content, dict):
        faults.append("is not an object")
        content = {}
    return Language(
        code=path.stem,
        path=path,
        texts=dict(leaves(content)),
        faults=tuple(faults),
        english=english,
        records=project.read(records_path(project.root, path.stem)),
    )


def check(project: Project, *, complete: bool) -> Iterator[str]:
    """Return the faults of all languages, English included."""
    for keys, text in leaves(project.texts):
        for fault in _faults_of_text(keys, text, _LATIN):
            yield project.fault(project.english, f"{dotted(keys)}: {fault}")
    for language in languages(project):
        for fault in _faults(language):
            yield project.fault(language.path, fault)
    if complete:
        yield from notes(project)


def notes(project: Project) -> Iterator[str]:
    """Return what is not translated yet."""
    found = languages(project)
    if absent := sorted(set(LANGUAGES) - {language.code for language in found}):
        yield project.fault(project.english.parent, f"no file for {', '.join(absent)}")
    for language in found:
        for number, what in ((len(language.missing), "missing"), (len(language.outdated), "outdated")):
            if number:
                fault = f"{number} texts are {what}; scripts/translations {language.code} lists them"
                yield project.fault(language.path, fault)


def _faults(language: Language) -> Iterator[str]:
    yield from language.faults
    if language.code not in LANGUAGES:
        yield f"is not one of the languages {', '.join(LANGUAGES)}"
    for keys in language.superfluous:
        yield f"{dotted(keys)}: is not in the English texts"
    for keys, text in language.texts.items():
        if (english := language.english.get(keys)) is None:
            continue
        found = [*_faults_of_text(keys, text, _limits(text))]
        if placeholders(text) != placeholders(english):
            found.append("has other placeholders than the English text")
        found += (
            f"has not as many {mark} as the English text"
            for mark in _MARKS
            if text.count(mark) != english.count(mark)
        )
        yield from (f"{dotted(keys)}: {fault}" for fault in found)


def _faults_of_text(keys: Keys, text: str, limits: Mapping[Place, int]) -> Iterator[str]:
    if not text.strip():
        yield "is empty"
    yield from (fault for pattern, fault in _FORBIDDEN.items() if pattern.search(text))
    if place := SHOWN.get(keys[1]) if keys[:1] == ("exceptions",) and keys[1:] else None:
        length = len(re.sub(r"\{\w+\}", "", text))
        if length > limits[place]:
            yield f"has {length} characters; the screen of a device has room for {limits[place]}"


def _limits(text: str) -> Mapping[Place, int]:
    """Return the limits of the widest script in a text."""
    if any(unicodedata.east_asian_width(character) in "WF" for character in text):
        return _WIDE
    if any("CYRILLIC" in unicodedata.name(character, "") for character in text):
        return _CYRILLIC
    return _LATIN
