"""What the media browser of a device shows, and what its search finds."""

from itertools import product
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

from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests.media.source import find_media, is_sound, media_name, search_sounds
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


LIBRARY = "media-source://media_source/local"
SONGS = ("song.mp3", "Was? 100% #1: A&B.mp3", "Musik/Größe.mp3", "My%20Song.mp3", "a b.mp3")


@pytest.fixture
async def library(hass: HomeAssistant, tmp_path: Path) -> Path:
    """A folder of the media library, which the test fills, with songs in it."""
    folder = tmp_path / "media"
    for name in SONGS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (tmp_path / "outside.mp3").write_bytes(b"")
    hass.config.media_dirs = {"local": str(folder)}
    assert await async_setup_component(hass, "media_source", {})
    return folder


async def input_of(hass: HomeAssistant, name: str) -> str:
    """Return what ffmpeg is to open for something in the library."""
    found = await find_media(hass, f"{LIBRARY}/{name}", None)
    assert isinstance(found, tuple)
    return found[-1]


@pytest.mark.own_home
async def test_a_playlist_of_the_library_leads_to_its_first_song(hass: HomeAssistant, library: Path) -> None:
    forms = ("plain", "BOM and CR LF", "in a folder", "second")
    for suffix, form, song in product(("m3u", "m3u8", "pls", "M3U"), forms, SONGS):
        entry = f"../{song}" if form == "in a folder" else song
        text = f"[playlist]\nFile1={entry}\n" if suffix == "pls" else f"#EXTM3U\n#EXTINF:2,\tA\n{entry}\n"
        path = "Musik/list." if form == "in a folder" else "list."
        if form == "BOM and CR LF":
            text = "\ufeff" + text.replace("\n", "\r\n")
        (library / (path + suffix)).write_bytes(text.encode())
        if form == "second":
            path = "outer."
            (library / (path + suffix)).write_text(f"list.{suffix}\n")
        assert await input_of(hass, path + suffix) == f"file:{library / song}", form


@pytest.mark.own_home
async def test_entries_are_written_in_many_ways_or_lead_to_a_station(
    hass: HomeAssistant, library: Path
) -> None:
    for entry, leads_to in (
        (b"Musik\\Gr\xc3\xb6\xc3\x9fe.mp3", "Musik/Größe.mp3"),
        (b"Musik/Gr\xf6\xdfe.mp3", "Musik/Größe.mp3"),
        (b"a%20b.mp3", "a b.mp3"),
        (b"My%20Song.mp3", "My%20Song.mp3"),
        (f"{library}/song.mp3".encode(), "song.mp3"),
        (b"./Musik/../song.mp3", "song.mp3"),
        (b"gone.mp3", "gone.mp3"),
    ):
        (library / "list.m3u").write_bytes(entry)
        assert await input_of(hass, "list.m3u") == f"file:{library / leads_to}"
    station = "http://127.0.0.1/listen?id=3"
    (library / "radio.pls").write_text(f"[playlist]\nFile1={station}\n")
    assert await input_of(hass, "radio.pls") == station


@pytest.mark.own_home
async def test_a_playlist_of_the_library_leads_nowhere_else(hass: HomeAssistant, library: Path) -> None:
    """Neither out of the library, nor around in a circle."""
    for text in (
        "../outside.mp3",
        "/etc/outside.mp3",
        "../../../../../../etc/passwd.mp3",
        "file:///etc/passwd",
        "",
        "#EXTM3U\n",
        "<html>",
        "a\0b.mp3",
        "list.m3u",
        "#EXTM3U\n#EXT-X-VERSION:3\nsong.mp3\n",
        "#\n" * 40_000 + "song.mp3",
    ):
        (library / "list.m3u").write_text(text)
        with pytest.raises(UserError):
            await find_media(hass, f"{LIBRARY}/list.m3u", None)


async def test_the_name_of_a_file_is_no_address() -> None:
    for song in SONGS:
        assert media_name(f"{LIBRARY}/{song}") == song.rpartition("/")[2]
    assert media_name("https://user:secret@example.com/songs/A%20song.mp3?token=secret") == "A song.mp3"
    assert media_name("media-source://tts/tts.voice?message=secret") == "tts.voice"
