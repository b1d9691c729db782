"""Translated sentences within other texts, and those that a device shows or reads aloud."""

from pathlib import Path
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.util.language import matches

from ..const import DOMAIN
from ..errors import UserError

_ENGLISH: Final = "en"
# Home Assistant imports integrations in a thread, which may look into folders.
_LANGUAGES: Final = sorted(path.stem for path in (Path(__file__).parents[1] / "translations").glob("*.json"))
_TRADITIONAL_CHINESE: Final = frozenset({"hant", "tw", "hk", "mo"})


async def async_text(hass: HomeAssistant, key: str, language: str | None = None, **placeholders: str) -> str:
    """Return a sentence in a language, by default that of Home Assistant; its key if it is missing.

    The language may be any that a voice assistant has, such as de-CH or zh-HK. English takes the place of one
    that there are no translations for.
    """
    wanted = language_of_texts(language or hass.config.language)
    texts = await async_get_translations(hass, wanted, "exceptions", [DOMAIN])
    return _filled(texts, key, placeholders)


def known_text(hass: HomeAssistant, key: str, **placeholders: str) -> str:
    """Return a sentence in Home Assistant's language, which it has loaded at its start."""
    texts = async_get_cached_translations(hass, hass.config.language, "exceptions", DOMAIN)
    return _filled(texts, key, placeholders)


async def async_explain(hass: HomeAssistant, err: UserError) -> str:
    """Return the sentence of an error, for another text."""
    return await async_text(hass, err.key, **err.placeholders)


def language_of_texts(language: str) -> str:
    """Return which of the translations serves for a language; English if none does."""
    first, *others = language.replace("_", "-").lower().split("-")
    if first in ("zh", "cmn", "yue"):
        # Home Assistant names its Chinese texts by script, speech engines by region.
        traditional = first == "yue" or not _TRADITIONAL_CHINESE.isdisjoint(others)
        return "zh-Hant" if traditional and "hans" not in others else "zh-Hans"
    return next(iter(matches(language, _LANGUAGES)), _ENGLISH)


def _filled(texts: dict[str, str], key: str, placeholders: dict[str, str]) -> str:
    return texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)
