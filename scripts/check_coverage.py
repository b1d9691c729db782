"""Fails if the tests cover less of a module than the project promises."""

import json
from pathlib import Path
import sys
from typing import Any, Final

PROMISED: Final = 95.0
"""Per cent of the lines of every module."""


def main(report: Path) -> int:
    """Compare coverage.py's JSON report with the promise; return the exit status."""
    files: dict[str, dict[str, Any]] = json.loads(report.read_text())["files"]
    lines = sum(file["summary"]["num_statements"] for file in files.values())
    covered = sum(file["summary"]["covered_lines"] for file in files.values())
    reached = 100 * covered / lines if lines else 0.0
    print(f"Coverage: {reached:.1f} % of {lines} lines. Promised are {PROMISED:.0f} % of every module.")
    low = {name: file for name, file in files.items() if file["summary"]["percent_covered"] < PROMISED}
    for name, file in sorted(low.items()):
        missing = ", ".join(map(str, file["missing_lines"]))
        print(f"  {name}: {file['summary']['percent_covered']:.1f} %, without the lines {missing}")
    return 1 if low or not lines else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
