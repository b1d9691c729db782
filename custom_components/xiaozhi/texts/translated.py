"""Translated texts: sentences within others or for a device, names of tools, errors in their arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.util.language import matches

from ..const import DOMAIN
from ..errors import InputError, UserError
from ..protocol.mcp.tool import MAX_ARGUMENT_BYTES, ArgumentError, PropertyKind, ToolProperty
from ..tools.stock_tools import ASSETS_TOOL, PHOTO_TOOL, PREVIEW_TOOL, REBOOT_TOOL, SNAPSHOT_TOOL, stock_tool
from ..tools.tool_names import readable_name
from ..util.text import one_line

# Home Assistant imports integrations in a thread, which may look into folders.
_LANGUAGES: Final = sorted(path.stem for path in (Path(__file__).parents[1] / "translations").glob("*.json"))
_TRADITIONAL_CHINESE: Final = frozenset({"hant", "tw", "hk", "mo"})
_ARGUMENT_KEYS: Final[Mapping[PropertyKind, str]] = {
    "boolean": "argument_boolean",
    "integer": "argument_whole_number",
    "string": "argument_text",
    "array": "argument_json",
    "object": "argument_json",
    "unknown": "argument_json",
}
# Keys are whether there is a minimum, and whether there is a maximum.
_NUMBER_KEYS: Final = {
    (False, False): "argument_number",
    (True, False): "argument_number_from",
    (False, True): "argument_number_to",
    (True, True): "argument_number_between",
}
# Tools that have no entity with a name, and the action or the class of entities that is named after them.
_NAMED_ELSEWHERE: Final[Mapping[str, tuple[str, str, str]]] = {
    ASSETS_TOOL: (DOMAIN, "services", "set_assets.name"),
    PHOTO_TOOL: (DOMAIN, "services", "take_photo.name"),
    PREVIEW_TOOL: (DOMAIN, "services", "show_image.name"),
    REBOOT_TOOL: ("button", "entity_component", "restart.name"),
    SNAPSHOT_TOOL: (DOMAIN, "services", "screenshot.name"),
}


async def async_text(hass: HomeAssistant, key: str, language: str | None = None, **placeholders: str) -> str:
    """Return a sentence in a language, by default that of Home Assistant; its key if it is missing.

    The language may be any that a voice assistant has, such as de-CH or zh-HK. English replaces languages
    without translations.
    """
    wanted = language_of_texts(language or hass.config.language)
    texts = await async_get_translations(hass, wanted, "exceptions", [DOMAIN])
    return _filled(texts, key, placeholders)


def known_text(hass: HomeAssistant, key: str, **placeholders: str) -> str:
    """Return a sentence in Home Assistant's language, which is loaded at the start."""
    texts = async_get_cached_translations(hass, hass.config.language, "exceptions", DOMAIN)
    return _filled(texts, key, placeholders)


async def async_explain(hass: HomeAssistant, err: UserError) -> str:
    """Return the sentence of an error, for another text."""
    return await async_text(hass, err.key, **err.placeholders)


def language_of_texts(language: str) -> str:
    """Return the best translation for a language; English if there is none."""
    first, *others = language.replace("_", "-").lower().split("-")
    if first in ("zh", "cmn", "yue"):
        # Home Assistant names its Chinese texts by script, speech engines by region.
        traditional = first == "yue" or not _TRADITIONAL_CHINESE.isdisjoint(others)
        return "zh-Hant" if traditional and "hans" not in others else "zh-Hans"
    return next(iter(matches(language, _LANGUAGES)), "en")


def _filled(texts: dict[str, str], key: str, placeholders: dict[str, str]) -> str:
    return texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)


def argument_error(err: ArgumentError, *, tool: str, argument: str) -> InputError:
    """Return the error for a user. `tool` and `argument` are the names that the reader knows."""
    if (expected := err.expected) is None:
        return InputError("argument_unknown", tool=tool, argument=argument)
    low, high = expected.limits if expected.kind == "integer" else (expected.minimum, expected.maximum)
    return InputError(
        _argument_key(expected),
        tool=tool,
        argument=argument,
        choices=", ".join(map(str, expected.choices)),
        low=str(low),
        high=str(high),
        limit=str(MAX_ARGUMENT_BYTES),
    )


def _argument_key(expected: ToolProperty) -> str:
    if expected.choices:
        return "argument_choice"
    if expected.kind == "number":
        return _NUMBER_KEYS[expected.minimum is not None, expected.maximum is not None]
    return _ARGUMENT_KEYS[expected.kind]


@callback
def tool_words(hass: HomeAssistant, name: str, title: str = "") -> str:
    """Return the name of a tool: of its entity or action, or else from its title or name."""
    return stock_tool_words(hass, name) or one_line(title or readable_name(name), 64)


@callback
def stock_tool_words(hass: HomeAssistant, name: str) -> str | None:
    """Return the name of a stock tool: of its entity or action, or its own; None for other tools."""
    own = name.removeprefix("self.").replace(".", "_").lower()
    integration, category, end = _NAMED_ELSEWHERE.get(name) or (
        (DOMAIN, "entity", f".{key}.name")
        if (key := stock_tool(name).translation_key)
        else (DOMAIN, "selector", f".stock_tool.options.{own}")
    )
    texts = async_get_cached_translations(hass, hass.config.language, category, integration)
    return next((text for path, text in texts.items() if path.endswith(end)), None)
