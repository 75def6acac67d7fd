"""A table of columns as text, HTML, LaTeX and CSV: two tables, of columns and of their pairs."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from dplr._kit import markup
from dplr._kit.markup import printable
from dplr.summary.render import CANNOT_SAY, WIDTH, decimals, filled, full, latex, latex_row, padded, rounded

if TYPE_CHECKING:
    from dplr.moments.description import Estimate, MomentTable

FIRST = 10  # lines of each table in the short form
FIELDS = ("part", "name", "second", "lower", "upper", "estimate", "low", "high")
_TITLE = "Columns of a table from noisy second moments"
_MOST = 4  # decimals of numbers without a unit
Rows = list[list[str]]


def _columns(table: MomentTable) -> Rows:
    """The table of the columns, its head first."""
    interval = f"{100 * table.level:g} % interval"
    rows = [["", "clipped to", "mean", interval, "std. deviation", interval, "VIF", interval]]
    for line in table.lines:
        places = decimals((line.upper - line.lower) / 10)
        clipped = "" if math.isnan(line.lower) else f"[{rounded(line.lower, places)}, {rounded(line.upper, places)}]"
        inflation = ["", ""] if line.inflation is None else _cells(line.inflation, 3)
        rows.append([printable(line.name), clipped, *_cells(line.mean), *_cells(line.deviation), *inflation])
    return rows


def _pairs(table: MomentTable) -> Rows:
    """The table of the correlations, its head first."""
    rows = [["", "with", "correlation", f"{100 * table.level:g} % interval"]]
    for line in table.correlations:
        rows.append([printable(line.first), printable(line.second), *_cells(line.value, _MOST)])
    return rows


def _cells(value: Estimate, most: int = 20) -> list[str]:
    """The number, with the digits that its interval leaves, and the interval."""
    if math.isnan(value.estimate):
        return ["", CANNOT_SAY]
    places = min(decimals((value.high - value.low) / 4), most)
    return [rounded(value.estimate, places), f"[{rounded(value.low, places)}, {rounded(value.high, places)}]"]


def _facts(table: MomentTable) -> str:
    return printable("; ".join(f"{name} {value}" for name, value in table.facts.items()))


def _remarks(table: MomentTable) -> list[str]:
    return [printable(remark) for remark in (*table.alarms, *table.notes)]


def as_text(table: MomentTable, most: int | None) -> str:
    """The tables with at most so many lines each, and the notes; without them where lines are left out."""
    lines = [_TITLE, *filled(_facts(table))]
    surplus = 0
    for rows, names in ((_columns(table), 1), (_pairs(table), 2)):
        head, *body = rows
        excerpt = body if most is None else body[:most]
        surplus += len(body) - len(excerpt)
        if body:
            grid = _grid([head, *excerpt], names)
            rule = "-" * min(max(map(len, grid)), WIDTH)
            lines += [rule, grid[0], rule, *grid[1:]]
    remarks = [line for remark in _remarks(table) for line in filled(remark)]
    brief = [line for alarm in table.alarms for line in filled(printable(alarm))]
    rest = [f"({surplus:,} more lines, and notes: `to_text()`, or `--full` on the command line)"] if surplus else []
    return "\n".join([*lines, *rest, *(brief if surplus else remarks)])


def _grid(rows: Rows, names: int) -> list[str]:
    """Rows of cells as lines: names on the left, numbers on the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            padded(cell, width, k < names) for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def as_html(table: MomentTable) -> str:
    """Two tables and a list, without styles of their own."""
    caption = f"{_TITLE}. {_facts(table)}."
    columns, pairs = (
        markup.table(rows[0], rows[1:], names=names, caption=above, kind="dplr-moments")
        for rows, names, above in ((_columns(table), 1, caption), (_pairs(table), 2, ""))
    )
    return columns + pairs + markup.sentences(_remarks(table))


def as_notebook(table: MomentTable) -> str:
    """The first lines of both tables with all remarks: those that void the promise above, the others below."""
    where = "`to_text()`"
    columns, pairs = _columns(table), _pairs(table)
    return markup.piece(
        _TITLE,
        markup.alarms(table.alarms),
        markup.paragraph(f"{_facts(table)}."),
        markup.excerpt(columns[0], columns[1:], "columns", where=where),
        markup.excerpt(pairs[0], pairs[1:], "correlations", names=2, where=where),
        markup.sentences(table.notes),
    )


def as_latex(table: MomentTable) -> str:
    """Two tabulars with rules of booktabs; the notes follow as a paragraph."""
    under = " ".join([f"{_TITLE}.", f"{_facts(table)}.", *_remarks(table)])
    parts = [*_tabular(_columns(table), 1), "", *_tabular(_pairs(table), 2)]
    return "\n".join([*parts, "", rf"\par\smallskip{{\footnotesize {latex(under)}}}", ""])


def _tabular(rows: Rows, names: int) -> list[str]:
    head, *body = rows
    columns = "l" * names + "r" * (len(head) - names)
    return [
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", latex_row(head), r"\midrule", *map(latex_row, body),
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def records(table: MomentTable) -> list[dict[str, Any]]:
    """One mapping of names to values for each number, in full."""
    rows = []
    for line in table.lines:
        parts = {"mean": line.mean, "std. deviation": line.deviation, "VIF": line.inflation}
        rows += [
            _record(part, line.name, "", value, line.lower, line.upper)
            for part, value in parts.items() if value is not None
        ]  # fmt: skip
    return rows + [_record("correlation", line.first, line.second, line.value) for line in table.correlations]


def _record(
    part: str, name: str, second: str, value: Estimate, lower: float = math.nan, upper: float = math.nan
) -> dict[str, Any]:
    numbers = lower, upper, value.estimate, value.low, value.high
    return dict(zip(FIELDS, (part, name, second, *numbers), strict=True))


def as_csv(table: MomentTable) -> str:
    """A header, and a line for each number, in full."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    for record in records(table):
        writer.writerow({name: full(value) for name, value in record.items()})
    return text.getvalue()
