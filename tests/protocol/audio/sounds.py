"""Synthetic sounds and media files."""

from array import array
from functools import cache
import io
import math
import struct
import threading

import av
from av.audio.codeccontext import AudioCodecContext
import numpy as np

from custom_components.xiaozhi.protocol.audio.opus_codec import audio_frame


@cache
def tone(seconds: float, sample_rate: int, hertz: float = 440, amplitude: int = 8000) -> bytes:
    return _pcm(amplitude * np.sin(_angles(round(seconds * sample_rate), sample_rate, hertz)))


@cache
def hiss(seconds: float, sample_rate: int) -> bytes:
    """Return noise whose loudness changes as that of speech does."""
    count = round(seconds * sample_rate)
    loud = 0.55 + 0.45 * np.sin(_angles(count, sample_rate, 4))
    return _pcm(6000 * loud * np.random.default_rng(7).uniform(-1, 1, count))


def samples(pcm: bytes) -> array[int]:
    return array("h", pcm)


def level(pcm: bytes) -> float:
    """Return the root mean square of all samples."""
    return float(np.sqrt(np.mean(np.square(_values(pcm)))))


def pitch_level(pcm: bytes, sample_rate: int, hertz: float) -> float:
    values = _values(pcm)
    angles = _angles(len(values), sample_rate, hertz)
    return 2 * math.hypot(np.dot(values, np.cos(angles)), np.dot(values, np.sin(angles))) / len(values)


def opus_packets(
    pcm: bytes,
    frame_duration: int = 60,
    *,
    dtx: bool = True,
    application: str = "voip",
    bit_rate: int = 24000,
) -> list[bytes]:
    """Encode 16 kHz PCM as the device does: lowest complexity, and DTX, which takes a tone for silence."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate = 16000
    encoder.layout = "mono"
    encoder.format = "s16"
    encoder.bit_rate = bit_rate
    encoder.compression_level = 0
    encoder.options = {
        "application": application,
        "frame_duration": str(frame_duration),
        "dtx": str(int(dtx)),
    }
    encoder.open()
    return [
        bytes(packet)
        for frame in _frames(pcm, 16000, 16 * frame_duration)
        for packet in encoder.encode(frame)
    ]


def make_media(
    container: str,
    codec: str,
    pcm: bytes,
    sample_rate: int,
    *,
    options: dict[str, str] | None = None,
    title: str = "",
) -> bytes:
    """Put PCM into a file that a speech engine or a media source could send."""
    file = io.BytesIO()
    with av.open(file, "w", format=container, options=options) as output:
        if title:
            output.metadata["title"] = title
        stream = output.add_stream(codec, rate=sample_rate, layout="mono")
        assert isinstance(stream.codec_context, AudioCodecContext)
        for frame in _frames(pcm, sample_rate, 1024):
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return file.getvalue()


def silent_video() -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as output:
        stream = output.add_stream("mpeg4", rate=5)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for _ in range(5):
            output.mux(stream.encode(av.VideoFrame(64, 64, "yuv420p")))
        output.mux(stream.encode(None))
    return file.getvalue()


def wav_header(sample_rate: int, size: int, *, channels: int = 1, tag: int = 1, bits: int = 16) -> bytes:
    """Return the head of a WAV file whose samples take `size` bytes, or 0 when that is not known."""
    block = channels * bits // 8
    fields = struct.pack("<HHIIHH", tag, channels, sample_rate, sample_rate * block, block, bits)
    riff = struct.pack("<4sI8sI", b"RIFF", min(size + 36, 0xFFFFFFFF), b"WAVEfmt ", len(fields))
    return riff + fields + struct.pack("<4sI", b"data", size)


def assert_decoders_ended() -> None:
    """Assert that no thread decodes speech any more; one that was told to end may still need a processor."""
    for thread in threading.enumerate():
        if thread.name.startswith("xiaozhi-speech"):
            thread.join(10)
            assert not thread.is_alive()


def _frames(pcm: bytes, sample_rate: int, frame_samples: int) -> list[av.AudioFrame]:
    frames = []
    for start in range(0, len(pcm), 2 * frame_samples):
        frame = audio_frame(pcm[start : start + 2 * frame_samples], sample_rate)
        frame.pts = start // 2
        frames.append(frame)
    return frames


def _angles(count: int, sample_rate: int, hertz: float) -> np.ndarray:
    return 2 * np.pi * hertz / sample_rate * np.arange(count)


def _pcm(values: np.ndarray) -> bytes:
    return values.astype("<i2").tobytes()


def _values(pcm: bytes) -> np.ndarray:
    return np.frombuffer(pcm, "<i2").astype(float)
