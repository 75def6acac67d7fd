"""Parts: however many there are, however long their batches are, a fit is that of all rows in one table."""

import functools
import importlib
import time
import warnings
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import dplr
from declared_units import declared
from dplr.bounds.scaling import ball_prep
from dplr.rows import chosen
from dplr.rows.exact import Moments
from dplr.rows.streams import LocalParts, Recipe, StreamedRows, StreamSource, one_pass
from dplr.rows.streams.far import grouped
from dplr.rows.streams.parts import merged
from dplr.rows.streams.passes import CountPass
from loops import loop
from streamed_rows import FITS, OF_PERSONS, MemoryPart, assert_same, fitted, parts_of, people

ALL_FITS = {**FITS, **OF_PERSONS}


@pytest.fixture(scope="module")
def table():
    return people(20_000)


@pytest.fixture(scope="module")
def whole(table):
    """The fit of all rows in one table, by name."""
    return functools.cache(lambda name: fitted(table, **ALL_FITS[name]))


@pytest.mark.parametrize("name", ALL_FITS)
@pytest.mark.parametrize(("count", "size", "threads"), [(1, 70_000, 1), (7, 1000, 3), (100, 4096, 2)])
def test_a_fit_of_parts_is_that_of_their_rows(table, whole, name, count, size, threads):
    assert_same(fitted(parts_of(table, count, size, threads), **ALL_FITS[name]), whole(name), name)


@pytest.mark.parametrize("size", [1, 2, 7, 8191, 8192, 8193, 70_000])
def test_batches_of_any_size_give_the_bits_of_exact_sums(table, size):
    table = table.slice(0, 600 if size < 10 else None)  # so that parts are longer than most of the long batches
    assert_same(fitted(parts_of(table, 2, size, 1), **FITS["fm"]), fitted(table, **FITS["fm"]))


class Watched(MemoryPart):
    """A part that says how many are open."""

    passes: ClassVar[list[int]] = []

    def chosen(self, columns):
        return self

    def batches(self):
        self.passes.append(1)
        time.sleep(0.02)
        yield self.table
        self.passes.pop()


@pytest.mark.parametrize(("columns", "threads", "most"), [(7, None, 2), (40, None, 1), (40, 3, 3)])
def test_parts_of_many_columns_are_read_one_by_one_unless_threads_are_named(table, columns, threads, most, monkeypatch):
    monkeypatch.setattr("dplr.rows.threads.available_threads", lambda: 2)
    part = Watched(table.slice(0, 10))
    parts = LocalParts([part] * 8, table.slice(0, 0), threads).chosen([f"x{place}" for place in range(columns)])
    seen = []
    one_pass(parts, CountPass(), lambda rows: seen.append(len(part.passes)))
    assert max(seen) == most


FAR = dplr.Bounds({"age": (60, 61)})


@pytest.mark.parametrize(("name", "inside"), [("output", "rows.one_pass"), ("weights", "recipe.row_weights")])
def test_a_stream_leaves_the_filters_of_warnings_to_the_process(table, name, inside, monkeypatch):
    """They belong to all threads: whoever puts them back as they were may undo what another thread set."""
    module, _, function = inside.partition(".")
    noted = Noted(getattr(importlib.import_module(f"dplr.rows.streams.{module}"), function))
    monkeypatch.setattr(f"dplr.rows.streams.{inside}", noted)
    with warnings.catch_warnings(record=True):
        filters = tuple(warnings.filters)
        dplr.fit(parts_of(table, 7), "old", **declared({"bounds": FAR, "eps": 1.0} | FITS[name]))
    assert set(noted.filters) == {filters}


class Noted:
    """A function, and the filters of warnings whenever it runs."""

    def __init__(self, function):
        self.function, self.filters = function, []

    def __call__(self, *given):
        self.filters.append(tuple(warnings.filters))
        return self.function(*given)


def test_parts_and_batches_without_rows_count_nothing(table):
    nothing = MemoryPart(table.slice(0, 0))
    parts = [nothing, MemoryPart(table.slice(0, 9000)), nothing, MemoryPart(table.slice(9000)), nothing]
    assert_same(fitted(LocalParts(parts, table.slice(0, 0)), **FITS["fm"]), fitted(table, **FITS["fm"]))


@pytest.mark.parametrize("name", ALL_FITS)
def test_no_rows_at_all_are_refused_before_anything_is_spent(table, name, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1e6, delta=0.5)
    with pytest.raises(ValueError, match="`X` must have at least one row; got 0"):
        fitted(parts_of(table.slice(0, 0), 3), ledger=ledger, rng=None, **ALL_FITS[name])
    assert ledger.entries() == []


class Growing(MemoryPart):
    """A part that holds a row twice from some pass on, and does not know how many rows there are."""

    rows = None

    def chosen(self, columns):
        return self

    def batches(self):
        self.passes.append(1)
        yield self.table
        if len(self.passes) >= self.grows_at:
            yield self.table.slice(0, 1)


@pytest.mark.parametrize(("name", "grows_at", "spent"), [
    ("fm", 2, 0.0), ("objective", 2, 0.0), ("objective", 3, 1.0), ("ngd", 2, 0.0), ("ngd", 4, 1.0),
])  # fmt: skip
def test_a_row_that_is_read_twice_is_refused_and_paid_for_once_noise_was_drawn(tmp_path, name, grows_at, spent, table):
    part = Growing(table)
    object.__setattr__(part, "passes", [])
    object.__setattr__(part, "grows_at", grows_at)
    ledger = dplr.Ledger(tmp_path / "l.ledger", eps=9, delta=1e-3)
    given = {**FITS[name], "ledger": ledger, "rng": None}
    with pytest.raises(ValueError, match="must stay as it is while a fit reads it; got '20001 rows instead of 20000"):
        fitted(LocalParts([part], table.slice(0, 0), 1), **given)
    assert len(part.passes) == grows_at
    assert ledger.spent()[0] == spent


class Emptied(MemoryPart):
    """A part that holds no row from its third pass on, and does not know how many rows there are."""

    rows = None

    def chosen(self, columns):
        return self

    def batches(self):
        self.passes.append(1)
        yield self.table if len(self.passes) < 3 else self.table.slice(0, 0)


@pytest.mark.parametrize("name", ["fm", "objective", "ngd"])
def test_rows_that_are_gone_are_told_as_other_changes_are(name, table):
    part = Emptied(table)
    object.__setattr__(part, "passes", [1])
    with pytest.raises(ValueError, match="must stay as it is while a fit reads it; got '0 rows instead of 20000"):
        fitted(LocalParts([part], table.slice(0, 0), 1), **{**FITS[name], "rng": None})


class Concatenation:
    """A pass whose state says in which order and grouping states were merged."""

    def merge(self, first, second):
        return f"({first}{second})"


@loop("count", range(1, 40))
@loop("k", range(6))
def test_tasks_of_any_size_merge_states_as_one_pass_does(count, k):
    job, size = Concatenation(), 2**k
    states = [chr(ord("a") + number) for number in range(count)]
    of_tasks = [merged(job, states[start : start + size]) for start in range(0, count, size)]
    assert merged(job, of_tasks) == merged(job, states)
    assert merged(job, states).replace("(", "").replace(")", "") == "".join(states)


def test_a_pass_holds_few_states():
    alive, most = 0, 0

    class State:
        def __init__(self):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    class Parts:
        def sums(self, job, seen):
            return (State() for _ in range(1000))

    class Job:
        def merge(self, first, second):
            return State()

    one_pass(Parts(), Job())
    assert most <= 16


@loop("cores", [1, 2, 64])
@loop("rows", [None, 1, 1000, 2**20, 2**30])
@loop("count", [0, 1, 7, 8, 1000])
def test_groups_are_runs_of_powers_of_two(cores, rows, count):
    class Part:
        def __init__(self, number):
            self.number, self.rows = number, rows

    groups = grouped([Part(number) for number in range(count)], cores)
    assert [part.number for group in groups for part in group] == list(range(count))
    sizes = {len(group) for group in groups[:-1]}
    assert len(sizes) <= 1
    assert all(size & (size - 1) == 0 for size in sizes)
    assert all(len(group) * (rows or 2**22) <= 2**22 for group in groups if len(group) > 1)
    assert len(groups) >= min(count, 4 * cores) / 2


def test_counts_of_parts_are_merged(table):
    assert one_pass(parts_of(table, 7), CountPass()) == len(table)
    assert pa.concat_tables([part.table for part in parts_of(table, 7).parts]).equals(table)


def test_a_selection_of_streamed_rows_is_never_summed_as_all_of_them():
    parts = parts_of(people(50), 2)
    recipe = Recipe(("age",), None, None, None, False, ball_prep(1, True, None))
    rows = StreamedRows(StreamSource(parts, 50, 50), recipe)
    with pytest.raises(ValueError, match="`rows` must be all rows where they are streamed"):
        rows.sum(Moments(1, intercept=True), None, chosen(np.arange(3)))
