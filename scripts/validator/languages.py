"""The languages of the integration: what is translated, and whether it fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
import re
import string
from typing import Any, Final
import unicodedata

from .project import Project

LANGUAGES: Final = (
    *("de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt-BR", "ru", "tr", "vi", "zh-Hans", "zh-Hant"),
)
"""All besides English, as Home Assistant names them."""

type Keys = tuple[str, ...]
"""The keys that lead to a text."""

# Texts under `exceptions` on the screen of a device begin so; the title of a timer stands beside its icons.
_ON_SCREEN: Final = re.compile(r"question_how_to_answer|voice_.*|timer(_ended.*)?")
_TITLES: Final = {"timer"}
# Characters beside the icons and below the face, on a screen of 240 pixels with a font of 20.
_ROOM: Final = {"CJK": (8, 66), "CYRILLIC": (14, 114), "LATIN": (16, 132)}
_FORBIDDEN: Final = {
    re.compile(r"^\s|\s$"): "begins or ends with a space",
    re.compile(r"<[a-zA-Z/][^>]*>"): "has HTML",
    re.compile(r"https?://"): "has a web address; use a placeholder",
    re.compile(r"'\{\w+\}'"): "has a placeholder in single quotes",
}
# In Markdown, what follows an address without a space becomes a part of the link.
_BARE_ADDRESS: Final = re.compile(r"(?<![<(`\n])\{\w*url\}")
_MARKS: Final = ("**", "`")


@dataclass(frozen=True)
class Language:
    """One translation beside the English texts."""

    code: str
    path: Path
    texts: Mapping[Keys, str]
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
            if keys in self.texts and self.records.get(".".join(keys)) != fingerprint(text)
        ]


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
    return root / "scripts" / "translated" / f"{code}.json"


def language(project: Project, code: str) -> Language:
    """Return a translation; an empty one if there is none."""
    path = project.english.with_name(f"{code}.json")
    return Language(
        code=code,
        path=path,
        texts=dict(leaves(texts)) if (texts := project.read(path)) else {},
        english=dict(leaves(project.texts)),
        records=project.read(records_path(project.root, code)),
    )


def check(project: Project) -> Iterator[str]:
    """Yield the faults of all languages, English included."""
    for keys, text in leaves(project.texts):
        for fault in _faults_of_text(keys, text):
            yield project.fault(project.english, f"{'.'.join(keys)}: {fault}")
    for code in LANGUAGES:
        found = language(project, code)
        for what in ("missing", "outdated", "superfluous"):
            if number := len(getattr(found, what)):
                fault = f"{number} texts are {what}; scripts/translations {code} lists them"
                yield project.fault(found.path, fault)
        for keys, text in found.texts.items():
            for fault in _faults_of_translation(keys, text, found.english.get(keys, text)):
                yield project.fault(found.path, f"{'.'.join(keys)}: {fault}")


def _faults_of_translation(keys: Keys, text: str, english: str) -> Iterator[str]:
    yield from _faults_of_text(keys, text)
    if placeholders(text) != placeholders(english):
        yield "has other placeholders than the English text"
    for mark in _MARKS:
        if text.count(mark) != english.count(mark):
            yield f"has not as many {mark} as the English text"


def _faults_of_text(keys: Keys, text: str) -> Iterator[str]:
    if not text.strip():
        yield "is empty"
    yield from (fault for pattern, fault in _FORBIDDEN.items() if pattern.search(text))
    if keys[0] != "exceptions" and _BARE_ADDRESS.search(text):
        yield "has an address that is not in angle brackets"
    if keys[0] == "exceptions" and _ON_SCREEN.fullmatch(keys[1]):
        room = _ROOM[_script(text)][keys[1] not in _TITLES]
        if (length := len(re.sub(r"\{\w+\}", "", text))) > room:
            yield f"has {length} characters; the screen of a device has room for {room}"


def _script(text: str) -> str:
    """Return the script whose characters take most room."""
    if any(unicodedata.east_asian_width(character) in "WF" for character in text):
        return "CJK"
    return "CYRILLIC" if any("CYRILLIC" in unicodedata.name(c, "") for c in text) else "LATIN"
