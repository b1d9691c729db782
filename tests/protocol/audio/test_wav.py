"""The head of WAV streams."""

import struct

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.wav import WavHeader, read_wav_header
from tests.protocol.audio.sounds import wav_header

STREAMED = wav_header(22050, 0)


def read(data: bytes) -> WavHeader | None:
    """Read a head from memory."""
    return read_wav_header(lambda size: data[:size])


def chunk(name: bytes, content: bytes) -> bytes:
    """Return a RIFF chunk, padded to an even length."""
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def test_a_head_written_before_the_samples_existed_has_no_size() -> None:
    assert read(STREAMED) == WavHeader(
        codec="pcm_s16le", sample_rate=22050, channels=1, block_size=2, offset=44, size=None
    )


@pytest.mark.parametrize(
    ("tag", "bits", "codec"),
    [
        (1, 8, "pcm_u8"),
        (1, 24, "pcm_s24le"),
        (1, 32, "pcm_s32le"),
        (3, 32, "pcm_f32le"),
        (3, 64, "pcm_f64le"),
        (6, 8, "pcm_alaw"),
        (7, 8, "pcm_mulaw"),
    ],
)
def test_plain_samples_of_every_kind_are_read(tag: int, bits: int, codec: str) -> None:
    header = read(wav_header(48000, 9600, channels=2, tag=tag, bits=bits))
    assert header == WavHeader(
        codec=codec, sample_rate=48000, channels=2, block_size=bits // 4, offset=44, size=9600
    )


def test_an_extensible_head_and_tags_before_the_samples_are_read() -> None:
    extension = struct.pack("<HHI", 22, 16, 3) + b"\x01\x00" + bytes(14)
    fields = struct.pack("<HHIIHH", 0xFFFE, 2, 16000, 64000, 4, 16) + extension
    data = b"RIFF\0\0\0\0WAVE" + chunk(b"LIST", b"odd") + chunk(b"fmt ", fields) + chunk(b"data", b"abcd")
    assert read(data) == WavHeader(
        codec="pcm_s16le", sample_rate=16000, channels=2, block_size=4, offset=len(data) - 4, size=4
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"RIFF\0\0\0\0AVI LIST", id="another RIFF"),
        pytest.param(b"RIFX" + STREAMED[4:], id="big endian"),
        pytest.param(STREAMED[:20], id="cut in the format"),
        pytest.param(STREAMED[:40], id="cut before the samples"),
        pytest.param(b"RIFF\0\0\0\0WAVE" + chunk(b"data", b"abcd"), id="samples without a format"),
        pytest.param(wav_header(22050, 0, channels=6), id="six channels"),
        pytest.param(wav_header(22050, 0, channels=0), id="no channels"),
        pytest.param(wav_header(0, 0), id="no sample rate"),
        pytest.param(wav_header(1979719488, 0), id="absurd sample rate"),
        pytest.param(wav_header(22050, 0, tag=2, bits=4), id="ADPCM"),
        pytest.param(STREAMED[:32] + b"\x07\x00" + STREAMED[34:], id="blocks of another size"),
        pytest.param(b"RIFF\0\0\0\0WAVE" + chunk(b"LIST", bytes(70_000)) + STREAMED[12:], id="huge tags"),
    ],
)
def test_anything_else_is_left_to_ffmpeg(data: bytes) -> None:
    assert read(data) is None


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_damaged_head_never_raises(noise: bytes, start: int, end: int) -> None:
    header = read(STREAMED[:start] + noise + STREAMED[end:])
    assert header is None or (header.block_size > 0 and header.offset >= len(STREAMED))
