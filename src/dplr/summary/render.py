"""A table as text, HTML, LaTeX and CSV. Numbers have as many digits as their standard error or their noise leaves."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dplr._kit import markup
from dplr._kit.markup import printable
from dplr.bounds.columns import short
from dplr.inference.intervals import ASSUMED, BARELY, DECLARED, NARROWLY
from dplr.summary.columns import INTERCEPT

if TYPE_CHECKING:
    from dplr.summary.table import Line, Summary

CANNOT_SAY = "cannot say"
AGAINST, _AGAINST_LATEX = "each class against all others", "class, against all others"
SUM = "sum of weights"  # the fact in place of a number of rows
_MARKS = {DECLARED: "*", NARROWLY: "+", BARELY: "*+"}  # beside an interval
STAR = "*: "  # begins the note of a table that says what its marked lines assume
_NARROW = (
    "+: barely bounded, up to the level in place of a standard error. Such lines are reported only where "
    "noise lets them through, so interval and p-value leave more room. They may count the largest effect of a drowned "
    "column too (effect_bound)."
)
_BARELY = (
    "*+: hardly told from noise, so interval and p-value leave more room. The interval ends at the largest effect "
    "(effect_bound) at the latest."
)
_SMALLEST_P = 0.001
WIDTH = 100
_BRIEF, FIRST, _FEWEST = 15, 10, 3  # lines of the short form; coefficients in it, at most and at least
_LONGEST = 48  # characters of a name in the short form
_EXACT = 4  # digits of a number without noise whose sampling error is not known
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def decimals(std_error: float, digits: int = 2) -> int:
    """Decimals that leave two digits of a standard error; negative ones round before the point."""
    if not (std_error > 0 and math.isfinite(std_error)):
        return 4
    return digits - 1 - math.floor(math.log10(std_error))


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
    if table.obstacle:
        return [*classes, "", *clipped, "coefficient", *(["noise"] if _noisy(table) else [])]
    return [*classes, "", *clipped, "estimate", "std. error", f"{table.facts['level']} interval", "noise", "p"]


def cells(table: Summary) -> list[list[str]]:
    """The cells of each line, rounded."""
    return _cells(table, table.lines)


def _cells(table: Summary, lines: Sequence[Line]) -> list[list[str]]:
    names = [([line.label] if _classes(table) else []) + [line.name] for line in lines]
    numbers = _released if table.obstacle else _numbers
    width = len(heads(table))
    return [
        [*map(printable, name), *_clipping(table, line), *numbers(line)][:width]
        for name, line in zip(names, lines, strict=True)
    ]


def _clipping(table: Summary, line: Line) -> list[str]:
    """The range and the declared bounds of a column, where the table has any."""
    if not table.clipped:
        return []
    clipping = table.clipped.get(line.name)
    if clipping is None:
        return ["", ""]
    places = decimals((clipping.high - clipping.low) / 10)
    low, high = rounded(clipping.low, places), rounded(clipping.high, places)
    return [f"[{low}, {high}]", f"[{short(clipping.lower)}, {short(clipping.upper)}]"]


def _noisy(table: Summary) -> bool:
    """Whether the noise of some coefficient is known, and not 0."""
    return any(line.noise > 0 for line in table.lines)


def _released(line: Line) -> list[str]:
    """A released coefficient with the digits that its noise leaves, two where it is not known; and the noise."""
    if line.noise > 0:
        places = decimals(line.noise)
        return [rounded(line.estimate, places), rounded(line.noise, places)]
    digits = 2 if math.isnan(line.noise) else _EXACT
    return [rounded(line.estimate, decimals(abs(line.estimate), digits)), ""]


def _facts(table: Summary) -> str:
    hidden = ("level", "coefficients")
    return printable("; ".join(f"{name} {value}" for name, value in table.facts.items() if name not in hidden))


def _about(table: Summary) -> str:
    """The meaning of the coefficients, as a sentence."""
    return f"Coefficients: {table.estimand.words}."


def _classes(table: Summary) -> bool:
    return any(line.label for line in table.lines)


def _numbers(line: Line) -> list[str]:
    """Estimate, standard error, interval, share of the noise, and p-value."""
    if not line.bounded:
        return ["", "", CANNOT_SAY, "", ""]
    places = decimals((line.high - line.low) / 4 if math.isnan(line.std_error) else line.std_error)
    to = "" if math.isnan(line.bounded_to) else f"to {_percent(line.bounded_to)}"
    std_error = to or rounded(line.std_error, places)
    mark = _MARKS.get(line.verdict, "")
    interval = f"[{rounded(line.low, places)}, {rounded(line.high, places)}]{mark}"
    share = "" if math.isnan(line.noise_share) else f"{100 * line.noise_share:.0f} %"
    return [rounded(line.estimate, places), std_error, interval, share, p_text(line.p_value)]


def _percent(level: float) -> str:
    """A level of at least 99.9 %, cut to two digits behind its last nine."""
    places = min(8, math.ceil(-math.log10(max(1 - level, 1e-9)))) - 1
    return f"{math.floor(100 * level * 10**places) / 10**places:.{places}f} %"


def p_text(value: float) -> str:
    """A p-value with three decimals."""
    if math.isnan(value):
        return ""
    return "<.001" if value < _SMALLEST_P else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _remarks(table: Summary) -> list[str]:
    entries = [printable(f"{column}: compared with {level}") for column, level in table.references.items()]
    references = [f"Reference levels. {'; '.join(entries)}."] if entries else []
    below = [*_fit_words(table), *(f"{test}." for test in map(str, table.tests))]
    before, after = (*below, *table.alarms, *table.advice, *_narrow(table.lines)), table.notes
    return [*map(printable, before), *references, *map(printable, after)]


def _fit_words(table: Summary) -> list[str]:
    """The statistics of the whole model, as a line."""
    statistics = "; ".join(map(str, table.fit_statistics))
    return [f"{statistics} ({table.facts['level'].removesuffix(' joint')} each)."] if statistics else []


def _narrow(lines: Sequence[Line]) -> list[str]:
    """The meaning of the marks of lines that are barely bounded, where one is."""
    meanings = {NARROWLY: _NARROW, BARELY: _BARELY}
    return [words for verdict, words in meanings.items() if any(line.verdict == verdict for line in lines)]


def _assumed(table: Summary, lines: Sequence[Line]) -> list[str]:
    """The note on what lines with a star assume, where one of these has it."""
    starred = any(line.verdict in ASSUMED for line in lines)
    return [note for note in table.notes if starred and note.startswith(STAR)]


def strongest(table: Summary) -> Sequence[Line]:
    """The lines, those of each class by their strength: those of one column together, then the intercept."""
    if table.groups is None:
        return table.lines
    column = {member: name for name, members in table.groups.items() for member in members}
    blocks: dict[tuple[str, str], list[Line]] = {}
    for line in table.lines:
        blocks.setdefault((line.label, column.get(line.name, line.name)), []).append(line)
    labels = list(dict.fromkeys(label for label, _ in blocks))

    def place(block: list[Line]) -> tuple[int, bool, float]:
        first = block[0]
        return labels.index(first.label), first.name == INTERCEPT, -max(line.strength for line in block)

    return [line for block in sorted(blocks.values(), key=place) for line in block]


def _grid(table: Summary, rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines: names on the left, numbers on the right."""
    grid = [heads(table), *rows]
    widths = [max(len(row[k]) for row in grid) for k in range(len(grid[0]))]
    first = 2 if _classes(table) else 1
    return [
        "  ".join(padded(cell, w, k < first) for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in grid
    ]


def filled(text: str) -> list[str]:
    """Lines of a paragraph."""
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def as_text(table: Summary) -> str:
    """Everything, in lines of at most 100 characters, except for long names."""
    rows = _grid(table, cells(table))
    rule = "-" * min(max(len(row) for row in rows), WIDTH)
    remarks = [line for remark in _remarks(table) for line in filled(remark)]
    top = [table.title, *filled(_facts(table)), *filled(_about(table))]
    return "\n".join([*top, rule, rows[0], rule, *rows[1:], rule, *remarks])


def as_brief(table: Summary) -> str:
    """The strongest coefficients, what nobody may overlook, and where the rest is, in at most 15 lines."""
    facts = table.facts
    values = [f"{name} {facts[name]}" for name in ("n", SUM, "eps", "delta") if name in facts]
    subject = f"{table.title}: {_short(printable(facts['target']))}, {', '.join(values)}"
    top = filled(subject) + filled(_about(table))
    remarks = [line for sentence in table.alarms for line in filled(printable(sentence))]
    lines_shown = strongest(table)
    shown = lines_shown[:FIRST]
    key = [f"{statistic}." for statistic in map(str, table.fit_statistics[:1])]
    for lines in (
        filled(printable(sentence)) for sentence in (*_assumed(table, shown), *_narrow(shown), *table.advice, *key)
    ):
        if len(top) + len(remarks) + len(lines) + _FEWEST + 2 <= _BRIEF:
            remarks += lines
    room = max(_FEWEST, min(FIRST, _BRIEF - len(top) - len(remarks) - 2))
    excerpt = lines_shown[:room]
    surplus = len(table.lines) - len(excerpt) + table.omitted
    surplus_words = f"{surplus:,} more coefficients" if surplus else ""
    rest = " and ".join(part for part in (surplus_words, "notes" if table.notes else "") if part)
    where = [f"({rest}: `to_text()`, or `--full` on the command line)"] if rest else []
    grid = _first_rows(table, excerpt)
    if table.clipped and max(map(len, grid)) > WIDTH:
        grid = _first_rows(replace(table, clipped={}), excerpt)  # the title says that columns are clipped
    return "\n".join([*top, *grid, *where, *remarks])


def _first_rows(table: Summary, shown: Sequence[Line]) -> list[str]:
    """Lines of the table, each level with its reference."""
    rows = _cells(table, shown)
    names = [printable(f"{line.name} vs {line.reference}" if line.reference else line.name) for line in shown]
    for row, name in zip(rows, _shortened(names), strict=True):
        row[1 if _classes(table) else 0] = name
    return _grid(table, rows)


def _shortened(names: Sequence[str]) -> list[str]:
    """Names of one table, in full where two of them would be short alike."""
    alike = Counter(_short(name) for name in set(names))
    return [_short(name) if alike[_short(name)] == 1 else name for name in names]


def _short(name: str) -> str:
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[: half - 1]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def padded(cell: str, width: int, flush_left: bool) -> str:
    """A cell of a line of text."""
    return cell.ljust(width) if flush_left else cell.rjust(width)


def as_html(table: Summary) -> str:
    """One table and a list, without styles of their own."""
    caption = f"{table.title}. {_facts(table)}. {_about(table)}"
    names = 2 if _classes(table) else 1
    shown = markup.table(heads(table), cells(table), names=names, caption=caption, kind="dplr-summary")
    return shown + markup.sentences(_remarks(table))


def as_notebook(table: Summary) -> str:
    """The first lines with all remarks: those that void the promise above the table, the others below."""
    rows = markup.excerpt(
        heads(table), _cells(table, strongest(table)), "coefficients", names=2 if _classes(table) else 1,
        hidden=table.omitted, where="`to_text()`",
    )  # fmt: skip
    below = [remark for remark in _remarks(table) if remark not in table.alarms]
    about = markup.paragraph(f"{_facts(table)}. {_about(table)}")
    return markup.piece(table.title, markup.alarms(table.alarms), about, rows, markup.sentences(below))


def as_latex(table: Summary) -> str:
    """A tabular with rules of booktabs; the remarks follow as a paragraph."""
    classes = 2 if _classes(table) else 1
    columns = "l" * classes + "r" * (len(heads(table)) - classes)
    head = (
        [_AGAINST_LATEX, *heads(table)[1:]] if _classes(table) else heads(table)
    )  # nothing else stands above the rows
    lines = [
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", latex_row(head), r"\midrule",
        *map(latex_row, cells(table)), r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    under = " ".join([f"{table.title}.", f"{_facts(table)}.", _about(table), *_remarks(table)])
    return "\n".join([*lines, "", rf"\par\smallskip{{\footnotesize {latex(under)}}}", ""])


def latex_row(row: list[str]) -> str:
    """Cells as a row of a tabular."""
    cells = [latex(cell) for cell in row]
    if cells[0][:1] in ("[", "*"):  # else the end of the row before would take it for its option
        cells[0] = "{}" + cells[0]
    return " & ".join(cells) + r" \\"


def latex(text: str) -> str:
    """Text with the special characters of LaTeX escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def records(table: Summary) -> list[dict[str, Any]]:
    """One mapping of names to values for each line, numbers in full; with the range and the declared bounds, if any."""
    names = [name for name in type(table.lines[0]).__slots__ if name != "label" or _classes(table)]
    rows = [{name: getattr(line, name) for name in names} for line in table.lines]
    if not table.clipped:
        return rows
    ends = {"clipped_low": "low", "clipped_high": "high", "declared_lower": "lower", "declared_upper": "upper"}
    return [
        record | {name: getattr(table.clipped.get(record["name"]), end, math.nan) for name, end in ends.items()}
        for record in rows
    ]


def as_csv(table: Summary) -> str:
    """Numbers in full: a row for each coefficient, then for each statistic of the fit, then for each test."""
    text, lines = io.StringIO(), [record | {"part": "coefficient"} for record in records(table)]
    writer = csv.DictWriter(text, [*lines[0], "statistic", "dof"], lineterminator="\n", extrasaction="ignore")
    below = (("fit statistic", table.fit_statistics), ("test", table.tests))
    lines += [{**entry.record, "part": part} for part, entries in below for entry in entries]
    writer.writeheader()
    for line in lines:
        writer.writerow({name: full(value) for name, value in line.items()})
    return text.getvalue()


def full(value: str | float) -> str:
    """A number in full; text that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        return f"'{printable(value)}" if value[:1] in ("=", "+", "-", "@") else printable(value)
    return repr(value) if math.isfinite(value) else ""
