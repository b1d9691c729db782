"""Run a command that ends when the process that started it does, even if that one is killed.

Only the standard library: this runs alone, before it becomes the command.
"""

import ctypes
import os
import signal
import sys
from typing import Final

# linux/prctl.h; other systems lack this call.
_PR_SET_PDEATHSIG: Final = 1


def main(parent: int, command: list[str]) -> None:
    """Become `command`, unless the process `parent` has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
