"""Rows, answers and declarations that must not move a release, or a reading of it, by more than was promised."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.rows.streams.engines.lazy import LazyPart
from dplr.rows.streams.parts import LocalParts

ROWS = 300
APART, TOGETHER = np.arange(ROWS), np.zeros(ROWS, int)  # an id for each row; and all rows of one person


def stream(first, then):
    """A query that gives other rows when it is read for the second time."""
    tables = [pd.DataFrame({"who": ids, "x": 0.5, "y": np.arange(len(ids)) % 2}) for ids in (first, then)]
    readings = iter(tables)

    def read(columns):
        table = next(readings)
        yield table if columns is None else table[list(columns)]

    return dplr.Stream(LocalParts([LazyPart(read, "a query")], tables[0][:0]))


def score(rows):
    return np.asarray(rows)[:, 0]


def test_streamed_rows_that_change_after_they_were_counted_are_refused_before_noise_is_drawn(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=5.0, unit="who")
    options = {"eps": 1.0, "ledger": ledger, "person": "who"}
    with pytest.raises(RuntimeError, match="a person has more than were counted"):
        dplr.evaluate(score, stream(APART, TOGETHER), "y", **options)
    with pytest.raises(ValueError, match="600 rows instead of 300"):
        dplr.evaluate(score, stream(APART, np.repeat(APART, 2)), "y", **options)
    assert [entry.state for entry in ledger.entries()] == ["refunded"] * 2


def test_a_stream_of_rows_that_grows_is_refused():
    rows = stream(APART, np.repeat(APART, 2))
    with pytest.raises(ValueError, match="600 rows instead of 300"):
        dplr.evaluate(lambda rows: np.asarray(rows)[:, 1], rows, "y", eps=1.0)
