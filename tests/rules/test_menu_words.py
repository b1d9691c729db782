"""Each path of menus in a translation has the words of Home Assistant's pages in that language."""

from collections.abc import Mapping
from functools import cache
import json
from pathlib import Path
import re
from typing import Final

import hass_frontend
from homeassistant.const import MAJOR_VERSION, MINOR_VERSION
import pytest

from scripts.validator.languages import LANGUAGES, Keys, leaves
from tests.paths import ROOT

_PAGES: Final = Path(hass_frontend.__file__).parent / "static" / "translations"
_HASH: Final = re.compile("-[0-9a-f]+")
_ARROW: Final = " → "
# Where Home Assistant has the word of a menu. What is not here has the same name in all languages.
_WORDS: Final[Mapping[str, str]] = {
    "Settings": "panel.config",
    "Devices & services": "ui.panel.config.dashboard.devices.main",
    "Add integration": "ui.panel.config.integrations.add_integration",
    "Reconfigure": "ui.panel.config.integrations.config_entry.reconfigure",
    "Voice assistants": "ui.panel.config.dashboard.voice_assistants.main",
    "Expose": "ui.panel.config.voice_assistants.expose.caption",
    "System": "ui.panel.config.dashboard.system.main",
    "Logs": "ui.panel.config.logs.caption",
    "AI": "ui.panel.config.ai.caption",
    "AI suggestions": "ui.panel.config.ai_task.header",
    "Data generation tasks": "ui.panel.config.ai_task.gen_data_header",
}
_NAMED: Final[Mapping[str, str]] = {
    "**Discovered**": "ui.panel.config.integrations.discovered",
    "Press Add there": "ui.common.add",
}
"""Other places where an English text names what is on the page."""
_OWN: Final[Mapping[str, Keys]] = {
    "**Add device**": ("config_subentries", "device", "initiate_flow", "user"),
    "Change XiaoZhi cloud": ("config_subentries", "access_point", "initiate_flow", "reconfigure"),
}
"""The same, for what has its name from these translations."""
_SAME: Final = frozenset({"XiaoZhi", "⋮"})
_STEP: Final = f"(?:{'|'.join(sorted({*_WORDS, *_SAME}, key=len, reverse=True))})"
_PATH: Final = re.compile(f"{_STEP}(?:{_ARROW}{_STEP})+")


@cache
def _frontend(language: str) -> Mapping[str, str]:
    """Return the words of Home Assistant's pages; English where one is not translated."""
    words: dict[str, str] = {}
    for code in dict.fromkeys(("en", language)):
        for part in (_PAGES, _PAGES / "config"):
            (file,) = (
                path for path in part.glob(f"{code}-*.json") if _HASH.fullmatch(path.stem.removeprefix(code))
            )
            words |= json.loads(file.read_text())
    named = {shown: words[key] for shown, key in (*_WORDS.items(), *_NAMED.items())}
    return named | {"XiaoZhi": _texts(language)[("title",)], "⋮": "⋮"}


@cache
def _texts(language: str) -> Mapping[Keys, str]:
    path = ROOT / "custom_components" / "xiaozhi" / "translations" / f"{language}.json"
    return dict(leaves(json.loads(path.read_text())))


def test_frontend_has_every_word() -> None:
    assert all(_frontend("en")[word] == word for word in _WORDS)
    assert _frontend("de")["Settings"] == "Einstellungen"


@pytest.mark.skipif((MAJOR_VERSION, MINOR_VERSION) < (2026, 11), reason="texts have the words of the newest")
@pytest.mark.parametrize("language", LANGUAGES)
def test_paths_have_the_words_of_the_language(language: str) -> None:
    words, translated = _frontend(language), _texts(language)
    wrong: list[str] = []
    for keys, english in _texts("en").items():
        paths = _PATH.findall(english)
        assert sum(path.count(_ARROW) for path in paths) == english.count(_ARROW), english
        for path in paths if keys in translated else ():
            expected = _ARROW.join(words[step] for step in path.split(_ARROW))
            if expected not in translated[keys]:
                wrong.append(f"{'.'.join(keys)}: {expected} is not in: {translated[keys]}")
        named = {mark: words[mark] for mark in _NAMED} | {mark: translated[own] for mark, own in _OWN.items()}
        wrong += [
            f"{'.'.join(keys)}: {name} is not in: {translated[keys]}"
            for mark, name in named.items()
            if mark in english and name not in translated.get(keys, name) and english != mark
        ]
    assert not wrong, "\n".join(wrong)
