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


def spread(names: Sequence[str], turns: Sequence[tuple[float, ...]], percent: int) -> Row:
    """Return the median of each measurement of some turns, and what `percent` of them do not exceed."""
    row: Row = {}
    for name, values in zip(names, zip(*turns, strict=True) if turns else [()] * len(names), strict=True):
        column = name.replace("_", " ")
        high = statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if values else None
        row[f"{column} median"] = _rounded(statistics.median(values) if values else None)
        row[f"{column} p{percent}"] = _rounded(high)
    return row


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _text(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
