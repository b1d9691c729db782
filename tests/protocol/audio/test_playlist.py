"""Playlists of internet radio and of HTTP Live Streaming."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.playlist import (
    ByteRange,
    HlsPlaylist,
    HlsVariants,
    PlaylistEntry,
    PlaylistError,
    PlaylistFault,
    Resource,
    Segment,
    SongList,
    is_playlist,
    parse_playlist,
)

BASE = "http://radio.example/lists/main.m3u8?key=1"


@pytest.mark.parametrize(
    ("media_type", "address", "beginning", "expected"),
    [
        ("audio/mpeg", "http://radio.example/", b"#EXTM3U\n", True),
        ("audio/mpeg", "http://radio.example/", b"\xef\xbb\xbf#EXTM3U\n", True),
        ("text/plain", "http://radio.example/", b"[playlist]\n", True),
        ("audio/x-mpegurl", "http://radio.example/", b"http://radio.example/live\n", True),
        ("text/plain", "http://radio.example/List.M3U?a=b", b"song.mp3\n", True),
        ("audio/x-mpegurl", "http://radio.example/", b"\xff\xfb\x90\x00", False),
        ("text/plain", "http://radio.example/a.pls", b"ID3\x04\x00\x00", False),
        ("audio/mpeg", "http://radio.example/", b"http", False),
        ("audio/x-mpegurl", "http://radio.example/", b"", False),
    ],
)
def test_a_playlist_is_known_by_its_beginning_or_by_its_name_unless_it_is_sound(
    media_type: str, address: str, beginning: bytes, expected: bool
) -> None:
    assert is_playlist(media_type, address, beginning) is expected


def test_m3u() -> None:
    text = (
        "\ufeff#EXTM3U\r\n#EXTINF:-1,Jazz FM\r\n/live\r\n\r\n# a comment\r\nhttps://other.example/a.mp3\r\n"
    )
    assert parse_playlist(text, BASE) == SongList(
        (
            PlaylistEntry("http://radio.example/live", "Jazz FM"),
            PlaylistEntry("https://other.example/a.mp3"),
        )
    )


def test_pls() -> None:
    text = (
        "[Playlist]\nNumberOfEntries=2\nFile2=b.mp3\ntitle2=B\nFile1 = http://other.example/a\nLength1=-1\n"
    )
    assert parse_playlist(text, BASE) == SongList(
        (
            PlaylistEntry("http://other.example/a"),
            PlaylistEntry("http://radio.example/lists/b.mp3", "B"),
        )
    )


def test_hls() -> None:
    text = """#EXTM3U
#EXT-X-TARGETDURATION:6
#EXT-X-MEDIA-SEQUENCE:17
#EXT-X-KEY:METHOD=NONE
#EXT-X-MAP:URI="head.mp4",BYTERANGE="700@20"
#EXTINF:5.5,
#EXT-X-BYTERANGE:1000@720
all.mp4
#EXT-X-BYTERANGE:500
#EXTINF:6,
all.mp4
#EXT-X-DISCONTINUITY
#EXTINF:rubbish
b.mp4
#EXT-X-ENDLIST
"""
    head = Resource("http://radio.example/lists/head.mp4", ByteRange(20, 700))
    one = Resource("http://radio.example/lists/all.mp4", ByteRange(720, 1000))
    two = Resource("http://radio.example/lists/all.mp4", ByteRange(1720, 500))
    three = Resource("http://radio.example/lists/b.mp4")
    assert parse_playlist(text, BASE) == HlsPlaylist(
        (
            Segment(one, 5.5, head),
            Segment(two, 6, head),
            Segment(three, 0, head, breaks=True),
        ),
        first_number=17,
        target=6,
        complete=True,
    )


VARIANTS = {
    "small film": '#EXT-X-STREAM-INF:BANDWIDTH=400000,CODECS="avc1.4d401e,mp4a.40.2"\nsmall-film\n',
    "film": "#EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=640x360\nfilm\n",
    "poor": '#EXT-X-STREAM-INF:BANDWIDTH=32000,CODECS="mp4a.40.5"\npoor\n',
    "good": '#EXT-X-STREAM-INF:CODECS="mp4a.40.2",BANDWIDTH=130000\ngood\n',
    "best": "#EXT-X-STREAM-INF:BANDWIDTH=320000\nbest\n",
    "better": "#EXT-X-STREAM-INF:BANDWIDTH=256000\nbetter\n",
}


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["small film", "film", "poor", "good", "best"], "good"),
        (["best", "better", "film"], "better"),
        (["film", "small film"], "small-film"),
    ],
)
def test_of_several_qualities_the_best_that_can_be_heard_is_chosen(names: list[str], chosen: str) -> None:
    text = "#EXTM3U\n" + "".join(VARIANTS[name] for name in names)
    assert parse_playlist(text, BASE) == HlsVariants(f"http://radio.example/lists/{chosen}")


def test_a_film_with_a_sound_of_its_own_needs_no_pictures() -> None:
    text = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",URI="de.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",DEFAULT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="a",URI="text.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=640x360,AUDIO="a"
film.m3u8
"""
    assert parse_playlist(text, BASE) == HlsVariants("http://radio.example/lists/en.m3u8")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("#EXTM3U\nfile:///etc/passwd\n", PlaylistFault.BAD_ENTRY),
        ("#EXTM3U\nhttp://[\n", PlaylistFault.BAD_ENTRY),
        ("[playlist]\nFile1=concat:a|b\n", PlaylistFault.BAD_ENTRY),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nfile:///etc/passwd\n", PlaylistFault.BAD_ENTRY),
        ('#EXTM3U\n#EXT-X-MAP:URI="data:,x"\n', PlaylistFault.BAD_ENTRY),
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nrtmp://radio.example/\n", PlaylistFault.BAD_ENTRY),
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n", PlaylistFault.EMPTY),
        ('#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="key"\n', PlaylistFault.ENCRYPTED),
    ],
)
def test_a_playlist_that_leads_nowhere_is_refused(text: str, fault: PlaylistFault) -> None:
    with pytest.raises(PlaylistError) as caught:
        parse_playlist(text, BASE)
    assert caught.value.fault is fault


def test_a_playlist_of_any_length_has_a_bounded_number_of_entries() -> None:
    assert len(parse_list("#EXTM3U\n" + "a.mp3\n" * 9000)) == 2000
    assert len(parse_list("[playlist]\n" + "".join(f"File{n}=a\n" for n in range(9000)))) == 2000
    playlist = parse_playlist("#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + "a.ts\n" * 9000, BASE)
    assert isinstance(playlist, HlsPlaylist)
    assert len(playlist.segments) == 2000


def parse_list(text: str) -> tuple[PlaylistEntry, ...]:
    """Read a playlist of songs."""
    playlist = parse_playlist(text, BASE)
    assert isinstance(playlist, SongList)
    return playlist.entries


LINES = st.sampled_from(
    [
        "#EXTM3U",
        "[playlist]",
        "#EXTINF:6,",
        "#EXTINF:nan",
        "#EXTINF:1e999",
        "#EXT-X-TARGETDURATION:",
        "#EXT-X-TARGETDURATION:-1",
        "#EXT-X-MEDIA-SEQUENCE:99999999999999999999",
        "#EXT-X-BYTERANGE:@",
        "#EXT-X-BYTERANGE:x@y",
        "#EXT-X-MAP:BYTERANGE=1",
        "#EXT-X-STREAM-INF:",
        "#EXT-X-STREAM-INF:BANDWIDTH=²",
        "#EXT-X-MEDIA:TYPE=AUDIO",
        "File1=",
        "a.ts",
        "//[",
    ]
)


@given(st.lists(LINES | st.text(max_size=20), max_size=12))
def test_no_text_is_too_strange(lines: list[str]) -> None:
    try:
        playlist = parse_playlist("\n".join(lines), BASE)
    except PlaylistError:
        return
    if isinstance(playlist, HlsPlaylist):
        assert 1 <= playlist.target <= 3600
        assert all(0 <= segment.seconds <= 3600 for segment in playlist.segments)


@given(st.text(max_size=20), st.text(max_size=40), st.binary(max_size=20))
def test_no_answer_is_too_strange(media_type: str, path: str, beginning: bytes) -> None:
    assert is_playlist(media_type, "http://radio.example/" + path, beginning) in (True, False)
