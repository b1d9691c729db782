"""Translated sentences within other texts, and those that a device shows or reads aloud."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations

from .const import DOMAIN

__all__ = ["TextError", "async_explain", "async_text", "known_text"]


class TextError(Exception):
    """An error with a translated sentence for the user, from `exceptions` of the translations."""

    def __init__(self, key: str, **placeholders: str) -> None:
        """Use the sentence under `key`."""
        super().__init__(key, placeholders)
        self.key = key
        self.placeholders = placeholders

    def __str__(self) -> str:
        """Return the key and the placeholders, for logs."""
        return " ".join((self.key, *self.placeholders.values()))


async def async_text(hass: HomeAssistant, key: str, language: str | None = None, **placeholders: str) -> str:
    """Return a sentence in a language, by default that of Home Assistant; its key if it is missing.

    English takes the place of a language that there are no translations for.
    """
    texts = await async_get_translations(hass, language or hass.config.language, "exceptions", [DOMAIN])
    return _filled(texts, key, placeholders)


def known_text(hass: HomeAssistant, key: str, **placeholders: str) -> str:
    """Return a sentence in Home Assistant's language, which it has loaded at its start."""
    texts = async_get_cached_translations(hass, hass.config.language, "exceptions", DOMAIN)
    return _filled(texts, key, placeholders)


async def async_explain(hass: HomeAssistant, err: TextError) -> str:
    """Return the sentence of an error."""
    return await async_text(hass, err.key, **err.placeholders)


def _filled(texts: dict[str, str], key: str, placeholders: dict[str, str]) -> str:
    return texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)
