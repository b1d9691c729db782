"""The media library, as far as it can be heard."""

from typing import Final

from homeassistant.components import media_source
from homeassistant.components.media_player import BrowseMedia, SearchMedia, SearchMediaQuery
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError

_MAX_FOUND: Final = 50


async def search_sounds(hass: HomeAssistant, query: SearchMediaQuery) -> SearchMedia:
    """Return what is found in a folder, or in all sources that can be searched. Raises `BrowseError`."""
    if query.media_content_id:
        found = await media_source.async_search_media(hass, query.media_content_id, query)
        return SearchMedia(result=_sounds(found)[:_MAX_FOUND])
    result: list[BrowseMedia] = []
    for source in (await media_source.async_browse_media(hass, None, content_filter=is_sound)).children or ():
        try:
            found = await media_source.async_search_media(hass, source.media_content_id, query)
        except HomeAssistantError, NotImplementedError:
            continue
        result += _sounds(found)
    return SearchMedia(result=result[:_MAX_FOUND])


def _sounds(found: SearchMedia) -> list[BrowseMedia]:
    return [item for item in found.result if item.can_play and is_sound(item)]


def is_sound(item: BrowseMedia) -> bool:
    """Whether something of the library can be heard."""
    kind = item.media_content_type or ""
    return kind.startswith("audio/") or kind in _SOUNDS


_SOUNDS: Final = frozenset({"music", "track", "podcast", "episode", "playlist", "application/ogg"})
