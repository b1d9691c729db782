"""Prints what is wrong in the repository that it is run in, and exits with 1 if anything is."""

from pathlib import Path
import sys

from .checks import problems

found = problems(Path.cwd())
for problem in found:
    print(problem)
print(f"{len(found)} problem{'' if len(found) == 1 else 's'}")
sys.exit(bool(found))
