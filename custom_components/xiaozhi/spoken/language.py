"""The data of a language, `languages/<code>.json`, as patterns. `languages/README.md` describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
import json
from pathlib import Path
import re
from typing import Any, Final
import unicodedata

from ..texts.translated import language_of_texts

_FOLDER: Final = Path(__file__).parent / "languages"
_TEMPLATE: Final = re.compile(r"\{(\w+)\}|([()\[\]|])|( +)|([^\s()\[\]|{}]+)")
_SYNTAX: Final = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|"}
_PUNCTUATION: Final = re.compile(r"[.,;:!?…](?!\d)|(?<!\d)[.,;:!?…]|[。、؟]")
# Speech recognition writes Chinese and Japanese with and without spaces around digits and foreign words.
_AROUND_UNSPACED: Final = re.compile(r"\s*([\u3040-\u30ff\u3400-\u9fff])\s*")
_DIGITS_AND_LETTERS: Final = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
# Kinds after which a day may be shortened, as in 周一三五.
_WEEKDAYS: Final = {"weekday", "more_weekday"}
_DIGITS: Final = {"number": r"\d{1,3}", "minute": r"[0-5]?\d", "mm": r"[0-5]\d", "hour": r"2[0-4]|[01]?\d"}


@dataclass(frozen=True, slots=True)
class Element:
    """Words with a meaning, such as a time or a day."""

    kind: str
    value: Any
    """Value in the data."""
    numbers: Mapping[str, int]
    """Numbers of its placeholders."""
    is_exact: bool
    """Whether a time is written with a zero in front, as the 24-hour clock does."""
    end: int
    """End in the text."""


class Language:
    """The words of one language."""

    def __init__(self, code: str, data: dict[str, Any]) -> None:
        self.code = code
        self.sentences: dict[str, list[str]] = data["sentences"]
        self.days = [*data["days"], *data["weekdays"]]
        """Templates of days."""
        self.said: dict[str, Any] = data["said"]
        self._is_spaced: bool = data["spaces"]
        # A word is not a part of another one; without spaces, a number is not.
        inner = r"\w" if self._is_spaced else r"\d"
        self._pattern = rf"(?:(?<!{inner})|(?!{inner}))(?:{{}})(?!(?<={inner}){inner})"
        numbers, more = data["numbers"], data.get("more_weekdays", ())
        words = {
            "number": [*enumerate(numbers)],
            "minute": [*enumerate(numbers[:60])],
            "mm": [],
            "hour": [*enumerate(data.get("hours", numbers[:25]))],
            "month": [*enumerate(data["months"], 1)],
            "weekday": [*enumerate(data["weekdays"])],
            "until": [
                *enumerate(
                    map("|".join, zip(data["weekdays"], more, strict=True)) if more else data["weekdays"]
                )
            ],
        }
        self._words = {
            name: [(number, re.compile(_regex(each, {}), re.IGNORECASE)) for number, each in listed]
            for name, listed in words.items()
        }
        # Longer words first: a pattern takes the first that fits.
        placeholders = {
            name: "|".join(
                ([_DIGITS[name]] if name in _DIGITS else [])
                + sorted((f"(?:{_regex(each, {})})" for _, each in listed), key=len, reverse=True)
            )
            for name, listed in words.items()
        }
        kinds: dict[str, dict[str, Any]] = {
            "time": data["times"],
            "delay": data["durations"],
            "date": dict.fromkeys(data["dates"]),
            # Of equal length, the first one counts.
            "weekday": {each: number for number, each in enumerate(data.get("each_weekday", ()))}
            | {"{weekday}": None}
            | dict.fromkeys(data["ranges"], "range"),
            "more_weekday": {each: number for number, each in enumerate(more)},
            "repeat": data["repeat"],
            "every": dict.fromkeys(data["every"]),
            "day": data["days"],
            "part": data["parts"],
            "filler": dict.fromkeys(data["filler"]),
        }
        self._patterns = [
            (kind, value, self._compiled(template, placeholders))
            for kind, templates in kinds.items()
            for template, value in templates.items()
        ]
        self._everyone = re.compile(_either(data["everyone"]), re.IGNORECASE)
        self._before_text = self._at_start(data["before_text"])
        self._before_name = self._at_start(data["before_name"])
        self._after_text = re.compile(rf"(?:{_either(data['after_text'])})$", re.IGNORECASE)

    def _at_start(self, templates: list[str]) -> re.Pattern[str]:
        return re.compile("^" + self._pattern.format(_either(templates)), re.IGNORECASE)

    def _compiled(self, template: str, placeholders: Mapping[str, str]) -> re.Pattern[str]:
        return re.compile(self._pattern.format(_regex(template, placeholders)), re.IGNORECASE)

    def elements(self, text: str, start: int, known: dict[int, Element | None]) -> list[Element]:
        """Return the elements from a position on, up to the first words without a meaning.

        `known` caches the elements of this text, so that the time does not grow with its square.
        """
        found: list[Element] = []
        while True:
            if start not in known:
                known[start] = self._element(text, start)
            element = known[start]
            if element is None or (
                element.kind == "more_weekday" and not _WEEKDAYS & {each.kind for each in found[-2:]}
            ):
                # Not at the beginning of other words.
                while found and found[-1].kind == "more_weekday" and found[-1].end < len(text):
                    found.pop()
                return found
            found.append(element)
            start = element.end

    def _element(self, text: str, start: int) -> Element | None:
        """Return the longest element at a position."""
        start += len(text[start:]) - len(text[start:].lstrip())
        matches = ((kind, value, pattern.match(text, start)) for kind, value, pattern in self._patterns)
        found = [(kind, value, match) for kind, value, match in matches if match and match[0].strip()]
        if not found:
            return None
        kind, value, match = max(found, key=lambda each: each[2].end())
        written = {name: words for name, words in match.groupdict().items() if words is not None}
        numbers = {name: self._number(name, words) for name, words in written.items()}
        return Element(kind, value, numbers, written.get("hour", "").startswith("0"), match.end())

    def _number(self, name: str, written: str) -> int:
        if written.isdecimal():
            return int(written)
        return next(number for number, words in self._words[name] if words.fullmatch(written))

    def text(self, words: str) -> str:
        """Return the text of a reminder without the words around it, such as "to" in "remind me to"."""
        return self._after_text.sub("", self._before_text.sub("", words.strip(), count=1)).strip()

    def name(self, words: str) -> str | None:
        """Return the name in words such as "called work"."""
        match = self._before_name.match(words.strip())
        return words.strip()[match.end() :].strip() if match else None

    def means_everyone(self, words: str) -> bool:
        """Whether words such as "everyone" stand for all devices."""
        return self._everyone.fullmatch(self.plain(words)) is not None

    def plain(self, words: str) -> str:
        """Return words in one form of characters and spaces, without punctuation except within times."""
        text = unicodedata.normalize("NFKC", words).replace("’", "'")
        text = _PUNCTUATION.sub(" ", text)
        if self._is_spaced:
            text = _DIGITS_AND_LETTERS.sub(" ", text)
        return _AROUND_UNSPACED.sub(r"\1", " ".join(text.split()))


@cache
def load_language(language: str) -> Language:
    """Return the data of a language, or of English without such data. Reads a file: for threads."""
    code = language_of_texts(language)
    path = _FOLDER / f"{code}.json"
    return (
        Language(code, json.loads(path.read_text(encoding="utf-8")))
        if path.is_file()
        else load_language("en")
    )


def is_known(language: str) -> bool:
    """Whether there are data of a language. Looks for a file: for threads."""
    code = language_of_texts(language)
    return code[:2] == language[:2] and (_FOLDER / f"{code}.json").is_file()


def _either(templates: list[str]) -> str:
    return "|".join(_regex(each, {}) for each in templates) or "(?!)"


def _regex(template: str, placeholders: Mapping[str, str]) -> str:
    """Return a template in the syntax of Home Assistant's sentences as a regular expression."""
    parts = []
    for name, syntax, space, words in _TEMPLATE.findall(template):
        if name:
            parts.append(f"(?P<{name}>{placeholders[name]})")
        else:
            parts.append(_SYNTAX[syntax] if syntax else r"\s+" if space else re.escape(words))
    return "".join(parts)
