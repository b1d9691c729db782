"""The resources that this process uses."""

import ctypes
from pathlib import Path
import resource
from typing import Final

_PAGES: Final = Path("/proc/self/statm")
_SHARES: Final = Path("/proc/self/smaps_rollup")
_FILES: Final = Path("/proc/self/fd")


def resident_kib() -> float:
    """Return the memory of the process; not a number where the system does not tell."""
    if not _PAGES.exists():
        return float("nan")
    return int(_PAGES.read_text().split()[1]) * resource.getpagesize() / 1024


def return_free_memory() -> None:
    """Return to the system what has been freed and is kept for later; does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def proportional_kib() -> float:
    """Return the memory that the process has now, with its part of what it shares with others (PSS).

    Not a number where the system does not tell.
    """
    if not _SHARES.exists():
        return float("nan")
    (line,) = (line for line in _SHARES.read_text().splitlines() if line.startswith("Pss:"))
    return float(line.split()[1])


def open_sockets() -> int:
    """Return the number of open sockets; 0 where the system does not tell."""
    if not _FILES.exists():
        return 0
    return sum(_points_to_socket(path) for path in _FILES.iterdir())


def _points_to_socket(path: Path) -> bool:
    try:
        return str(path.readlink()).startswith("socket:")
    except OSError:
        # It was closed meanwhile, as was the handle of the listed folder.
        return False
