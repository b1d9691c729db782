"""The data of a language, `languages/<code>.json`, as patterns. `languages/README.md` describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
import json
from pathlib import Path
import re
from typing import Any, Final
import unicodedata

from ...texts.translated import language_of_texts

_FOLDER: Final = Path(__file__).parent / "languages"
_TEMPLATE: Final = re.compile(r"\{(\w+)\}|([()\[\]|])|( +)|([^\s()\[\]|{}]+)")
_SYNTAX: Final = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|"}
_PUNCTUATION: Final = re.compile(r"[.,;:!?…](?!\d)|(?<!\d)[.,;:!?…]|[。、؟]")
# Speech recognition writes Chinese and Japanese with and without spaces around digits and foreign words.
_AROUND_UNSPACED: Final = re.compile(r"\s*([\u3040-\u30ff\u3400-\u9fff])\s*")
_SPACED_LETTER: Final = r"[^\W\d\u3040-\u30ff\u3400-\u9fff]"
_DIGITS_AND_LETTERS: Final = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_DIGITS: Final = {"number": r"\d{1,3}", "minute": r"[0-5]?\d", "mm": r"[0-5]\d", "hour": r"2[0-4]|[01]?\d"}
# Kinds of elements that "and" joins, and that a day may follow in short form, as in 周一三五.
_JOINED: Final = {"weekday": "day", "week": "day", "more_weekday": "day", "every": "day", "delay": "delay"}
_QUOTES: Final = ' "“”„«»「」'
_SIGNS: Final = re.compile(r"\W+")
_UNFINISHED: Final = {"and", "every"}
_WITHIN_WORD: Final = re.compile(rf"(?<={_SPACED_LETTER})(?={_SPACED_LETTER})")


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
        self.data = data
        self.said: dict[str, Any] = data["said"]
        self._is_spaced: bool = data["spaces"]
        # A word is not a part of another one; without spaces, a number is not, nor 十 of 何十.
        inner, begin = (r"\w", "") if self._is_spaced else (r"\d", "(?<![何幾几])")
        self._pattern = rf"{begin}(?:(?<!{inner})|(?!{inner}))(?:{{}})(?!(?<={inner}){inner})"
        numbers, more = data["numbers"], data.get("more_weekdays", ())
        untils = map("|".join, zip(data["weekdays"], more, strict=True)) if more else data["weekdays"]
        self.words: dict[str, list[tuple[int, str]]] = {
            "number": [*enumerate(numbers)],
            "minute": [*enumerate(numbers[:60])],
            "mm": [],
            "hour": [*enumerate(data.get("hours", numbers[:25]))],
            "month": [*enumerate(data["months"], 1)],
            "weekday": [*enumerate(data["weekdays"])],
            "until": [*enumerate(untils)],
        }
        """Templates of the placeholders, each with its number."""
        self._words = {
            name: [(number, re.compile(_regex(each, {}), re.IGNORECASE)) for number, each in listed]
            for name, listed in self.words.items()
        }
        # Longer words first: a pattern takes the first that fits.
        placeholders = {
            name: "|".join(
                ([_DIGITS[name]] if name in _DIGITS else [])
                + sorted((f"(?:{_regex(each, {})})" for _, each in listed), key=len, reverse=True)
            )
            for name, listed in self.words.items()
        }
        # Of equal length, the first one counts.
        weekdays = {each: number for number, each in enumerate(data.get("each_weekday", ()))}
        kinds: dict[str, dict[str, Any]] = {
            "time": data["times"],
            "delay": data["durations"],
            "date": dict.fromkeys(data["dates"]),
            "weekday": weekdays | {"{weekday}": None} | dict.fromkeys(data["ranges"], "range"),
            "week": data["weeks"],
            "more_weekday": {each: number for number, each in enumerate(more)},
            "repeat": data["repeat"],
            "every": dict.fromkeys(data["every"]),
            "day": data["days"],
            "part": data["parts"],
            "and": dict.fromkeys(data["and"]),
        }
        around: dict[str, str] = data["around"]
        self.elements_in = {
            kind: around.get(kind, "{}").replace("{}", f"({'|'.join(templates)})")
            for kind, templates in kinds.items()
            if templates
        }
        """Template of all elements of a kind, with the words around them."""
        self._patterns = [
            (kind, value, self._compiled(around.get(kind, "{}").replace("{}", f"({template})"), placeholders))
            for kind, templates in kinds.items()
            for template, value in templates.items()
        ]
        self._everyone = re.compile(_either(data["everyone"]), re.IGNORECASE)
        self._yes = re.compile(_either(data["yes"]), re.IGNORECASE)
        self._before_text = re.compile(self._pattern.format(_either(data["before_text"])), re.IGNORECASE)
        self._after_text = re.compile(rf"(?:{_either(data['after_text'])})$", re.IGNORECASE)
        self.text_has_word: bool = data.get("text_has_word", False)
        prefixes = [prefix for frame in around.values() if (prefix := frame.partition("{}")[0])]
        self._prefixes = re.compile(_either(prefixes), re.IGNORECASE)
        number = re.sub(r"\?P<\w+>", "?:", placeholders["number"])
        self._before_time = re.compile(
            rf"(?:{_either(data['every'])})\b|(?:{_either(prefixes)})\s*(?={number})", re.IGNORECASE
        )

    def entity_name(self, key: str) -> str:
        """Return the name of an entity or an option, such as `button.dance`; else the key. For threads."""
        platform, _, named = key.partition(".")
        name, _, option = named.partition(".")
        texts = self._entities.get(platform, {}).get(name, {})
        return str((texts.get("state", {}).get(option) if option else texts.get("name")) or key)

    @cached_property
    def _entities(self) -> Mapping[str, Any]:
        path = _FOLDER.parents[2] / "translations" / f"{self.code}.json"
        entities: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["entity"]
        return entities

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
            if element is None or not _may_follow(found, element):
                # Not at the beginning of other words.
                while found and (
                    found[-1].kind in _UNFINISHED
                    or (found[-1].kind == "more_weekday" and found[-1].end < len(text))
                ):
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

    def text(self, words: str, *, begun: bool) -> str | None:
        """Return the text of a reminder without the words around it, such as "to" in "remind me to".

        None if no text begins like this: it is a time that nobody knows, such as "in three fortnights".
        """
        words, with_word = self.without_begin(words)
        is_time = (match := self._before_time.match(words)) is not None and bool(match[0])
        if words and not (begun or with_word) and (self.text_has_word or is_time):
            return None
        return self._after_text.sub("", words).strip()

    def mentions_time(self, words: str) -> bool:
        """Whether there is a time or a day within words. In Chinese, 一点 may be some of something."""
        known: dict[int, Element | None] = {}
        starts = [match.start() for match in re.finditer(r"\S+", words)] if self._is_spaced else []
        found = [(start, self.elements(words, start, known)[:1]) for start in starts]
        # A number alone may be that of apples, unless words such as "at" come before.
        opens = (match := self._prefixes.match(words)) is not None and bool(match[0])
        return any(each and (opens or " " in words[start : each[0].end].strip()) for start, each in found)

    def mentions(self, words: str, *kinds: str, alone: bool = True) -> bool:
        """Whether there is an element of one of these kinds within words; or only one of several words."""
        known: dict[int, Element | None] = {}
        found = ((start, self.elements(words, start, known)[:1]) for start in range(len(words)))
        return any(
            each and each[0].kind in kinds and (alone or " " in words[start : each[0].end].strip())
            for start, each in found
        )

    def begins_within(self, words: str) -> bool:
        """Whether there are words with which a text begins within others."""
        return self._before_text.search(words) is not None

    def without_begin(self, words: str) -> tuple[str, bool]:
        """Return words without those with which a text begins, and whether there were any."""
        match = self._before_text.match(words.strip())
        return (words.strip()[match.end() :].strip(), True) if match else (words.strip(), False)

    def name(self, words: str) -> str:
        """Return a part of a name or text without the words before it, such as "about"."""
        words = words.strip(_QUOTES)
        return self.without_begin(words)[0].strip(_QUOTES) or words

    def means_everyone(self, words: str) -> bool:
        """Whether words such as "everyone" stand for all devices."""
        return self._everyone.fullmatch(self.plain(words)) is not None

    def means_yes(self, words: str) -> bool:
        """Whether words agree."""
        return self._yes.fullmatch(self.plain(words)) is not None

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


def folded(words: str) -> str:
    """Return words as they are compared: without signs, and with one i for the four of Turkish."""
    return _SIGNS.sub(" ", words.casefold().replace("\u0307", "").replace("ı", "i")).strip()


def splits_word(text: str, at: int) -> bool:
    """Whether a place is within a word, in scripts with spaces between words."""
    return _WITHIN_WORD.match(text, at) is not None


def _may_follow(found: list[Element], element: Element) -> bool:
    """Whether an element may follow others: "and" joins days or durations, and short days follow days."""
    before = found[-1] if found else None
    joined = found[-2] if before is not None and before.kind == "and" else before
    group = _JOINED.get(joined.kind) if joined is not None else None
    if element.kind == "and":
        return before is not None and before.kind not in _UNFINISHED and group is not None
    if element.kind == "more_weekday":
        return group == "day" and joined is not None and joined.kind != "every"
    return joined is before or group == _JOINED.get(element.kind)


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
