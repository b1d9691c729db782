"""Speech decoded while it arrives, the heads of WAV streams, and where speech begins and goes on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
import random
import struct

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.speech_decoder import SpeechError, decode_speech
from custom_components.xiaozhi.protocol.audio.speech_pauses import SpeechShape
from custom_components.xiaozhi.protocol.audio.wav import WavHeader, read_wav_header
from tests.protocol.audio.sounds import (
    assert_decoders_ended,
    hiss,
    make_media,
    pitch_level,
    silent_video,
    tone,
    wav_header,
)

RATE = 24000
SECOND = 2 * RATE
TONE = tone(2, RATE)


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    """Every stream must end its thread."""
    yield
    assert_decoders_ended()


class Source:
    """Speech in pieces; then the end, an error, or nothing more for ever."""

    def __init__(
        self, data: bytes, piece: int = 1000, *, then: BaseException | None = None, stalls: bool = False
    ) -> None:
        self.data = data
        self.piece = piece
        self.then = then
        self.stalls = stalls
        self.sent = 0
        self.started = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self) -> AsyncGenerator[bytes]:
        self.started.set()
        try:
            while self.sent < len(self.data):
                piece = self.data[self.sent : self.sent + self.piece]
                self.sent += len(piece)
                yield piece
            if self.then is not None:
                raise self.then
            if self.stalls:
                await asyncio.Event().wait()
        finally:
            self.closed.set()


async def decode(data: bytes, piece: int = 1000, *, extension: str | None = None, rate: int = RATE) -> bytes:
    source = Source(data, piece)
    pcm = b"".join(
        [pcm async for pcm in decode_speech(source.stream(), sample_rate=rate, extension=extension)]
    )
    assert source.closed.is_set()
    return pcm


async def drain(pieces: AsyncIterator[bytes], into: bytearray) -> None:
    async for piece in pieces:
        into += piece


@pytest.mark.parametrize(
    ("size", "piece"), [(0, 1), (len(TONE), 7), (0x7FFFFFFF, 1000), (0xFFFFFFFF, 10_000_000)]
)
async def test_a_wav_stream_comes_out_bit_by_bit_whatever_its_head_says(size: int, piece: int) -> None:
    sound = TONE if piece > 7 else TONE[:3000]
    if size == len(TONE):
        size = len(sound)
    assert await decode(wav_header(RATE, size) + sound, piece) == sound


@pytest.mark.parametrize(("source_rate", "rate"), [(8000, 16000), (22050, 24000), (48000, 16000)])
async def test_a_wav_of_any_rate_keeps_its_length_and_pitch(source_rate: int, rate: int) -> None:
    pcm = await decode(wav_header(source_rate, 0) + tone(1, source_rate), rate=rate)
    assert len(pcm) == pytest.approx(2 * rate, abs=4)
    assert pitch_level(pcm, rate, 440) == pytest.approx(8000, rel=0.02)


async def test_both_channels_of_a_wav_are_heard() -> None:
    both = b"".join(2 * TONE[start : start + 2] for start in range(0, len(TONE), 2))
    assert await decode(wav_header(RATE, len(both), channels=2) + both, 1001) == TONE


async def test_what_follows_the_samples_of_a_wav_is_no_sound_and_not_waited_for() -> None:
    source = Source(wav_header(RATE, len(TONE)) + TONE + hiss(0.1, RATE), stalls=True)
    assert b"".join([pcm async for pcm in decode_speech(source.stream(), sample_rate=RATE)]) == TONE


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("piece", [1, 1000, 100_000])
async def test_a_wav_for_each_sentence_is_heard_whole(sized: bool, piece: int) -> None:
    """Without the heads: each would be a click. What stands after the samples is no sound."""
    first, second = TONE[:3000], TONE[3000:5000]
    tags = chunk(b"LIST", b"INFOx") if sized else b""
    parts = [wav_header(RATE, len(part) * sized) + part + tags for part in (first, second, first)]
    if not sized:
        parts.insert(1, wav_header(RATE, 0))
    assert await decode(b"".join(parts), piece) == first + second + first


async def test_sentences_may_have_different_formats() -> None:
    low = make_media("wav", "pcm_s24le", TONE, RATE)
    both = wav_header(RATE, len(TONE)) + TONE + low + wav_header(2 * RATE, 0) + tone(1, 2 * RATE)
    alone = await decode(low)
    whole = await decode(both)
    assert whole.startswith(TONE + alone[:-200])
    assert abs(len(whole) - len(TONE) - len(alone) - 2 * RATE) < 400


async def test_bytes_that_only_look_like_a_head_are_samples() -> None:
    sound = b"RIFF" * 300 + b"RIFFxxxxWAVX" * 20 + b"RIFFR"
    sound += bytes(len(sound) % 2)
    for piece in (1, 7, 5000):
        assert await decode(wav_header(RATE, 0) + sound, piece) == sound


async def test_a_wav_cut_within_a_sample_keeps_the_whole_ones() -> None:
    assert await decode(wav_header(RATE, 0) + TONE[:4097], 10_000) == TONE[:4096]


@pytest.mark.parametrize(
    ("stated", "logged"), [(len(TONE), False), (2 * len(TONE), True), (2**31 - 1, False)]
)
async def test_speech_that_ends_before_its_stated_length_is_logged(
    stated: int, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert await decode(wav_header(RATE, stated) + TONE) == TONE
    assert ("ended 2.0 s before" in caplog.text) is logged


@pytest.mark.parametrize(
    ("container", "codec", "extension"),
    [
        ("mp3", "libmp3lame", "mp3"),
        ("ogg", "libopus", "ogg"),
        ("flac", "flac", "flac"),
        ("adts", "aac", "aac"),
        ("wav", "pcm_s24le", "wav"),
        ("wav", "pcm_f32le", "wav"),
        ("wav", "pcm_u8", "wav"),
        ("wav", "pcm_mulaw", "wav"),
        ("wav", "adpcm_ms", "wav"),
    ],
)
async def test_every_usual_kind_of_speech_is_decoded_even_with_a_wrong_hint(
    container: str, codec: str, extension: str
) -> None:
    speech, wrong = make_media(container, codec, TONE, RATE), "flac" if extension == "mp3" else "mp3"
    for hint in (extension, wrong):
        pcm = await decode(speech, extension=hint)
        assert len(pcm) == pytest.approx(2 * SECOND, rel=0.05)
        assert pitch_level(pcm[SECOND // 2 : -SECOND // 2], RATE, 440) == pytest.approx(8000, rel=0.1)


async def test_a_rate_that_changes_on_the_way_changes_nothing_for_the_listener() -> None:
    options = {"id3v2_version": "0", "write_xing": "0"}
    low, high = (
        make_media("mp3", "libmp3lame", tone(2, rate), rate, options=options) for rate in (24000, 48000)
    )
    pcm = await decode(low + high)
    assert len(pcm) == pytest.approx(4 * SECOND, rel=0.1)
    for half in (pcm[SECOND // 2 : 3 * SECOND // 2], pcm[5 * SECOND // 2 : 7 * SECOND // 2]):
        assert pitch_level(half, RATE, 440) == pytest.approx(8000, rel=0.1)


@pytest.mark.parametrize(
    ("data", "enough"),
    [
        (wav_header(22050, 0) + tone(2, 22050), 44 + 100),
        (make_media("mp3", "libmp3lame", TONE, RATE), 3000),
        (make_media("ogg", "libopus", TONE, RATE, options={"page_duration": "20000"}), 3000),
    ],
    ids=["wav", "mp3", "ogg"],
)
async def test_sound_comes_as_soon_as_it_can_although_the_source_pauses(data: bytes, enough: int) -> None:
    source = Source(data[:enough], 100, stalls=True)
    async with aclosing(decode_speech(source.stream(), sample_rate=RATE)) as decoded:
        assert await anext(decoded)
    assert source.closed.is_set()


async def test_a_source_faster_than_its_listener_has_to_wait() -> None:
    source = Source(wav_header(RATE, 0) + bytes(8_000_000), 50_000)
    async with aclosing(decode_speech(source.stream(), sample_rate=RATE)) as decoded:
        received = len(await anext(decoded))
        sent = -1
        while sent != source.sent:
            sent = source.sent
            for _ in range(20):
                await asyncio.to_thread(lambda: None)
        assert source.sent <= 500_000
        async for pcm in decoded:
            received += len(pcm)
        assert received == 8_000_000
        assert source.sent == len(source.data)


@pytest.mark.parametrize("first", [True, False], ids=["after some sound", "before any sound"])
async def test_closing_while_the_source_stalls_ends_everything(first: bool) -> None:
    source = Source(wav_header(RATE, 0) + (TONE[:1000] if first else b""), stalls=True)
    decoded = decode_speech(source.stream(), sample_rate=RATE)
    reader = asyncio.create_task(anext(decoded, b""))
    if first:
        assert await reader
        reader = asyncio.create_task(anext(decoded, b""))
    else:
        await source.started.wait()
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await source.closed.wait()


async def test_many_streams_at_once_do_not_wait_for_each_other() -> None:
    stalled = []
    for _ in range(40):
        source = Source(wav_header(RATE, 0) + TONE[:1000], stalls=True)
        stalled.append(decode_speech(source.stream(), sample_rate=RATE))
    await asyncio.gather(*(anext(decoded) for decoded in stalled))
    assert await decode(wav_header(RATE, 0) + TONE) == TONE
    await asyncio.gather(*(decoded.aclose() for decoded in stalled))


async def test_an_error_of_the_source_is_passed_on_after_the_sound_before_it() -> None:
    source = Source(wav_header(RATE, 0) + TONE, then=ConnectionResetError("gone"))
    decoded = decode_speech(source.stream(), sample_rate=RATE)
    pcm = bytearray()
    with pytest.raises(ConnectionResetError):
        await drain(decoded, pcm)
    assert pcm == TONE


NO_SPEECH = {
    "empty": (b"", "nothing in it"),
    "web page": (b"<html>Not found</html>" * 100, "cannot be decoded"),
    "garbage": (random.Random(1).randbytes(100_000), "cannot be decoded"),
    "only a head": (wav_header(RATE, 0), "no audio"),
    "half a head": (wav_header(RATE, 0)[:30], "cannot be decoded"),
    "film": (silent_video(), "cannot be decoded"),
    "absurd rate": (wav_header(1_979_719_488, 0) + TONE, "1979719488 Hz"),
    "unknown codec": (wav_header(RATE, 0, tag=10) + TONE, "unknown codec"),
    # Kinds that no engine gives, and that are attacked.
    "mp4": (make_media("mp4", "aac", TONE, RATE), "cannot be decoded"),
    "webm": (make_media("webm", "libopus", TONE, RATE), "cannot be decoded"),
}


@pytest.mark.parametrize(("data", "reason"), NO_SPEECH.values(), ids=NO_SPEECH)
async def test_what_is_no_speech_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(SpeechError, match=reason):
        await decode(data)


async def test_a_refused_source_that_goes_on_for_ever_is_closed() -> None:
    source = Source(bytes(40_000_000), 50_000)
    with pytest.raises(SpeechError):
        await anext(decode_speech(source.stream(), sample_rate=RATE))
    assert source.closed.is_set()
    assert source.sent < len(source.data)


@pytest.mark.parametrize(
    ("playlist", "extension"),
    [
        ("ffconcat version 1.0\nfile sound.aac\n", None),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nsound.aac\n#EXT-X-ENDLIST\n", "m3u8"),
    ],
)
async def test_a_playlist_makes_the_decoder_open_nothing(
    playlist: str, extension: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sound.aac").write_bytes(make_media("adts", "aac", TONE, RATE))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpeechError):
        await decode(playlist.encode(), extension=extension)


STREAMED = wav_header(22050, 0)


def read(data: bytes) -> WavHeader | None:
    return read_wav_header(lambda size: data[:size])


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def test_tags_before_the_samples_are_skipped() -> None:
    fields = struct.pack("<HHIIHH", 1, 2, 16000, 64000, 4, 16) + b"\0\0"
    data = b"RIFF\0\0\0\0WAVE" + chunk(b"LIST", b"odd") + chunk(b"fmt ", fields) + chunk(b"data", b"abcd")
    assert read(data) == WavHeader(sample_rate=16000, channels=2, offset=len(data) - 4, size=4)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(STREAMED[:20], id="cut in the format"),
        pytest.param(STREAMED[:40], id="cut before the samples"),
        pytest.param(b"RIFF\0\0\0\0WAVE" + chunk(b"data", b"abcd"), id="samples without a format"),
        pytest.param(wav_header(22050, 0, channels=6), id="six channels"),
        pytest.param(wav_header(22050, 0, channels=0), id="no channels"),
        pytest.param(wav_header(0, 0), id="no sample rate"),
        pytest.param(wav_header(22050, 0, tag=3, bits=32), id="floats"),
        pytest.param(b"RIFF\0\0\0\0WAVE" + chunk(b"LIST", bytes(70_000)) + STREAMED[12:], id="huge tags"),
    ],
)
def test_anything_else_is_left_to_ffmpeg(data: bytes) -> None:
    assert read(data) is None


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_damaged_head_never_raises(noise: bytes, start: int, end: int) -> None:
    header = read(STREAMED[:start] + noise + STREAMED[end:])
    assert header is None or (header.channels > 0 and header.offset >= len(STREAMED))


def heard(shape: SpeechShape, pcm: bytes, piece: int) -> bytes:
    return b"".join(shape.take(pcm[start : start + piece]) for start in range(0, len(pcm), piece))


@pytest.mark.parametrize("piece", [100, 4096, 100_000])
@pytest.mark.parametrize("noise", [0, 40])
@pytest.mark.parametrize("silence", [0.2, 3.0])
def test_only_thirty_milliseconds_of_the_silence_before_speech_are_left(
    piece: int, noise: int, silence: float
) -> None:
    speech = tone(0.5, RATE)
    played = heard(SpeechShape(RATE), tone(silence, RATE, amplitude=noise) + speech, piece)
    assert played.endswith(speech)
    assert (len(played) - len(speech)) / 2 / RATE == pytest.approx(0.03, abs=0.011)


def test_speech_without_silence_is_unchanged_and_silence_alone_dropped() -> None:
    speech = tone(0.5, RATE)
    assert heard(SpeechShape(RATE), speech, 1000) == speech
    assert heard(SpeechShape(RATE), bytes(2 * RATE), 1000) == b""


@pytest.mark.parametrize("noise", [0, 90])
def test_it_tells_when_speech_goes_on_after_a_pause_but_not_after_a_gap(noise: int) -> None:
    shape = SpeechShape(RATE)
    voice, gap, pause = tone(1, RATE), tone(0.1, RATE, amplitude=noise), tone(0.3, RATE, amplitude=noise)
    heard(shape, bytes(9600) + voice + gap + voice + pause + voice, 4096)
    assert shape.resumed == [pytest.approx(2.43, abs=0.03)]
