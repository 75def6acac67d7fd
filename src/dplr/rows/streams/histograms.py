"""Histograms of columns, in one pass: rows in the cells of a public grid, and rows with each text, in whole numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import FRACTION_BITS, POWERS, count_cells
from dplr.rows import threads
from dplr.rows.ids import read_ids
from dplr.rows.streams.answers import load
from dplr.rows.streams.parts import RemotePass
from dplr.rows.streams.recipe import Weighing
from dplr.rows.tables.encoder import native_column
from dplr.rows.tables.table import Table, as_table
from dplr.rows.tables.values import days, is_time, numbers
from dplr.rows.weights import BITS

CELLS = 2 * ((POWERS[1] - POWERS[0]) << FRACTION_BITS) + 1
# A row counts for its text in whole units of 2^-10, rounded down: a person counts for at most 2^10 texts.
TEXT_BITS = 10
_CHUNK = 1 << 12
_RECORD = 1 << BITS
_WORTH_A_CORE = 1 << 22  # rows of all columns

Counts = NDArray[np.int64]


@dataclass(eq=False, slots=True)
class Histograms:
    """The state of a pass.

    Attributes
    ----------
    cells : (numbers, CELLS) what rows weigh in each cell, in units of 2^-30.
    texts : of each column of text, what the rows of each text weigh, in units of 2^-10.
    """

    cells: Counts
    texts: list[Counter[str]]


@dataclass(frozen=True, eq=False)
class HistogramPass(RemotePass[Histograms]):
    """Histograms of the columns with these names; every row weighs 1 without facts that weigh rows."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    weighing: Weighing | None = None

    def zero(self) -> Histograms:
        return Histograms(np.zeros((len(self.numbers), CELLS), np.int64), [Counter() for _ in self.texts])

    def partial(self, batch: Any) -> Histograms:
        return self.added(None, batch)

    def added(self, state: Histograms | None, batch: Any) -> Histograms:
        # The histograms with one more batch, in the arrays of the state: they are large.
        table = as_table(batch)
        assert table is not None
        weights = None if self.weighing is None else self.weighing.of(table, None).of_rows
        places = [[table.columns.index(name) for name in names] for names in (self.numbers, self.texts)]
        return added(state or self.zero(), table, places[0], places[1], weights)

    def merge(self, first: Histograms, second: Histograms) -> Histograms:
        """The first is used up."""
        first.cells += second.cells
        for sums, further in zip(first.texts, second.texts, strict=True):
            sums.update(further)
        return first

    def dump(self, state: Histograms) -> bytes:
        """A line of JSON, then the cells that hold rows."""
        places = np.flatnonzero(state.cells)
        header = json.dumps({"cells": len(places), "texts": state.texts}).encode()
        pairs = np.stack([places.astype(np.int64), state.cells.ravel()[places]])
        return header + b"\n" + pairs.astype("<i8").tobytes()

    def load(self, data: bytes) -> Histograms:
        line, _, body = data.partition(b"\n")
        header = _header(line)
        if "fault" in header:
            load(data)  # raises what the worker says
        state, texts = self.zero(), header.get("texts")
        if not isinstance(texts, list) or not _is_texts(texts, len(self.texts)) or len(body) != 16 * header["cells"]:
            raise ValueError("a worker's answer must be histograms of the columns that were asked for.")
        pairs = np.frombuffer(body, "<i8").reshape(2, -1).astype(np.int64)
        if pairs.size and (pairs.min() < 0 or pairs[0].max() >= state.cells.size):
            raise ValueError("a worker's answer must count rows in cells of the grid.")
        state.cells.ravel()[pairs[0]] = pairs[1]
        state.texts = list(map(Counter, texts))
        return state


def added(
    state: Histograms, table: Table | NDArray[Any], numeric: Sequence[int], texts: Sequence[int],
    weights: NDArray[np.float64] | None,
) -> Histograms:  # fmt: skip
    """The histograms with the rows of a table, whose columns lie at these places."""
    shares = None if weights is None else (weights * 2.0**BITS).astype(np.int64)

    def work(pair: tuple[int, int]) -> None:
        _add_numbers(table, pair[1], shares, state.cells[pair[0]])

    jobs = list(enumerate(numeric))
    if jobs and len(table) * len(jobs) > _WORTH_A_CORE and threads.available_threads() > 1:
        threads.run(work, jobs)
    else:
        for job in jobs:
            work(job)
    for sums, place in zip(state.texts, texts, strict=True):
        _add_texts(table, place, shares, sums)
    return state


def _add_numbers(table: Table | NDArray[Any], place: int, shares: Counts | None, counts: Counts) -> None:
    """Count one column, in pieces that stay in the cache."""
    native = native_column(table, place)
    values = None if native is None else native.numbers
    if values is None:
        column = table.column(place) if isinstance(table, Table) else table[:, place]
        count_cells(days(column) if is_time(column) else numbers(column), shares, counts, _RECORD)
        return
    room = np.empty(min(_CHUNK, len(values)))
    for start in range(0, len(values), _CHUNK):
        piece = room[: min(_CHUNK, len(values) - start)]
        values.write_numbers(start, None, piece)
        count_cells(piece, None if shares is None else shares[start : start + len(piece)], counts, _RECORD)


def _add_texts(table: Table | NDArray[Any], place: int, shares: Counts | None, sums: Counter[str]) -> None:
    """Add what the rows of each text weigh; missing values are no text, nor is what UTF-8 cannot write."""
    values = table.column(place).to_native() if isinstance(table, Table) else table[:, place]
    ids = read_ids(values)
    there = ids.codes >= 0
    texts = ids.texts()
    units = np.zeros(len(texts), np.int64)
    weights = 1 << TEXT_BITS if shares is None else shares[there] >> (BITS - TEXT_BITS)
    np.add.at(units, ids.codes[there], weights)
    pairs = zip(texts, units.tolist(), strict=True)
    sums.update({text: weight for text, weight in pairs if weight and text.encode(errors="ignore").decode() == text})


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or not ("fault" in header or isinstance(header.get("cells"), int)):
        raise ValueError("a worker's answer was not written by this version of dplr.")
    return header


def _is_texts(texts: list[Any], count: int) -> bool:
    """Whether it is a weight for each text, of each column."""
    return len(texts) == count and all(
        isinstance(sums, dict) and all(isinstance(weight, int) and weight > 0 for weight in sums.values())
        for sums in texts
    )
