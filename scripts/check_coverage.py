"""Fails when the tests cover less of the integration than the project promises."""

import json
from pathlib import Path
import sys
from typing import Any, Final

PROTOCOL: Final = "custom_components/xiaozhi/protocol/"
PROMISED: Final = {True: ("protocol/", 95.0), False: ("the rest of the integration", 90.0)}
"""Per cent of the lines, for protocol/ and for all else."""


def main(report: Path) -> int:
    """Compare coverage.py's JSON report with the promises; return the exit status."""
    files: dict[str, dict[str, Any]] = json.loads(report.read_text())["files"]
    status = 0
    for inside, (part, promised) in PROMISED.items():
        summaries = {
            name: file["summary"] for name, file in files.items() if name.startswith(PROTOCOL) == inside
        }
        lines = sum(summary["num_statements"] for summary in summaries.values())
        covered = sum(summary["covered_lines"] for summary in summaries.values())
        reached = 100 * covered / lines if lines else 0.0
        print(f"Coverage of {part}: {reached:.1f} % of {lines} lines, promised are {promised:.0f} %.")
        if reached < promised:
            status = 1
            for name, summary in sorted(
                summaries.items(), key=lambda item: item[1]["missing_lines"], reverse=True
            )[:8]:
                print(f"  {name}: {summary['missing_lines']} lines not run")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
