"""Ids that change while a stream is read, or between two fits: no person weighs more than 1 in any sum."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.rows.files.part import Part
from dplr.rows.streams.parts import LocalParts

ROWS = 300
APART, TOGETHER = np.arange(ROWS), np.zeros(ROWS, int)  # ids of a person for each row; and all rows of one person


def table(ids):
    x = np.linspace(0, 1, ROWS)
    return pd.DataFrame({"who": ids, "x": x, "y": np.arange(ROWS) % 3 == 0})


class Source:
    """A query that gives other ids from its `after`-th reading on; of ids alone, or of all rows."""

    def __init__(self, first, then, after, size=100):
        self.first, self.then, self.after, self.size, self.readings = first, then, after, size, 0
        self.parts = LocalParts([Part(self.read, "a query")], table(APART)[:0])

    def read(self, columns):
        ids = self.first if self.readings < self.after else self.then
        self.readings += 1
        whole = table(ids)
        yield from (whole[start : start + self.size][list(columns)] for start in range(0, ROWS, self.size))


def fit(stream, mechanism="fm", **options):
    bounds = dplr.Bounds({"x": (0, 1)})
    return dplr.fit(stream, "y", bounds=bounds, eps=float("inf"), mechanism=mechanism, person="who", **options)


@pytest.mark.parametrize(("mechanism", "after"), [("fm", 1), ("output", 1), ("ngd", 1), ("ngd", 2)])
def test_a_person_who_has_more_rows_than_were_counted_is_refused(mechanism, after):
    """In the pass that first reads other ids: right after the count, and after another pass."""
    with pytest.raises(RuntimeError, match="a person has more than were counted"):
        fit(dplr.Stream(Source(APART, TOGETHER, after).parts), mechanism)


@pytest.mark.parametrize("mechanism", ["fm", "ngd"])
def test_every_row_of_a_person_in_one_batch_is_added_up(mechanism):
    with pytest.raises(RuntimeError, match="a person has more than were counted"):
        fit(dplr.Stream(Source(APART, TOGETHER, 1, size=ROWS).parts), mechanism)


def test_persons_with_fewer_rows_or_none_weigh_less_and_are_no_reason_to_refuse():
    est = fit(dplr.Stream(Source(TOGETHER, APART, 1).parts))  # one id of 300 was counted, with 300 rows
    assert est.released_["linear"].shape == (2,)


def test_persons_are_counted_anew_for_every_fit_of_a_query():
    source = Source(APART, TOGETHER, 2)
    stream = dplr.Stream(source.parts)
    first, second = fit(stream), fit(stream)
    assert source.readings == 4
    assert first.privacy_.assumptions != second.privacy_.assumptions  # 300 persons, then one


def test_persons_of_files_are_counted_once(tmp_path, monkeypatch):
    table(APART).to_parquet(tmp_path / "rows.parquet")
    stream, passes = dplr.Stream(tmp_path / "rows.parquet"), []
    from dplr.fitting import data

    counted = data.one_pass
    monkeypatch.setattr(data, "one_pass", lambda parts, job: passes.append(job) or counted(parts, job))
    fit(stream)
    fit(stream)
    assert len(passes) == 1
