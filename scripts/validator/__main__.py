"""Prints the faults of the current repository; exits with 1 if there are any. Notes are no faults."""

from pathlib import Path
import sys

from . import notes, problems

root = Path.cwd()
found = problems(root)
remarks = [f"note: {note}" for note in notes(root)]
print(*remarks, *found, f"{len(found)} problem{'' if len(found) == 1 else 's'}", sep="\n")
sys.exit(bool(found))
