"""Any media as one stream of PCM, by a real ffmpeg from real servers on the loopback interface."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
import resource
import sys
from typing import Any
from unittest.mock import patch

from homeassistant.components import tts
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from yarl import URL

from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests.media.ffmpeg_log import FfmpegLog
from custom_components.xiaozhi.guests.media.source import find_media, text_to_speak
from custom_components.xiaozhi.guests.media.stream import Media, MediaStream, media_sound
from custom_components.xiaozhi.util.event_loop import loop_time
from tests.integration.boxes import Speech
from tests.integration.media.media_server import MediaServer, children, music, with_titles
from tests.paths import ROOT
from tests.protocol.audio.sounds import pitch_level
from tests.protocol.transport.udp.device import until

RATE = 24000
SECOND = 2 * RATE
MIB = 1024 * 1024
_LISTS = ("m3u", "pls")


@pytest.fixture(autouse=True)
def no_pipe_stays() -> Iterator[None]:
    pipes = open_pipes()
    yield
    assert open_pipes() <= pipes


def open_pipes() -> set[str]:
    found = set()
    for file in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(file.readlink()))
        except FileNotFoundError:
            continue
    return {name for name in found if name.startswith("pipe:")}


class Player:
    """Takes all of a stream, and remembers its titles."""

    def __init__(self, hass: HomeAssistant, media_id: str, **options: Any) -> None:
        self.stream = MediaStream(hass, Media(media_id=media_id, **options), self.changed)
        self.titles: list[str] = []
        self.pcm = bytearray()

    def changed(self) -> None:
        self.titles.append(self.stream.title)

    async def play(self, seconds: float | None = None) -> None:
        pcm = self.stream.pcm()
        try:
            await self.stream.open()
            async for piece in pcm:
                self.pcm += piece
                # In the time that a device takes.
                await asyncio.sleep(len(piece) / SECOND)
                if seconds is not None and self.seconds >= seconds:
                    break
        finally:
            await pcm.aclose()
            await self.stream.aclose()

    @property
    def seconds(self) -> float:
        return len(self.pcm) / SECOND


async def play(hass: HomeAssistant, media_id: str, seconds: float | None = None, **options: Any) -> Player:
    player = Player(hass, media_id, **options)
    async with asyncio.timeout(120):
        await player.play(seconds)
    return player


async def problem_of(hass: HomeAssistant, media_id: str) -> str | None:
    with pytest.raises(UserError) as caught:
        await play(hass, media_id)
    return caught.value.translation_key


async def test_files_of_every_usual_kind_are_played_from_the_web(
    hass: HomeAssistant, server: MediaServer
) -> None:
    for name, container, codec in (
        ("song.mp3", "mp3", "libmp3lame"),
        ("song.aac", "adts", "aac"),
        ("song.flac", "flac", "flac"),
        ("song.ogg", "ogg", "libopus"),
        ("song.oga", "ogg", "flac"),
        ("song.wav", "wav", "pcm_s16le"),
        ("song.m4a", "mp4", "aac"),
        ("song.webm", "webm", "libopus"),
        ("song.ts", "mpegts", "aac"),
        ("stream", "mp3", "libmp3lame"),
    ):
        player = await play(hass, server.file(f"/{name}", music(3, container, codec)))
        assert player.seconds == pytest.approx(3, abs=0.2), name
        assert pitch_level(bytes(player.pcm[SECOND : 2 * SECOND]), RATE, 440) > 5000, name
        assert player.stream.title == name


async def test_a_flood_of_titles_is_told_once_a_second_and_the_last_one_counts(
    hass: HomeAssistant, server: MediaServer
) -> None:
    data = with_titles(music(10), 16, {number: f"Song {number}" for number in range(6000)})
    headers = {"icy-metaint": "16", "Content-Type": "audio/mpeg"}
    address = server.pieces("/flood", [data], headers=headers, then="stall")
    player = Player(hass, address)
    with pytest.raises(UserError, match="media_stalled"):
        await player.play()
    assert player.titles[-1].startswith("Song 50")
    assert len(player.titles) < 20


def hls(server: MediaServer, *segments: str) -> str:
    """Return the address of a playlist of segments of 2 seconds."""
    lines = [line for segment in segments for line in ("#EXTINF:2.0,", segment)]
    text = "\n".join(["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:2", *lines, "#EXT-X-ENDLIST"])
    return server.file("/list.m3u8", text, "application/vnd.apple.mpegurl")


async def test_hls_plays_all_segments(hass: HomeAssistant, server: MediaServer) -> None:
    for number in range(4):
        server.file(f"/{number}.ts", music(2, "mpegts", "aac"))
    player = await play(hass, hls(server, *(f"{number}.ts" for number in range(4))))
    assert player.seconds == pytest.approx(8, abs=0.5)
    assert pitch_level(bytes(player.pcm[SECOND : 2 * SECOND]), RATE, 440) > 5000
    assert player.stream.seconds == 8
    # Also in a file with the name of a playlist.
    server.handlers["/list.m3u"] = server.handlers["/list.m3u8"]
    assert (await play(hass, server.url("/list.m3u"))).seconds == pytest.approx(8, abs=0.5)


async def test_a_playlist_leads_to_its_first_song(hass: HomeAssistant, server: MediaServer) -> None:
    """On the page of a station or elsewhere, in the forms that they are written in."""
    one, of_station = server.url("/one.mp3"), server.url("/m3u/one.mp3")
    listed = "[playlist]\nNumberOfEntries=2\nTitle1=Station\nFile1=one.mp3\nFile2=other.mp3\n"
    server.file("/inner.m3u", "one.mp3\n")
    for address, text, leads_to in (
        *((f"/list.{kind}", "#EXTM3U\n#EXTINF:2,A station\none.mp3\nother.mp3\n", one) for kind in _LISTS),
        *((f"/list.{kind}", "\ufeff\r\none.mp3\r\n", one) for kind in _LISTS),
        *((f"/list.{kind}", listed, one) for kind in _LISTS),
        ("/songs.m3u8", "#EXTM3U\n#EXTINF:2,A song\none.mp3\n", one),
        ("/listen.php?format=pls", "[playlist]\nFile1=one.mp3\n", one),
        ("/m3u/kitchen", "one.mp3\n", of_station),
        ("/turned.pls", "[playlist]\nFile2=missing.mp3\nFile10=missing.mp3\nfile1 = one.mp3\n", one),
        ("/bare.pls", 'File1="one.mp3"\n', one),
        ("/windows?list.pls", "[Reference]\nRef1=one.mp3\n", one),
        ("/outer.pls", "[playlist]\nFile1=inner.m3u\n", one),
        ("/named.m3u", "Now: #1.mp3\n", server.url("/Now: %231.mp3")),
    ):
        path, _, query = address.partition("?")
        found = await find_media(hass, f"{server.file(path, text)}?{query}", None)
        assert isinstance(found, tuple)
        assert URL(found[-1]) == URL(leads_to), address
    for name, song in (("list.pls", "/one.mp3"), ("named.m3u", "/Now: #1.mp3")):
        server.file(song, music(2))
        player = await play(hass, server.url(f"/{name}"))
        assert player.seconds == pytest.approx(2, abs=0.3)
        assert player.stream.title == name


async def test_what_is_only_called_a_playlist_is_played(hass: HomeAssistant, server: MediaServer) -> None:
    address = server.file("/song.pls", music(2), "audio/mpeg")
    assert (await play(hass, address)).seconds == pytest.approx(2, abs=0.3)


async def test_what_is_heard_was_asked_for_no_sooner_than_needed(
    hass: HomeAssistant, server: MediaServer
) -> None:
    piece = music(10)
    address = server.pieces("/endless", [piece], then="again")
    await play(hass, address, seconds=5)
    # What the sockets, the pipes and the decoder hold: some minutes at most of what would never end.
    assert server.sent < 100 * len(piece)
    await server.wait_unused()


async def test_a_pause_of_the_source_is_borne_and_a_lost_connection_is_no_end(
    hass: HomeAssistant, server: MediaServer
) -> None:
    data = music(4)
    half = [data[: len(data) // 2], data[len(data) // 2 :]]
    player = await play(hass, server.pieces("/slow", half, every=3.5))
    assert player.seconds == pytest.approx(4, abs=0.2)

    before = loop_time()
    assert await problem_of(hass, server.pieces("/stalls", half[:1], then="stall")) == "media_stalled"
    assert 3.9 < loop_time() - before < 8
    await server.wait_unused()
    broken = Player(hass, server.pieces("/half", [data], then="break"))
    with pytest.raises(UserError) as caught:
        await broken.play()
    assert caught.value.translation_key == "media_broke_off"
    assert broken.seconds > 3


async def test_the_reason_why_nothing_can_be_played_is_for_the_log_only(
    hass: HomeAssistant,
    server: MediaServer,
    free_port: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """All users would learn from it what there is at home."""
    song = tmp_path / "song.mp3"
    await hass.async_add_executor_job(song.write_bytes, music(2))
    for address in (
        server.url("/missing.mp3"),
        f"http://127.0.0.1:{free_port}/",
        server.redirect("/round", "/round"),
        server.redirect("/file", f"file://{song}"),
        server.pieces("/silent", [], then="stall"),
        server.file("/page", "<html>hello</html>" * 100, "text/html"),
        server.file("/empty.mp3", b""),
        server.file("/no.m3u", "#EXTM3U\n"),
        server.file("/no.pls", "[playlist]\n"),
        server.file("/file.m3u", "#EXTM3U\nfile:///etc/passwd\n"),
        server.file("/nul.m3u", "#EXTM3U\nhttp://a/\0\n"),
        server.file("/port.m3u", "#EXTM3U\nhttp://127.0.0.1:99999/song.mp3\n"),
        server.file("/self.m3u", "#EXTM3U\nself.m3u\n"),
        server.file("/huge.m3u", "#EXTM3U\n" + "#\n" * 40_000),
        server.url("/gone.m3u"),
        server.file("/nul.m3u", "#EXTM3U\nhttp://127.0.0.1/\0\n"),
        hls(server, "file:///etc/passwd"),
    ):
        assert await problem_of(hass, address) == "media_failed", address
    assert (
        "missing.mp3 cannot be played: Error opening input files: Server returned 404 Not Found"
        in caplog.text
    )
    for address in (
        "spotify:track:1",
        "file:///etc/passwd",
        "http://[",
        "concat:http://a|b",
        "ftp://a/b",
        "http://a/\0",
        "media-source://",
        "media-source:///x",
        "media-source://media_source",
        "media-source://tts",
    ):
        assert await problem_of(hass, address) == "media_unsupported", address
    await server.wait_unused()


async def test_a_playlist_without_sound_ends_after_some_requests(
    hass: HomeAssistant, server: MediaServer
) -> None:
    for sound in ([], ["song.ts"]):
        server.file("/song.ts", music(2, "mpegts", "aac"))
        server.asked.clear()
        address = hls(server, *sound, *(f"{number}.ts" for number in range(5000)))
        assert await problem_of(hass, address) == ("media_broke_off" if sound else "media_failed")
        assert len(server.asked) < 200
        await server.wait_unused()


_TCP = "[tcp @ 0x55d0b4a0] [verbose] "
_PUBLIC = _TCP + "Successfully connected to 93.184.215.14 port 443"


@pytest.mark.parametrize(
    ("before", "then", "refused"),
    [
        (_PUBLIC, "192.168.1.1", True),
        (_PUBLIC, "fe80::1%eth0", True),
        (_PUBLIC, "0.0.0.0", True),
        (_PUBLIC, "2606:4700::1111", False),
        (_TCP + "Successfully connected to 192.168.1.5 port 80", "192.168.1.1", False),
        (_TCP + "Connection attempt to 192.168.1.1 port 80 failed: Connection refused", "192.168.1.1", False),
    ],
)
async def test_what_comes_from_the_internet_opens_nothing_at_home(
    before: str, then: str, refused: bool
) -> None:
    """As ffmpeg's log says, also after a redirection."""
    log = FfmpegLog()
    for line in (before, f"{_TCP}Starting connection attempt to {then} port 80"):
        log.take(line)
    assert log.refused is refused


async def test_a_list_on_the_internet_leads_to_nothing_at_home(
    hass: HomeAssistant, server: MediaServer
) -> None:
    address = server.file("/list.m3u", server.file("/song.mp3", music(1)))
    with patch("custom_components.xiaozhi.guests.media.source.is_public", side_effect=[True, False]):
        assert await problem_of(hass, address) == "media_failed"
    assert server.paths() == ["/list.m3u"]


@pytest.mark.own_home
async def test_files_of_the_media_library_open_no_other_ones(
    hass: HomeAssistant, server: MediaServer, tmp_path: Path, ffmpeg: None
) -> None:
    hass.config.media_dirs = {"local": str(tmp_path)}
    assert await async_setup_component(hass, "media_source", {})
    song = music(2, "mp4", "aac", title="Blue in Green")
    await hass.async_add_executor_job((tmp_path / "My song: 1.m4a").write_bytes, song)
    player = await play(hass, "media-source://media_source/local/My song: 1.m4a")
    assert player.seconds == pytest.approx(2, abs=0.2)
    assert player.stream.title == "Blue in Green"

    assert await problem_of(hass, "media-source://media_source/local/other.mp3") == "media_failed"
    assert await problem_of(hass, "media-source://nothing/here") == "media_unsupported"
    (tmp_path / "song.ts").write_bytes(music(2, "mpegts", "aac"))
    lines = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\nsong.ts\n#EXT-X-ENDLIST\n"
    (tmp_path / "list.mp3").write_text(lines)
    (tmp_path / "parts.mp3").write_text("ffconcat version 1.0\nfile song.ts\n")
    for name in ("list.mp3", "parts.mp3"):
        assert await problem_of(hass, f"media-source://media_source/local/{name}") == "media_failed"


async def test_the_announcement_of_a_station_ends_after_ten_minutes(
    hass: HomeAssistant, server: MediaServer
) -> None:
    sound = media_sound(hass, server.pieces("/endless", [music(10)], then="again"))(Delivery.NOTIFY)
    async with aclosing(sound):
        assert sum([len(piece) async for piece in sound]) == 600 * 2 * 24000


async def test_media_are_decoded_by_a_child_with_little_memory(
    hass: HomeAssistant, server: MediaServer
) -> None:
    """However much the tables of a small file promise."""
    address = server.pieces("/endless", [music(10)], then="again")
    stream = MediaStream(hass, Media(media_id=address), lambda: None)
    sound = media_sound(hass, address)(Delivery.NOTIFY)
    for begin, end in ((stream.open(), stream.aclose), (anext(sound), sound.aclose)):
        await begin
        (child,) = children()
        assert resource.prlimit(child, resource.RLIMIT_DATA) == (256 * MIB, 256 * MIB)
        await end()
    await server.wait_unused()
    # Also if it was never opened, or is closed while it starts or waits.
    await Player(hass, address).stream.aclose()
    for then in ("again", "stall"):
        address = server.pieces("/waits", [] if then == "stall" else [music(1)], then=then)
        for steps in (1, 3, 30):
            player = Player(hass, address)
            opening = asyncio.create_task(player.stream.open())
            for _ in range(steps):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            await player.stream.aclose()
            assert children() == []
    await server.wait_unused()


async def test_speech_that_cannot_be_made_is_refused_with_the_reason(
    hass: HomeAssistant, speech: Speech
) -> None:
    engine = speech.voice.entity_id
    said = await play(hass, f"media-source://tts/{engine}?message=Dinner+is+ready.&cache=false")
    assert said.seconds > 0.5
    rest = await play(hass, f"media-source://tts/{engine}?message=Dinner+is+ready.&cache=false", start=0.3)
    assert rest.seconds == pytest.approx(said.seconds - 0.3, abs=0.02)
    for media_id in (
        "media-source://tts/tts.nobody?message=Hello",
        f"media-source://tts/{engine}?message=Hello&tts_options=%5B",
        "media-source://tts/-stream-/unknown.mp3",
        f"media-source://tts/{engine}?message=Hello&language=xx",
    ):
        assert await problem_of(hass, media_id) == "media_speech_failed", media_id
    # Home Assistant is asked where no text is found.
    assert await problem_of(hass, f"media-source://tts/{engine}") == "media_unsupported"
    written = tts.generate_media_source_id(hass, "Dinner is ready.", engine, "en", cache=False)
    assert (await play(hass, written)).seconds == said.seconds


async def test_the_text_of_speech_is_known() -> None:
    for media_id, text in {
        "media-source://tts/tts.piper?message=Dinner+is+ready.&language=en": "Dinner is ready.",
        "media-source://tts/http://[?message=a": "",
        "media-source://media_source/local/a.mp3": "",
        "http://radio.example/": "",
    }.items():
        assert text_to_speak(media_id) == text


def lives(process: Path) -> bool:
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except FileNotFoundError, ProcessLookupError:
        return False


@pytest.mark.real_time
async def test_a_silent_child_ends_with_home_assistant_however_that_ends(
    tmp_path: Path,
) -> None:
    """A server may trickle bytes without a sound for ever, and `kill -9` leaves nobody to give it up."""
    program, pids = tmp_path / "ffmpeg", tmp_path / "pids"
    # The kernel has the order to end it an instant after its start, as a flag (O_ASYNC) of its input shows.
    ordered = "until grep -q '^flags:.*02[0-7]\\{4\\}$' /proc/$$/fdinfo/0; do sleep 0.01; done"
    tell = f"echo $$ $! >{pids}.new && mv {pids}.new {pids}"
    program.write_text(f"#!/bin/sh\nsleep 600 &\n{ordered}\n{tell}\nwait\n")
    program.chmod(0o700)
    code = f"""
import asyncio
from pathlib import Path
from custom_components.xiaozhi.guests.media.ffmpeg import file_input, read_sound
sound = read_sound({str(program)!r}, file_input(Path("x")), sample_rate=24000, start=0, on_line=bool)
asyncio.run(anext(sound))
"""
    home = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT)
    await until(pids.exists, 60)
    running = [Path("/proc") / pid for pid in pids.read_text().split()]
    assert all(map(lives, running))
    home.kill()
    await home.wait()
    await until(lambda: not any(map(lives, running)), 60)
