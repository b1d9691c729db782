"""Any media as one stream of PCM, from real servers on the loopback interface."""

import asyncio
from collections.abc import AsyncIterator, Iterator
import threading
from typing import Any

from aiohttp import web
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.xiaozhi.media.errors import MediaProblem, PlaybackError
from custom_components.xiaozhi.media.stream import MediaStream
from custom_components.xiaozhi.protocol.clock import loop_time
from custom_components.xiaozhi.timeouts import MediaTimeouts
from tests.integration.boxes import Speech
from tests.integration.media.media_server import MediaServer, music, with_titles
from tests.protocol.audio.sounds import pitch_level

RATE = 24000
SECOND = 2 * RATE


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    """Every stream must end its thread."""
    yield
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("xiaozhi-media")]


@pytest.fixture(autouse=True)
async def short_steps() -> AsyncIterator[None]:
    """Let the clock jump by short steps, so that it does not overtake a decoder on a busy machine."""
    loop = asyncio.get_running_loop()

    def tick() -> None:
        nonlocal timer
        timer = loop.call_later(0.05, tick)

    timer = loop.call_later(0.05, tick)
    yield
    timer.cancel()


class Player:
    """Takes all of a stream, and remembers its titles."""

    def __init__(self, hass: HomeAssistant, media_id: str, **options: Any) -> None:
        self.stream = MediaStream(
            hass,
            media_id,
            sample_rate=RATE,
            timeouts=MediaTimeouts(),
            on_change=lambda: self.titles.append(self.stream.title),
            **options,
        )
        self.titles: list[str] = []
        self.pcm = bytearray()

    async def play(self, seconds: float | None = None) -> None:
        """Take it, or some seconds of it."""
        pcm = self.stream.pcm()
        try:
            await self.stream.open()
            async for piece in pcm:
                self.pcm += piece
                if seconds is not None and self.seconds >= seconds:
                    break
        finally:
            await pcm.aclose()
            await self.stream.close()

    @property
    def seconds(self) -> float:
        """Seconds of sound."""
        return len(self.pcm) / SECOND

    def changes(self) -> list[str]:
        """Return the titles in order, each once in a row."""
        return [
            title for title, before in zip(self.titles, ["", *self.titles], strict=False) if title != before
        ]


async def play(hass: HomeAssistant, media_id: str, seconds: float | None = None, **options: Any) -> Player:
    """Play media, or some seconds of them."""
    player = Player(hass, media_id, **options)
    async with asyncio.timeout(120):
        await player.play(seconds)
    return player


async def problem_of(hass: HomeAssistant, media_id: str) -> PlaybackError:
    """Return the error that ends it."""
    with pytest.raises(PlaybackError) as caught:
        await play(hass, media_id)
    return caught.value


@pytest.mark.parametrize(
    ("name", "container", "codec", "options"),
    [
        ("song.mp3", "mp3", "libmp3lame", None),
        ("song.aac", "adts", "aac", None),
        ("song.flac", "flac", "flac", None),
        ("song.ogg", "ogg", "libopus", None),
        ("song.oga", "ogg", "flac", None),
        ("song.wav", "wav", "pcm_s16le", None),
        ("song.m4a", "mp4", "aac", {"movflags": "frag_keyframe+empty_moov"}),
        ("song.webm", "webm", "libopus", None),
        ("song.ts", "mpegts", "aac", None),
        ("stream", "mp3", "libmp3lame", None),
    ],
)
async def test_files_of_every_usual_kind_are_played_from_the_web(
    hass: HomeAssistant, server: MediaServer, name: str, container: str, codec: str, options: Any
) -> None:
    address = server.file(f"/{name}", music(3, container, codec, options=options))
    player = await play(hass, address)
    assert player.seconds == pytest.approx(3, abs=0.2)
    assert pitch_level(bytes(player.pcm[SECOND : 2 * SECOND]), RATE, 440) > 5000
    assert player.stream.title == name


async def test_radio_tells_its_name_and_its_songs(hass: HomeAssistant, server: MediaServer) -> None:
    data = with_titles(music(8), 8000, {0: "Miles Davis - So What", 6: "Nina Simone - Sinnerman\x1b[0m"})
    server.pieces(
        "/jazz",
        [data[i : i + 1000] for i in range(0, len(data), 1000)],
        headers={"icy-metaint": "8000", "icy-name": "Jazz FM", "Content-Type": "audio/mpeg"},
    )
    player = await play(hass, server.url("/jazz"))
    assert server.asked[0].headers["Icy-MetaData"] == "1"
    assert player.seconds == pytest.approx(8, abs=0.2)
    assert player.stream.station == "Jazz FM"
    assert player.changes() == ["Jazz FM", "Miles Davis - So What", "Nina Simone - Sinnerman [0m"]


async def test_chained_ogg_is_one_stream_with_the_title_of_each_song(
    hass: HomeAssistant, server: MediaServer
) -> None:
    songs = [
        music(2, "ogg", "libopus", title="First", hertz=440),
        music(2, "ogg", "flac", title="Second", hertz=880),
        music(2, "ogg", "libopus", title="Third", hertz=660),
    ]
    player = await play(hass, server.file("/radio.ogg", b"".join(songs)))
    assert player.seconds == pytest.approx(6, abs=0.2)
    for start, hertz in ((0.5, 440), (2.5, 880), (4.5, 660)):
        middle = bytes(player.pcm[int(start * SECOND) // 2 * 2 :][:SECOND])
        assert pitch_level(middle, RATE, hertz) > 5000
    assert player.changes()[-3:] == ["First", "Second", "Third"]


def hls(target: int, *lines: str) -> str:
    """Return a playlist of segments."""
    return "\n".join(["#EXTM3U", "#EXT-X-VERSION:6", f"#EXT-X-TARGETDURATION:{target}", *lines])


@pytest.mark.parametrize(("container", "suffix"), [("mpegts", "ts"), ("adts", "aac")])
async def test_hls_plays_all_segments_of_the_best_sound(
    hass: HomeAssistant, server: MediaServer, container: str, suffix: str
) -> None:
    for number in range(4):
        server.file(f"/low/{number}.{suffix}", music(2, container, "aac"))
    lines = [line for number in range(4) for line in ("#EXTINF:2.0,", f"{number}.{suffix}")]
    server.file("/low/list.m3u8", hls(2, *lines, "#EXT-X-ENDLIST"), "application/vnd.apple.mpegurl")
    address = server.file(
        "/main.m3u8",
        "#EXTM3U\n"
        '#EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=640x360,CODECS="avc1.4d401e,mp4a.40.2"\nfilm.m3u8\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=128000,CODECS="mp4a.40.2"\nlow/list.m3u8\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=320000,CODECS="mp4a.40.2"\nhigh/list.m3u8\n',
        "application/x-mpegURL",
    )
    player = await play(hass, address)
    assert player.seconds == pytest.approx(8, abs=0.5)
    assert pitch_level(bytes(player.pcm[SECOND : 2 * SECOND]), RATE, 440) > 5000
    assert player.stream.seconds == 8


async def test_hls_reads_parts_of_one_file_and_begins_again_where_the_encoding_changes(
    hass: HomeAssistant, server: MediaServer
) -> None:
    lines = []
    for name, seconds, hertz in (("film", 4, 440), ("jingle", 2, 880)):
        options = {"movflags": "frag_keyframe+empty_moov", "frag_duration": "1000000"}
        film = music(seconds, "mp4", "aac", options=options, hertz=hertz)
        head = film.index(b"moof") - 4
        server.file(f"/{name}.mp4", film)
        lines += [
            "#EXT-X-DISCONTINUITY",
            f'#EXT-X-MAP:URI="{name}.mp4",BYTERANGE="{head}@0"',
            f"#EXTINF:{seconds},",
            f"#EXT-X-BYTERANGE:{len(film) - head}@{head}",
            f"{name}.mp4",
        ]
    lines.append("#EXT-X-ENDLIST")
    player = await play(hass, server.file("/list.m3u8", hls(4, *lines)))
    assert player.seconds == pytest.approx(6, abs=0.3)
    assert pitch_level(bytes(player.pcm[SECOND : 2 * SECOND]), RATE, 440) > 5000
    assert pitch_level(bytes(player.pcm[9 * SECOND // 2 : 11 * SECOND // 2]), RATE, 880) > 5000


async def test_live_hls_begins_near_its_end_and_follows_it(hass: HomeAssistant, server: MediaServer) -> None:
    start = loop_time()
    segment = music(2, "adts", "aac")
    for number in range(40):
        server.file(f"/{number}.aac", segment)
    server.handlers["/3.aac"] = server.handlers["/missing"] = _not_found

    async def live(_request: Any) -> Any:
        first = int((loop_time() - start) / 2)
        lines = [line for number in range(first, first + 5) for line in ("#EXTINF:2,", f"{number}.aac")]
        return _text(hls(2, f"#EXT-X-MEDIA-SEQUENCE:{first}", *lines))

    server.handlers["/live.m3u8"] = live
    player = await play(hass, server.url("/live.m3u8"), seconds=20)
    segments = [path for path in server.paths() if path.endswith(".aac")]
    # The third from the end is the first.
    assert segments[0] == "/2.aac"
    assert segments == sorted(set(segments), key=lambda path: int(path[1:-4]))
    assert player.seconds >= 20
    assert player.stream.seconds is None


async def _not_found(_request: Any) -> Any:
    return web.Response(status=404)


def _text(text: str) -> Any:
    return web.Response(text=text, content_type="application/vnd.apple.mpegurl")


@pytest.mark.parametrize("kind", ["m3u", "pls"])
async def test_a_playlist_is_played_song_after_song_without_those_that_are_missing(
    hass: HomeAssistant, server: MediaServer, kind: str
) -> None:
    server.file("/one.mp3", music(2))
    server.file("/no.mp3", b"<html>not here</html>" * 100)
    server.file("/two.mp3", music(2))
    names = ["gone.mp3", "one.mp3", "no.mp3", "two.mp3"]
    if kind == "m3u":
        text = "#EXTM3U\n" + "".join(f"#EXTINF:2,Song {name}\n{name}\n" for name in names)
    else:
        text = "[playlist]\n" + "".join(
            f"File{number}={name}\nTitle{number}=Song {name}\n" for number, name in enumerate(names, 1)
        )
    player = await play(hass, server.file(f"/list.{kind}", text))
    assert player.seconds == pytest.approx(4, abs=0.3)
    assert [title for title in player.changes() if "no." not in title] == ["Song one.mp3", "Song two.mp3"]


async def test_what_is_heard_was_asked_for_no_sooner_than_needed(
    hass: HomeAssistant, server: MediaServer
) -> None:
    piece = music(10)
    address = server.pieces("/endless", [piece], then="again")
    await play(hass, address, seconds=5)
    # What the sockets, the queues and the decoder hold: a minute at most of what would never end.
    assert server.sent < 100 * len(piece)
    await server.wait_unused()


async def test_a_pause_of_the_source_is_borne_for_four_seconds(
    hass: HomeAssistant, server: MediaServer
) -> None:
    data = music(4)
    half = [data[: len(data) // 2], data[len(data) // 2 :]]
    player = await play(hass, server.pieces("/slow", half, every=3.5))
    assert player.seconds == pytest.approx(4, abs=0.2)

    before = loop_time()
    error = await problem_of(hass, server.pieces("/stalls", half[:1], then="stall"))
    assert error.problem is MediaProblem.STALLED
    assert 3.9 < loop_time() - before < 6
    await server.wait_unused()


async def test_what_cannot_be_played_is_refused_with_the_reason(
    hass: HomeAssistant, server: MediaServer, free_port: int
) -> None:
    encrypted = hls(2, '#EXT-X-KEY:METHOD=AES-128,URI="key"', "#EXTINF:2,", "0.ts", "#EXT-X-ENDLIST")
    server.handlers["/round"] = _to_itself
    page = server.file("/page", "<html>hello</html>" * 100, "text/html")
    for address, problem in (
        (server.url("/missing.mp3"), MediaProblem.REFUSED),
        (f"http://127.0.0.1:{free_port}/", MediaProblem.UNREACHABLE),
        (server.url("/round"), MediaProblem.TOO_MANY_REDIRECTS),
        (server.pieces("/silent", [], then="stall"), MediaProblem.LATE),
        (page, MediaProblem.UNDECODABLE),
        (server.file("/empty.mp3", b""), MediaProblem.EMPTY),
        (server.file("/encrypted.m3u8", encrypted), MediaProblem.PLAYLIST_ENCRYPTED),
        (server.file("/no.m3u", "#EXTM3U\n"), MediaProblem.PLAYLIST_EMPTY),
        (server.file("/file.m3u", "#EXTM3U\nfile:///etc/passwd\n"), MediaProblem.PLAYLIST_BAD_ENTRY),
        (server.file("/self.m3u", "#EXTM3U\nself.m3u\n"), MediaProblem.PLAYLIST_NESTED),
        (server.file("/huge.m3u", "#EXTM3U\n" + "a\n" * 400_000), MediaProblem.PLAYLIST_TOO_LARGE),
        ("spotify:track:1", MediaProblem.UNSUPPORTED),
        ("file:///etc/passwd", MediaProblem.UNSUPPORTED),
        ("http://[", MediaProblem.UNSUPPORTED),
    ):
        error = await problem_of(hass, address)
        assert error.problem is problem, address
    await server.wait_unused()


async def _to_itself(request: Any) -> Any:
    raise web.HTTPFound(request.path)


async def test_a_connection_that_breaks_off_is_no_end(hass: HomeAssistant, server: MediaServer) -> None:
    data = music(4)
    player = Player(hass, server.pieces("/half", [data], then="break"))
    with pytest.raises(PlaybackError) as caught:
        await player.play()
    assert caught.value.problem is MediaProblem.BROKE_OFF
    assert player.seconds > 3


async def test_a_file_is_played_from_where_it_was_paused(hass: HomeAssistant, server: MediaServer) -> None:
    player = await play(hass, server.file("/song.mp3", music(4)), skip=3)
    assert player.seconds == pytest.approx(1, abs=0.2)


async def test_files_of_the_media_library_are_read_from_the_disk(
    hass: HomeAssistant, server: MediaServer, tmp_path: Any
) -> None:
    hass.config.media_dirs = {"local": str(tmp_path)}
    assert await async_setup_component(hass, "media_source", {})
    await hass.async_add_executor_job((tmp_path / "My song.mp3").write_bytes, music(2, title="Blue in Green"))
    player = await play(hass, "media-source://media_source/local/My song.mp3")
    assert player.seconds == pytest.approx(2, abs=0.2)
    assert player.changes() == ["My song", "Blue in Green"]

    error = await problem_of(hass, "media-source://media_source/local/other.mp3")
    assert error.problem is MediaProblem.UNREADABLE
    error = await problem_of(hass, "media-source://nothing/here")
    assert error.problem is MediaProblem.UNSUPPORTED


async def test_a_title_that_is_given_counts_more_than_that_of_the_file(
    hass: HomeAssistant, server: MediaServer
) -> None:
    address = server.file("/song.mp3", music(2, title="Track 1"))
    assert (await play(hass, address)).stream.title == "Track 1"
    assert (await play(hass, address, title="Morning")).stream.title == "Morning"
    assert (await play(hass, server.file("/sing me.mp3", music(1)))).stream.title == "sing me.mp3"


async def test_closing_before_the_end_leaves_nothing(hass: HomeAssistant, server: MediaServer) -> None:
    address = server.pieces("/endless", [music(10)], then="again")
    player = Player(hass, address)
    await player.stream.open()
    await player.stream.close()
    await server.wait_unused()
    # Also if it was never opened.
    await Player(hass, address).stream.close()


async def test_speech_that_cannot_be_made_is_refused_with_the_reason(
    hass: HomeAssistant, speech: Speech
) -> None:
    engine = speech.voice.entity_id
    said = await play(hass, f"media-source://tts/{engine}?message=Dinner+is+ready.&cache=false")
    assert said.seconds > 0.5
    for media_id in (
        "media-source://tts/tts.nobody?message=Hello",
        f"media-source://tts/{engine}",
        f"media-source://tts/{engine}?message=Hello&tts_options=%5B",
        "media-source://tts/-stream-/unknown.mp3",
        f"media-source://tts/{engine}?message=Hello&language=xx",
    ):
        error = await problem_of(hass, media_id)
        assert error.problem is MediaProblem.SPEECH_FAILED, media_id


async def test_hls_goes_on_after_a_gap_and_ends_where_too_much_is_missing(
    hass: HomeAssistant, server: MediaServer
) -> None:
    segment = music(2, "adts", "aac")
    for number in (0, 2):
        server.file(f"/{number}.aac", segment)
    lines = [line for number in range(6) for line in ("#EXTINF:2,", f"{number}.aac")]
    player = Player(hass, server.file("/list.m3u8", hls(2, *lines, "#EXT-X-ENDLIST")))
    with pytest.raises(PlaybackError) as caught:
        await player.play()
    assert caught.value.problem is MediaProblem.REFUSED
    assert player.seconds == pytest.approx(4, abs=0.3)


@pytest.mark.parametrize(
    ("becomes", "problem"),
    [
        ("#EXTM3U\na.mp3\n", MediaProblem.PLAYLIST_CHANGED),
        ('#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="k"\n', MediaProblem.PLAYLIST_ENCRYPTED),
    ],
)
async def test_a_live_playlist_that_becomes_another_one_ends_it(
    hass: HomeAssistant, server: MediaServer, becomes: str, problem: MediaProblem
) -> None:
    server.file("/0.aac", music(2, "adts", "aac"))
    texts = [hls(2, "#EXT-X-MEDIA-SEQUENCE:0", "#EXTINF:2,", "0.aac"), becomes]

    async def live(_request: web.Request) -> web.StreamResponse:
        return _text(texts.pop(0))

    server.handlers["/live.m3u8"] = live
    error = await problem_of(hass, server.url("/live.m3u8"))
    assert error.problem is problem


async def test_a_live_stream_that_counts_again_goes_on(hass: HomeAssistant, server: MediaServer) -> None:
    segment = music(2, "adts", "aac")
    for number in (100, 1, 2):
        server.file(f"/{number}.aac", segment)
    texts = [
        hls(2, "#EXT-X-MEDIA-SEQUENCE:100", "#EXTINF:2,", "100.aac"),
        hls(2, "#EXT-X-MEDIA-SEQUENCE:1", "#EXTINF:2,", "1.aac", "#EXTINF:2,", "2.aac", "#EXT-X-ENDLIST"),
    ]

    async def live(_request: web.Request) -> web.StreamResponse:
        return _text(texts.pop(0))

    server.handlers["/live.m3u8"] = live
    player = await play(hass, server.url("/live.m3u8"))
    assert player.seconds == pytest.approx(6, abs=0.4)


async def test_a_server_that_sends_no_parts_of_files_is_refused(
    hass: HomeAssistant, server: MediaServer
) -> None:
    async def whole(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"whole")

    server.handlers["/all.mp4"] = whole
    lines = [line for _ in range(3) for line in ("#EXTINF:2,", "#EXT-X-BYTERANGE:100@0", "all.mp4")]
    error = await problem_of(hass, server.file("/list.m3u8", hls(2, *lines, "#EXT-X-ENDLIST")))
    assert error.problem is MediaProblem.NO_PARTS
