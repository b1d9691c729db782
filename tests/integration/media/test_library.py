"""The media library, as far as a device can play it."""

from pathlib import Path
from unittest.mock import Mock

from homeassistant.components.media_player import BrowseError, MediaClass, SearchMedia, SearchMediaQuery
from homeassistant.components.media_source import BrowseMediaSource, MediaSource, MediaSourceItem
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockModule, mock_integration, mock_platform

from custom_components.xiaozhi.media.library import browse, search, spoken_text


class Stations(MediaSource):
    """A source with two stations and a film, which can be searched."""

    name = "Stations"

    def __init__(self) -> None:
        super().__init__("stations")

    async def async_search_media(self, item: MediaSourceItem, query: SearchMediaQuery) -> SearchMedia:
        kinds = {"jazz": "audio/mpeg", "rock": "music", "film": "video/mp4"}
        return SearchMedia(
            result=[
                BrowseMediaSource(
                    domain="stations",
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


class Silent(MediaSource):
    """A source that cannot be searched."""


@pytest.fixture
async def library(hass: HomeAssistant, tmp_path: Path) -> None:
    """A library with local files, and a source of stations."""
    for name in ("song.mp3", "film.mp4", "picture.jpg"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder").mkdir()
    hass.config.media_dirs = {"local": str(tmp_path)}

    async def get_stations(hass: HomeAssistant) -> Stations:
        return Stations()

    async def get_silent(hass: HomeAssistant) -> Silent:
        return Silent("silent")

    mock_integration(hass, MockModule("silent"))
    mock_platform(hass, "silent.media_source", Mock(async_get_media_source=get_silent))
    mock_integration(hass, MockModule("stations"))
    mock_platform(hass, "stations.media_source", Mock(async_get_media_source=get_stations))
    assert await async_setup_component(hass, "media_source", {})
    assert await async_setup_component(hass, "silent", {})
    assert await async_setup_component(hass, "stations", {})
    await hass.async_block_till_done()


@pytest.mark.usefixtures("library")
async def test_folders_and_sounds_are_shown_and_found_in_every_source_that_can_be_searched_and_nothing_else(
    hass: HomeAssistant,
) -> None:
    root = await browse(hass, None)
    assert {child.title for child in root.children or ()} >= {"My media", "Stations"}
    local = await browse(hass, "media-source://media_source/local/.")
    assert [child.title for child in local.children or ()] == ["folder", "song.mp3"]
    for media_id in (None, "media-source://stations"):
        query = SearchMediaQuery(search_query="jazz", media_content_id=media_id)
        found = await search(hass, query)
        assert [item.media_content_id for item in found.result] == [
            "media-source://stations/jazz",
            "media-source://stations/rock",
        ]
    with pytest.raises(BrowseError):
        await search(hass, SearchMediaQuery(search_query="a", media_content_id="media-source://nothing"))


async def test_the_text_of_speech_is_known() -> None:
    for media_id, text in {
        "media-source://tts/tts.piper?message=Dinner+is+ready.&language=en": "Dinner is ready.",
        "media-source://tts/http://[?message=a": "",
        "media-source://media_source/local/a.mp3": "",
        "http://radio.example/": "",
    }.items():
        assert spoken_text(media_id) == text
