"""Prints what is wrong in the repository that it is run in, and exits with 1 if anything is."""

from pathlib import Path
import sys

from . import problems

found = problems(Path.cwd())
print(*found, f"{len(found)} problem{'' if len(found) == 1 else 's'}", sep="\n")
sys.exit(bool(found))
