"""The texts of Home Assistant's web page in another language, by the English ones."""

from collections.abc import Mapping
import json
from pathlib import Path
import re
from typing import Final

import hass_frontend

from scripts.validator.languages import leaves

from .processes import ROOT

_PAGE: Final = Path(hass_frontend.where()) / "static" / "translations"
_OURS: Final = ROOT / "custom_components" / "xiaozhi" / "translations"
_ENGLISH: Final = "en"
# Placeholders, and what is not shown of Markdown.
_UNSEEN: Final = re.compile(r"\{[^}]*\}|<[^>]*>|[*`\n]+|\[|\]\([^)]*\)")


class Words:
    """The texts of the page and of the integration in a language."""

    def __init__(self, language: str = _ENGLISH) -> None:
        """Read them; English ones are as they are."""
        self._pairs: list[tuple[str, str]] = []
        if language != _ENGLISH:
            for texts in _page_texts, _own_texts:
                shown = texts(language)
                self._pairs += [(text, shown.get(key, text)) for key, text in texts(_ENGLISH).items()]

    def __call__(self, text: str) -> str | re.Pattern[str]:
        """Return what is shown for a text, or all that may be; what is no text stays as it is."""
        found = {shown for english, shown in self._pairs if english == text}
        return re.compile(f"^({'|'.join(map(re.escape, sorted(found)))})[*]?$") if found else text

    def part(self, text: str) -> str | re.Pattern[str]:
        """Return what is shown for a text of which this is a part: the longest piece without placeholders."""
        pieces = [_UNSEEN.split(shown) for english, shown in self._pairs if text in english]
        found = {max(each, key=len).strip() for each in pieces}
        return re.compile("|".join(map(re.escape, sorted(found)))) if found else text


def _page_texts(language: str) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    for file in _PAGE.rglob(f"{language}-{'[0-9a-f]' * 32}.json"):
        texts |= json.loads(file.read_text())
    return texts


def _own_texts(language: str) -> Mapping[str, str]:
    found = leaves(json.loads((_OURS / f"{language}.json").read_text()))
    return {".".join(keys): text for keys, text in found}
