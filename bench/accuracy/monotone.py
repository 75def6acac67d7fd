"""Is an answer ever worse under a weaker promise? Mean scores of auto, fm and objective, and the pairs where they are.

A promise is an eps, a delta and a relation. It is weaker with a larger eps, with a delta, or where records are added
and removed instead of replaced (the number of rows being declared). Each pair of neighbouring promises is compared: the
larger eps with the next smaller, the delta with none, add_remove with replace_one, all else equal. `loss` is the error,
or 1 - R^2 of a number, on rows that no fit has. A pair is listed where the weaker promise is worse by more than two
standard errors, and is fitted anew with `AGAIN` fits, as one pair in fifty is beyond two by chance; it is kept where
those are beyond two as well.

    DPLR_DATA=<folder> [DPLR_TABLES=<folder>] python -m bench.accuracy.monotone bench/results/monotone.csv [TABLE ...]
    python -m bench.accuracy.monotone bench/results/monotone.csv --list

With names of tables their lines replace those in the file. Pairs that are kept are printed, as rows in Markdown.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import pathlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import dplr
from bench.data import aside, tables
from bench.data.tables import Table

MECHANISMS = ("auto", "fm", "objective")
LEVELS, DELTAS, RELATIONS = (0.1, 0.5, 1.0, 3.0), (0.0, 1e-6), ("replace_one", "add_remove")
FITS, AGAIN, SCORED = 10, 60, 20_000
ERRORS = 2.0
COLUMNS = ("table", "rows", "mechanism", "relation", "delta", "eps", "taken", "fits", "loss", "standard_error")
Line = dict[str, Any]


class Pair(NamedTuple):
    """Two lines of one table and mechanism, the weaker promise last."""

    stronger: Line
    weaker: Line

    @property
    def worse(self) -> float:
        """By how much the weaker promise is worse."""
        return self.weaker["loss"] - self.stronger["loss"]

    @property
    def errors(self) -> float:
        """The same in standard errors of the difference."""
        error = math.hypot(self.weaker["standard_error"], self.stronger["standard_error"])
        return self.worse / error if error else math.copysign(math.inf, self.worse) if self.worse else 0.0


def every(folder: str) -> Iterator[Table]:
    """All tables, split within their training parts."""
    return itertools.chain(tables.tables(folder, official=False), aside.tables(folder))


def line_of(table: Table, mechanism: str, relation: str, delta: float, eps: float, fits: int) -> Line:
    """The loss of that many fits under one promise, and which mechanism was taken."""
    declared = {} if relation == "replace_one" else {"neighbouring": relation, "n_rows": len(table.X)}
    done = dplr.fit_many(
        table.X, table.y, model=table.model, mechanism=mechanism, bounds=table.bounds, eps=[eps], delta=delta,
        repeats=fits, **declared,
    )  # fmt: skip
    losses = np.array([1 - est.score(table.held_X[:SCORED], table.held_y[:SCORED]) for est in done])
    statement = done[0].privacy_
    with_ranges = " in ranges" if "range_sums" in statement.released else ""
    taken = f"{statement.mechanism}{' pure' if statement.delta < 1e-18 else ''}{with_ranges}"
    found = round(float(losses.mean()), 6), round(float(losses.std(ddof=1) / fits**0.5), 6)
    cells = (table.name, len(table.X), mechanism, relation, delta, eps, taken, fits, *found)
    return dict(zip(COLUMNS, cells, strict=True))


def lines_of(table: Table, fits: int = FITS, levels: Iterable[float] = LEVELS) -> Iterator[Line]:
    """A line for each mechanism and promise."""
    for mechanism, relation, delta, eps in itertools.product(MECHANISMS, RELATIONS, DELTAS, levels):
        yield line_of(table, mechanism, relation, delta, eps, fits)


def pairs_of(lines: Iterable[Line]) -> Iterator[Pair]:
    """Each line beside those of the next stronger promises."""
    found = {_key(line): line for line in lines}
    levels = sorted({line["eps"] for line in found.values()})
    for (table, mechanism, relation, delta, eps), line in found.items():
        place = levels.index(eps)
        stronger = [(relation, delta, levels[place - 1])] if place else []
        stronger += [(relation, 0.0, eps)] if delta else []
        stronger += [("replace_one", delta, eps)] if relation == "add_remove" else []
        for promise in stronger:
            if other := found.get((table, mechanism, *promise)):
                yield Pair(other, line)


def violations(lines: Iterable[Line]) -> list[Pair]:
    """The pairs whose weaker promise is worse by more than `ERRORS` standard errors."""
    return [pair for pair in pairs_of(lines) if pair.errors > ERRORS]


def again(table: Table, lines: list[Line]) -> list[Line]:
    """The lines, those of pairs that are beyond the errors fitted anew, more often, until no other pair is."""
    found = {_key(line): line for line in lines}
    while doubted := [line for pair in violations(found.values()) for line in pair if line["fits"] == FITS]:
        for key, line in {_key(line): line for line in doubted}.items():
            promise = (line["mechanism"], line["relation"], line["delta"], line["eps"])
            found[key] = line_of(table, *promise, AGAIN if line["rows"] < 100_000 else AGAIN // 3)
    return list(found.values())


def read(path: str | pathlib.Path) -> list[Line]:
    """The lines of a file."""
    with open(path, newline="") as file:
        lines: list[Line] = list(csv.DictReader(file))
    for line in lines:
        line |= {name: float(line[name]) for name in ("delta", "eps", "loss", "standard_error")}
        line |= {name: int(line[name]) for name in ("rows", "fits")}
    return lines


def described(pair: Pair) -> str:
    """One row of a table in Markdown."""
    sides = []
    for line in pair:
        promise = f"eps {line['eps']:g}, delta {line['delta']:g}, {line['relation']}"
        sides.append(f"{promise}: {line['loss']:.4f} ({line['taken']})")
    return f"| {pair.weaker['table']} | {pair.weaker['mechanism']} | {' | '.join(sides)} | {pair.errors:.1f} |"


def _key(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("table", "mechanism", "relation", "delta", "eps"))


def main(path: str, *names: str) -> None:
    warnings.simplefilter("ignore")  # clipped shares of public data
    lines = read(path) if pathlib.Path(path).exists() else []
    for table in every(os.environ["DPLR_DATA"]) if names != ("--list",) else ():
        if not names or table.name in names:
            kept = [line for line in lines if line["table"] != table.name]
            lines = [*kept, *again(table, list(lines_of(table)))]
            with open(path, "w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(lines)
            print(table.name, len([line for line in lines if line["fits"] != FITS]), flush=True)
    print("\n".join(described(pair) for pair in violations(lines)))
    print(len(list(pairs_of(lines))), "pairs")


if __name__ == "__main__":
    main(*sys.argv[1:])
