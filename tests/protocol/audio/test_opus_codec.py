"""Opus, decoded and encoded for real, and how long a packet is."""

from collections.abc import Callable
from functools import partial
import random

import av
from hypothesis import given, settings, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.opus_codec import OpusDecoder, OpusEncoder, opus_samples
from custom_components.xiaozhi.protocol.audio.uplink_timeline import silence
from tests.protocol.audio.sounds import hiss, level, opus_packets, pitch_level, samples, tone

HIGHEST_FRAME = 120 * 16 * 2


def decoded_ms(packet: bytes) -> float:
    """Return how long a packet is by libopus itself."""
    decoder = av.CodecContext.create("libopus", "r")
    decoder.sample_rate = 48000
    decoder.layout = "mono"
    return sum(frame.samples for frame in decoder.decode(av.Packet(packet))) / 48


def test_one_byte_packets_of_silence_decode_to_whole_quiet_frames() -> None:
    packets = opus_packets(hiss(1.2, 16000) + silence(3000))
    decoder = OpusDecoder(60)
    frames = [decoder.decode(packet) for packet in packets]
    one_byte = [frame for packet, frame in zip(packets, frames, strict=True) if len(packet) == 1]
    assert len(one_byte) > 30
    assert {len(frame) for frame in frames} == {2 * 960}
    assert all(level(frame) < 100 for frame in frames[-30:])
    assert level(b"".join(frames[:20])) > 1000


@pytest.mark.parametrize("duration", [5, 60, 120])
def test_time_never_shifts_by_a_sample(duration: int) -> None:
    packets = opus_packets(hiss(2, 16000) + silence(2000), duration)
    packets = (packets * (500 // len(packets) + 1))[:500]
    decoder = OpusDecoder(duration)
    assert {len(decoder.decode(packet)) for packet in packets} == {2 * 16 * duration}


@pytest.mark.parametrize(
    ("rate", "encode"), [(16000, partial(opus_packets, dtx=False)), (24000, OpusEncoder().encode)]
)
def test_a_tone_comes_out_as_it_went_in(rate: int, encode: Callable[[bytes], list[bytes]]) -> None:
    decoder = OpusDecoder(60)
    sound = bytes(2 * rate * 6 // 10) + tone(1.2, rate)
    pcm = b"".join(map(decoder.decode, encode(sound)))
    assert len(pcm) == 2 * 16 * 1800
    assert pitch_level(pcm[2 * 16 * 700 :], 16000, 440) == pytest.approx(8000, rel=0.25)
    onset = next(i for i, value in enumerate(samples(pcm)) if abs(value) > 1500)
    assert 600 - 5 <= onset / 16 <= 600 + 15


def test_a_broken_packet_is_silence_and_the_next_good_ones_are_heard() -> None:
    packets = opus_packets(hiss(1.8, 16000))
    upset, calm = OpusDecoder(60), OpusDecoder(60)
    for packet in packets[:5]:
        assert upset.decode(packet) == calm.decode(packet)
    assert len(upset.decode(b"\xff\xff\xff")) == 1920
    calm.decode(b"")
    assert [upset.decode(packet) for packet in packets[5:]] == [calm.decode(packet) for packet in packets[5:]]


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_whatever_arrives_gives_a_bounded_frame_and_no_error(packets: list[bytes]) -> None:
    decoder = OpusDecoder(20)
    for packet in packets:
        assert 0 < len(decoder.decode(packet)) <= HIGHEST_FRAME


def test_every_packet_is_as_long_as_declared() -> None:
    encoder = OpusEncoder()
    packets = encoder.encode(tone(0.5, 24000)) + encoder.encode(bytes(24000)) + encoder.flush()
    assert {decoded_ms(packet) for packet in packets} == {60}
    assert 1000 <= len(packets) * 60 <= 1120


@settings(max_examples=30)
@given(st.lists(st.integers(0, 5000), max_size=20))
def test_the_size_of_pieces_does_not_matter(cuts: list[int]) -> None:
    pcm = tone(0.3, 24000)
    whole, pieces = OpusEncoder(), OpusEncoder()
    packets: list[bytes] = []
    start = 0
    for cut in cuts:
        packets += pieces.encode(pcm[start : start + cut])
        start += cut
    packets += pieces.encode(pcm[start:]) + pieces.flush()
    assert packets == whole.encode(pcm) + whole.flush()


def test_flush_fills_up_the_last_packet() -> None:
    encoder = OpusEncoder()
    assert encoder.flush() == []
    assert len(encoder.encode(tone(0.13, 24000))) == 2
    assert len(encoder.flush()) == 1


def test_the_very_end_of_a_sound_is_not_lost() -> None:
    encoder = OpusEncoder()
    packets = encoder.encode(bytes(2 * (2880 - 120)) + hiss(0.005, 24000)) + encoder.flush()
    decoder = OpusDecoder(60)
    pcm = b"".join(decoder.decode(packet) for packet in packets)
    assert len(packets) == 3
    assert level(pcm[2 * 16 * 115 : 2 * 16 * 130]) > 300


def test_sound_takes_the_bit_rate_of_a_voice() -> None:
    encoder = OpusEncoder()
    packets = encoder.encode(hiss(3, 24000)) + encoder.flush()
    assert 32000 < 8 * sum(map(len, packets)) / 3 < 56000
    assert max(map(len, packets)) < 700


@pytest.mark.parametrize(
    ("frame_ms", "application"), [(10, "lowdelay"), (20, "audio"), (40, "voip"), (60, "voip")]
)
def test_real_opus_packets_have_the_duration_they_were_made_with(frame_ms: int, application: str) -> None:
    """Of every mode and bit rate of the reference encoder."""
    pcm = random.Random(1).randbytes(16000 * 2)
    for bit_rate in (8000, 24000, 96000):
        packets = opus_packets(pcm, frame_ms, application=application, bit_rate=bit_rate)
        assert len(packets) > 10
        assert {opus_samples(packet) for packet in packets} == {frame_ms * 48}


@pytest.mark.parametrize("packet", [b"", b"\x5b", b"\x5cstereo"])
def test_stereo_and_broken_packets_have_no_duration(packet: bytes) -> None:
    """The device has one microphone."""
    assert opus_samples(packet) is None
