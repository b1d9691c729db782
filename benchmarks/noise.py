"""What the computer itself does to processor times: those of a process that only counts.

On a virtual machine the time that others take of a core counts as the process's own. So a call that is long
may be short, and how often that happens is for this process to say. Run by `counting`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
from pathlib import Path
import sys
import threading
from time import sleep, thread_time
from typing import Final

from .stalls import TOO_LONG

__all__ = ["Noise", "counting"]

_ROOT: Final = Path(__file__).parent.parent
# Pieces of work of some tenths of a millisecond, about a fifth of a core, as Home Assistant takes with ten
# devices that listen.
_NUMBERS: Final = 15_000
_REST: Final = 0.001


@dataclass(slots=True)
class Noise:
    """Processor seconds of the process that counts."""

    busy: float = 0.0
    """Of all pieces of work."""
    too_long: int = 0
    """Pieces of work that took more than 5 ms."""
    longest: float = 0.0
    """Of one piece."""

    def calls_too_long(self, busy: float) -> float | None:
        """Return how many calls the computer makes too long in so many processor seconds, as it did here."""
        return self.too_long / self.busy * busy if self.busy else None


@asynccontextmanager
async def counting() -> AsyncGenerator[Noise]:
    """Let a process count meanwhile; what it found is there at the end."""
    noise = Noise()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.noise"),
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield noise
    finally:
        # The end of its input ends it.
        found, _ = await process.communicate()
        if process.returncode == 0:
            noise.busy, noise.too_long, noise.longest = json.loads(found)


def _count() -> None:
    waiting = threading.Thread(target=sys.stdin.read, daemon=True)
    waiting.start()
    busy = longest = 0.0
    too_long = 0
    while waiting.is_alive():
        began = thread_time()
        sum(range(_NUMBERS))
        seconds = thread_time() - began
        busy += seconds
        longest = max(longest, seconds)
        too_long += seconds > TOO_LONG
        sleep(_REST)
    print(json.dumps([busy, too_long, longest]))


if __name__ == "__main__":
    _count()
