"""What the media browser of a device shows, and what its search finds."""

from pathlib import Path
from typing import override

from homeassistant.components.media_player import BrowseError, MediaClass, SearchMedia, SearchMediaQuery
from homeassistant.components.media_source import (
    BrowseMediaSource,
    MediaSource,
    MediaSourceItem,
    async_browse_media,
)
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.xiaozhi.media.source import is_sound, search_sounds
from tests.integration.media.media_server import add_media_source


class Stations(MediaSource):
    """A source with two stations and a film, which can be searched."""

    @override
    async def async_search_media(self, item: MediaSourceItem, query: SearchMediaQuery) -> SearchMedia:
        kinds = {"jazz": "audio/mpeg", "rock": "music", "film": "video/mp4"}
        return SearchMedia(
            result=[
                BrowseMediaSource(
                    domain=self.domain,
                    identifier=name,
                    media_class=MediaClass.MUSIC,
                    media_content_type=kind,
                    title=name,
                    can_play=True,
                    can_expand=False,
                )
                for name, kind in kinds.items()
            ]
        )


@pytest.mark.own_home
async def test_folders_and_sounds_are_shown_and_found_in_every_source(
    hass: HomeAssistant, tmp_path: Path
) -> None:
    for name in ("song.mp3", "film.mp4", "picture.jpg"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder").mkdir()
    hass.config.media_dirs = {"local": str(tmp_path)}
    assert await async_setup_component(hass, "media_source", {})
    for source in (Stations("stations"), MediaSource("not searched")):
        await add_media_source(hass, source)
    root = await async_browse_media(hass, None, content_filter=is_sound)
    assert {child.title for child in root.children or ()} >= {"My media", "stations"}
    local = await async_browse_media(hass, "media-source://media_source/local/.", content_filter=is_sound)
    assert [child.title for child in local.children or ()] == ["folder", "song.mp3"]
    for media_id in (None, "media-source://stations"):
        query = SearchMediaQuery(search_query="jazz", media_content_id=media_id)
        found = await search_sounds(hass, query)
        assert [item.media_content_id for item in found.result] == [
            "media-source://stations/jazz",
            "media-source://stations/rock",
        ]
    nothing = SearchMediaQuery(search_query="a", media_content_id="media-source://nothing")
    with pytest.raises(BrowseError):
        await search_sounds(hass, nothing)
