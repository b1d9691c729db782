"""Sound files: reads any format that libav knows, writes WAV."""

from pathlib import Path
from typing import IO
import wave

import av

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
