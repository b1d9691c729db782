"""Translated sentences within other texts, and those that a device shows or reads aloud."""

from pathlib import Path
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..errors import UserError

_ENGLISH: Final = "en"
_LANGUAGES: Final[HassKey[frozenset[str]]] = HassKey(f"{DOMAIN}_languages")
"""Languages that there are translations for."""
_TRADITIONAL_CHINESE: Final = frozenset({"hant", "tw", "hk", "mo"})


async def async_text(hass: HomeAssistant, key: str, language: str | None = None, **placeholders: str) -> str:
    """Return a sentence in a language, by default that of Home Assistant; its key if it is missing.

    The language may be any that a voice assistant has, such as de-CH or zh-HK. English takes the place of one
    that there are no translations for.
    """
    if _LANGUAGES not in hass.data:
        hass.data[_LANGUAGES] = await hass.async_add_executor_job(_languages)
    wanted = language_of_texts(language or hass.config.language, hass.data[_LANGUAGES])
    texts = await async_get_translations(hass, wanted, "exceptions", [DOMAIN])
    return _filled(texts, key, placeholders)


def known_text(hass: HomeAssistant, key: str, **placeholders: str) -> str:
    """Return a sentence in Home Assistant's language, which it has loaded at its start."""
    texts = async_get_cached_translations(hass, hass.config.language, "exceptions", DOMAIN)
    return _filled(texts, key, placeholders)


async def async_explain(hass: HomeAssistant, err: UserError) -> str:
    """Return the sentence of an error, for another text."""
    return await async_text(hass, err.key, **err.placeholders)


def language_of_texts(language: str, available: frozenset[str]) -> str:
    """Return which of the available translations serves for a language; English if none does."""
    known = {name.lower(): name for name in sorted(available, reverse=True)}
    wanted = language.replace("_", "-").lower()
    first, *others = wanted.split("-")
    if first in ("zh", "cmn", "yue"):
        # Home Assistant names its Chinese texts by script, speech engines by region.
        traditional = first == "yue" or not _TRADITIONAL_CHINESE.isdisjoint(others)
        wanted = "zh-hant" if traditional and "hans" not in others else "zh-hans"
    related = next((name for lower, name in known.items() if lower.startswith(f"{first}-")), _ENGLISH)
    return known.get(wanted) or known.get(first) or related


def _languages() -> frozenset[str]:
    return frozenset(path.stem for path in (Path(__file__).parents[1] / "translations").glob("*.json"))


def _filled(texts: dict[str, str], key: str, placeholders: dict[str, str]) -> str:
    return texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)
