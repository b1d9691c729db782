"""The result of a benchmark: rows for a table in Markdown, and for programs."""

from collections.abc import Sequence
import statistics

type Value = str | int | float | None
type Row = dict[str, Value]


def table(rows: Sequence[Row]) -> str:
    """Return rows, which all have the same columns, in Markdown."""
    columns = list(rows[0])
    cells = [columns, *([_text(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        f"| {' | '.join(text.ljust(width) for text, width in zip(line, widths, strict=True))} |"
        for line in cells
    )


def percentile(values: Sequence[float], percent: int) -> float:
    """Return what `percent` of all values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _text(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
