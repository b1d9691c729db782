"""The words for a tool in messages to people, in Home Assistant's language."""

from collections.abc import Mapping
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.translation import async_get_cached_translations

from ..const import DOMAIN
from ..protocol.text import one_line
from ..tools.stock_tools import (
    ASSETS_TOOL,
    PHOTO_TOOL,
    PREVIEW_TOOL,
    REBOOT_TOOL,
    SNAPSHOT_TOOL,
    stock_tool,
)
from ..tools.tool_names import readable_name

_MAX_WORDS: Final = 64
# Tools that have no entity with a name, and the action or the class of entities that is named after them.
_NAMED_ELSEWHERE: Final[Mapping[str, tuple[str, str, str]]] = {
    ASSETS_TOOL: (DOMAIN, "services", "set_assets.name"),
    PHOTO_TOOL: (DOMAIN, "services", "take_photo.name"),
    PREVIEW_TOOL: (DOMAIN, "services", "show_image.name"),
    REBOOT_TOOL: ("button", "entity_component", "restart.name"),
    SNAPSHOT_TOOL: (DOMAIN, "services", "screenshot.name"),
}


@callback
def tool_words(hass: HomeAssistant, name: str, title: str = "") -> str:
    """Return words for a tool: as its entity or action is named, or else from its title or name."""
    return stock_tool_words(hass, name) or one_line(title or readable_name(name), _MAX_WORDS)


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
