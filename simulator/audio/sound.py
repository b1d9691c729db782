"""Sounds: reads files of any format that libav knows, writes WAV, and compares what was said and heard."""

from pathlib import Path
from typing import IO
import wave

import av
import numpy as np

_SPEECH_RATE = 16000


def read_wav(path: Path) -> bytes:
    """Return a sound file as 16 kHz mono PCM of 16 bits. Raises `OSError` and `ValueError`."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=_SPEECH_RATE)
    try:
        with av.open(str(path)) as container:
            frames = [new for frame in container.decode(audio=0) for new in resampler.resample(frame)]
    except (av.InvalidDataError, IndexError) as err:
        raise ValueError(f"{path} is not a sound file") from err
    return b"".join(
        bytes(frame.planes[0])[: frame.samples * 2] for frame in [*frames, *resampler.resample(None)]
    )


def write_wav(to: Path | IO[bytes], pcm: bytes, rate: int) -> None:
    """Write mono PCM of 16 bits. Raises `OSError`."""
    with wave.open(str(to) if isinstance(to, Path) else to, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm)


def likeness(said: bytes, said_rate: int, heard: bytes, heard_rate: int) -> float:
    """Return how much alike a sound is to the part of another that it matches best: 1 for the same.

    Both are mono PCM of 16 bits. It is the normalised correlation, so how loud they are does not matter.
    """
    wanted, found = _samples(said, said_rate, heard_rate), _samples(heard, heard_rate, heard_rate)
    size = 1 << (len(wanted) + len(found)).bit_length()
    products = np.fft.irfft(np.fft.rfft(found, size) * np.conj(np.fft.rfft(wanted, size)), size)
    energy = np.concatenate(([0.0], np.cumsum(found**2)))
    starts = max(len(found) - len(wanted), 0) + 1
    windows = energy[np.minimum(np.arange(starts) + len(wanted), len(found))] - energy[:starts]
    loudness = np.sqrt(np.maximum(windows, 1.0) * max(float(np.sum(wanted**2)), 1.0))
    return float(np.max(products[:starts] / loudness))


def _samples(pcm: bytes, rate: int, wanted: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    samples = np.frombuffer(pcm, dtype=np.int16).astype(float)
    places = np.arange(round(len(samples) * wanted / rate)) * rate / wanted
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.interp(places, np.arange(len(samples)), samples)
    return found
