"""A table as text, HTML, LaTeX and CSV. Numbers have as many digits as their standard error allows."""

from __future__ import annotations

import csv
import html
import io
import math
import textwrap
from typing import TYPE_CHECKING, Any

from dplr.bounds.kinds import short

if TYPE_CHECKING:
    from dplr.summary.table import Line, Summary

CANNOT_SAY = "cannot say"
_SMALLEST_P = 0.001
_WIDTH = 100
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def decimals(std_error: float) -> int:
    """Decimals that leave two digits of a standard error; negative ones round before the point."""
    if not (std_error > 0 and math.isfinite(std_error)):
        return 4
    return 1 - math.floor(math.log10(std_error))


def rounded(value: float, places: int) -> str:
    """A number with so many decimals, thousands separated; empty for nan."""
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if places > 8:
        return f"{value:.{min(places, 20) - 7}e}" if value else "0"
    text = f"{round(value, places):,.{max(places, 0)}f}"
    return text[1:] if text.startswith("-") and not any(digit in text for digit in "123456789") else text


def heads(table: Summary) -> list[str]:
    """Headings of the columns."""
    classes = ["class"] if _classes(table) else []
    clipped = ["clipped to", "declared"] if table.clipped else []
    return [*classes, "", *clipped, "estimate", "std. error", f"{table.facts['level']} interval", "noise", "p"]


def cells(table: Summary) -> list[list[str]]:
    """The cells of each line, rounded."""
    names = [([line.label] if _classes(table) else []) + [line.name] for line in table.lines]
    return [
        [*map(_seen, name), *_clipping(table, line), *_numbers(line)]
        for name, line in zip(names, table.lines, strict=True)
    ]


def _clipping(table: Summary, line: Line) -> list[str]:
    """The range and the declared bounds of a column, where the table has any."""
    if not table.clipped:
        return []
    found = table.clipped.get(line.name)
    if found is None:
        return ["", ""]
    places = decimals((found.high - found.low) / 10)
    low, high = rounded(found.low, places), rounded(found.high, places)
    return [f"[{low}, {high}]", f"[{short(found.lower)}, {short(found.upper)}]"]


def _seen(text: str) -> str:
    """Text whose characters are all seen: names come from others, and could steer what shows them."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _facts(table: Summary) -> str:
    return _seen("; ".join(f"{name} {value}" for name, value in table.facts.items() if name != "level"))


def _classes(table: Summary) -> bool:
    return any(line.label for line in table.lines)


def _numbers(line: Line) -> list[str]:
    """Estimate, standard error, interval, share of the noise, and p-value."""
    if not line.bounded:
        return ["", "", CANNOT_SAY, "", ""]
    places = decimals(line.std_error)
    mark = "*" if line.verdict == "bounded by coef_bound" else ""
    interval = f"[{rounded(line.low, places)}, {rounded(line.high, places)}]{mark}"
    share = "" if math.isnan(line.noise_share) else f"{100 * line.noise_share:.0f} %"
    return [rounded(line.estimate, places), rounded(line.std_error, places), interval, share, p_text(line.p_value)]


def p_text(value: float) -> str:
    """A p-value with three decimals."""
    if math.isnan(value):
        return ""
    return "<.001" if value < _SMALLEST_P else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _remarks(table: Summary) -> list[str]:
    """What stands under a table."""
    found = [_seen(f"{column}: compared with {level}") for column, level in table.references.items()]
    return ([f"Reference levels. {'; '.join(found)}."] if found else []) + [_seen(note) for note in table.notes]


def as_text(table: Summary) -> str:
    """Lines of at most 100 characters, except for long names."""
    grid = [heads(table), *cells(table)]
    widths = [max(len(row[k]) for row in grid) for k in range(len(grid[0]))]
    first = 2 if _classes(table) else 1  # names on the left, numbers on the right
    rows = [
        "  ".join(
            cell.ljust(w) if k < first else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in grid
    ]
    facts = _facts(table)
    rule = "-" * min(max(len(row) for row in rows), _WIDTH)
    body = [row.rstrip() for row in (rows[0], rule, *rows[1:], rule)]
    remarks = [textwrap.fill(each, _WIDTH, subsequent_indent="  ") for each in _remarks(table)]
    return "\n".join([table.title, textwrap.fill(facts, _WIDTH), rule, *body, *remarks])


def _padded(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def as_html(table: Summary) -> str:
    """One table and a list, without styles of their own."""
    classes = 2 if _classes(table) else 1
    top = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads(table))
    rows = "".join(
        "<tr>"
        + "".join(f'<th scope="row"><bdi>{html.escape(cell)}</bdi></th>' for cell in row[:classes])
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[classes:])
        + "</tr>"
        for row in cells(table)
    )
    facts = _facts(table)
    remarks = "".join(f"<li>{html.escape(each)}</li>" for each in _remarks(table))
    return (
        f'<table class="dplr-summary"><caption>{html.escape(table.title)}. {html.escape(facts)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table><ul>{remarks}</ul>"
    )


def as_latex(table: Summary) -> str:
    """A tabular with rules of booktabs; the remarks follow as a paragraph."""
    classes = 2 if _classes(table) else 1
    columns = "l" * classes + "r" * (len(heads(table)) - classes)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(heads(table)), r"\midrule",
        *map(_latex_row, cells(table)), r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    facts = _facts(table)
    under = " ".join([f"{table.title}.", f"{facts}.", *_remarks(table)])
    return "\n".join([*lines, "", rf"\par\smallskip{{\footnotesize {_latex(under)}}}", ""])


def _latex_row(row: list[str]) -> str:
    cells = [_latex(cell) for cell in row]
    if cells[0][:1] in ("[", "*"):  # else the end of the row before would take it for its option
        cells[0] = "{}" + cells[0]
    return " & ".join(cells) + r" \\"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def records(table: Summary) -> list[dict[str, Any]]:
    """One mapping of names to values for each line, numbers in full; with the range and the declared bounds, if any."""
    names = [name for name in type(table.lines[0]).__slots__ if name != "label" or _classes(table)]
    found = [{name: getattr(line, name) for name in names} for line in table.lines]
    if not table.clipped:
        return found
    ends = {"clipped_low": "low", "clipped_high": "high", "declared_lower": "lower", "declared_upper": "upper"}
    return [
        record | {name: getattr(table.clipped.get(record["name"]), end, math.nan) for name, end in ends.items()}
        for record in found
    ]


def as_csv(table: Summary) -> str:
    """Numbers in full."""
    text, lines = io.StringIO(), records(table)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(lines[0])
    for line in lines:
        writer.writerow([_full(value) for value in line.values()])
    return text.getvalue()


def _full(value: str | float) -> str:
    """A number in full; text that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        return f"'{_seen(value)}" if value[:1] in ("=", "+", "-", "@") else _seen(value)
    return repr(value) if math.isfinite(value) else ""
