"""The head of WAV streams."""

import struct

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.wav import WavHeader, read_wav_header
from tests.protocol.audio.sounds import wav_header

STREAMED = wav_header(22050, 0)


def read(data: bytes) -> WavHeader | None:
    return read_wav_header(lambda size: data[:size])


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def test_a_head_written_before_the_samples_existed_has_no_size() -> None:
    assert read(STREAMED) == WavHeader(sample_rate=22050, channels=1, offset=44, size=None)


def test_tags_before_the_samples_are_skipped() -> None:
    fields = struct.pack("<HHIIHH", 1, 2, 16000, 64000, 4, 16) + b"\0\0"
    data = b"RIFF\0\0\0\0WAVE" + chunk(b"LIST", b"odd") + chunk(b"fmt ", fields) + chunk(b"data", b"abcd")
    assert read(data) == WavHeader(sample_rate=16000, channels=2, offset=len(data) - 4, size=4)


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
