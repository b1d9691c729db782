"""The result of a benchmark: a table in Markdown, and a line of JSON for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
import json
from typing import Final

_MISSING: Final = "–"

type Value = str | int | float | None
type Row = dict[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one benchmark. All rows have the same columns."""

    benchmark: str
    claim: str
    """What was measured, for the reader of the table."""
    rows: Sequence[Row]

    def table(self) -> str:
        """Return the table, in Markdown, with its heading."""
        columns = list(self.rows[0])
        cells = [columns, *([_text(row[column]) for column in columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(1, ["-" * width for width in widths])
        lines = [
            f"| {' | '.join(text.ljust(width) for text, width in zip(line, widths, strict=True))} |"
            for line in cells
        ]
        return "\n".join([f"{self.benchmark}: {self.claim}", "", *lines, ""])

    def json(self) -> str:
        """Return one line of JSON."""
        return json.dumps({"benchmark": self.benchmark, "rows": list(self.rows)}, ensure_ascii=False)


def median(values: Sequence[float]) -> float | None:
    """Return the median; None without values."""
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the smallest value that `percent` of all values do not exceed; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    rank = -(-percent * len(ordered) // 100)
    return ordered[max(0, int(rank) - 1)]


def _text(value: Value) -> str:
    if value is None:
        return _MISSING
    return f"{value:g}" if isinstance(value, float) else str(value)
