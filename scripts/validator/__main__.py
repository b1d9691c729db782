"""Prints the faults of the current repository; exits with 1 if there are any."""

from pathlib import Path
import sys

from . import problems

found = problems(Path.cwd())
print(*found, f"{len(found)} problem{'' if len(found) == 1 else 's'}", sep="\n")
sys.exit(bool(found))
