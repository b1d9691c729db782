"""Speech synthesis by espeak-ng, with the library and data of the package `espeakng-loader`.

Used for the simulated user, and as the demo's voice. Blocking: about 1 ms per second of speech.
"""

import ctypes
from fractions import Fraction
from pathlib import Path
import tempfile
import threading
from typing import Any, Final

import av
import espeakng_loader
import numpy as np

# espeak-ng's speak_lib.h.
_AUDIO_OUTPUT_SYNCHRONOUS: Final = 2
_INITIALIZE_DONT_EXIT: Final = 0x8000
_CHARS_UTF8: Final = 1
_POSITION_CHARACTER: Final = 1
_PARAMETER_RATE: Final = 1
# espeak-ng keeps the path of its data in a buffer of 160 bytes; a longer path does not work.
_MAX_DATA_PATH: Final = 120

_SynthCallback: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


class SpeechError(RuntimeError):
    """espeak-ng cannot be loaded, or cannot speak a text."""


def synthesize(
    text: str, *, voice: str = "en-us", speed: int = 150, sample_rate: int | None = None
) -> tuple[bytes, int]:
    """Speak a text: mono PCM, 16 bit little-endian, and its sample rate in Hz.

    `speed` is in words per minute (80–450). Without a `sample_rate` the audio has espeak-ng's own, 22050 Hz.
    Can be called from any thread; one call runs at a time. Raises `SpeechError`, as for an unknown voice.
    """
    pcm, rate = _engine().speak(text, voice, speed)
    if sample_rate is None or sample_rate == rate:
        return pcm, rate
    return resample(pcm, rate, sample_rate), sample_rate


def resample(pcm: bytes, from_rate: int, to_rate: int) -> bytes:
    """Convert mono PCM (16 bit) from one sample rate in Hz to another."""
    frame = av.AudioFrame.from_ndarray(
        np.frombuffer(pcm, np.int16).reshape(1, -1), format="s16", layout="mono"
    )
    frame.sample_rate = from_rate
    frame.time_base = Fraction(1, from_rate)
    resampler = av.AudioResampler(format="s16", layout="mono", rate=to_rate)
    return b"".join(
        part.to_ndarray().tobytes() for part in (*resampler.resample(frame), *resampler.resample(None))
    )


class _DataFolder:
    """The folder that holds `espeak-ng-data`, by a path that is short enough for the library."""

    def __init__(self) -> None:
        data = Path(espeakng_loader.get_data_path())
        self.parent = data.parent
        if len(str(data)) > _MAX_DATA_PATH:
            # Removed with this object, at the latest when the process ends.
            self._temporary = tempfile.TemporaryDirectory(prefix="espeak-")
            self.parent = Path(self._temporary.name)
            (self.parent / data.name).symlink_to(data)


class _Engine:
    """The library, whose state is global to the process: voice, rate and the speech in progress."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._library: Any = ctypes.CDLL(espeakng_loader.get_library_path())
        self._pcm = bytearray()
        # The library keeps only the address: the callback object must live as long as the engine.
        self._callback = _SynthCallback(self._received)
        self._data = _DataFolder()
        self._rate: int = self._library.espeak_Initialize(
            _AUDIO_OUTPUT_SYNCHRONOUS, 0, str(self._data.parent).encode(), _INITIALIZE_DONT_EXIT
        )
        if self._rate <= 0:
            raise SpeechError("espeak-ng does not find its data")
        self._library.espeak_SetSynthCallback(self._callback)

    def speak(self, text: str, voice: str, speed: int) -> tuple[bytes, int]:
        data = text.replace("\0", " ").encode()
        with self._lock:
            if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
                raise SpeechError(f"espeak-ng has no voice {voice!r}")
            self._library.espeak_SetParameter(_PARAMETER_RATE, speed, 0)
            self._pcm.clear()
            failed = self._library.espeak_Synth(
                data, ctypes.c_size_t(len(data) + 1), 0, _POSITION_CHARACTER, 0, _CHARS_UTF8, None, None
            )
            if failed:
                raise SpeechError(f"espeak-ng cannot speak this text (error {failed})")
            return bytes(self._pcm), self._rate

    def _received(self, samples: Any, count: int, _events: int | None) -> int:
        if samples and count > 0:
            self._pcm += ctypes.string_at(samples, count * 2)
        return 0


_engine_lock: Final = threading.Lock()
_engines: Final[list[_Engine]] = []


def _engine() -> _Engine:
    with _engine_lock:
        if not _engines:
            _engines.append(_Engine())
        return _engines[0]
