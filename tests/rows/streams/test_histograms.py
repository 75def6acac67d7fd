"""Histograms of columns: one answer for every library, part, thread and worker, and nothing else accepted as one."""

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet

from dplr.privacy.unit import Unit
from dplr.rows import as_table, row_weights, threads
from dplr.rows.ids import PersonCounts, read_ids
from dplr.rows.streams import LocalParts, Weighing, histograms, one_pass
from dplr.rows.streams.histograms import HistogramPass, added
from dplr.rows.tables.values import days, numbers
from reference import cell_counts
from streamed_rows import MemoryPart, people

NUMBERS, TEXTS = ("age", "income", "weight"), ("job", "said")
TABLE = people(3_000)


def in_memory(frame, weights=None, numeric=NUMBERS, texts=TEXTS):
    table = as_table(frame)
    job = HistogramPass(numeric, texts)
    places = [[table.columns.index(name) for name in names] for names in (numeric, texts)]
    return added(job.zero(), table, *places, weights)


def in_parts(table, weighing=None, size=400, reads=2, edges=(0, 1100, 1100, 2900, 3000)):
    parts = [MemoryPart(table.slice(a, b - a), size) for a, b in itertools.pairwise(edges)]
    return one_pass(LocalParts(parts, table[:0], reads), HistogramPass(NUMBERS, TEXTS, weighing))


def assert_same(found, wanted):
    assert_array_equal(found.cells, wanted.cells)
    assert found.texts == wanted.texts


LIBRARIES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas' own nulls": lambda table: table.to_pandas().convert_dtypes(),
    "pandas with Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "categories": lambda table: table.to_pandas().assign(
        job=lambda X: pd.Categorical(X.job, categories=["z", "c", "b", "a"]), said=lambda X: X.said.astype("category")
    ),
    "polars": lambda table: pl.from_arrow(table),
    "polars' categories": lambda table: pl.from_arrow(table).with_columns(pl.col("job", "said").cast(pl.Categorical)),
    "dictionaries": lambda table: table.set_column(1, "job", table["job"].dictionary_encode()),
    "chunks": lambda table: pa.concat_tables([table[:7], table[7:7], table[7:]]),
}


def test_the_histogram_of_a_table_is_that_of_its_values():
    found = in_memory(TABLE)
    for k, name in enumerate(NUMBERS):
        values = [np.nan if value is None else float(value) for value in TABLE[name].to_pylist()]
        assert_array_equal(found.cells[k], cell_counts(values) * 2**30)
    for k, name in enumerate(TEXTS):
        texts = TABLE[name].to_pylist()
        assert found.texts[k] == {text: texts.count(text) * 1024 for text in set(texts)}


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_give_one_histogram(library):
    assert_same(in_memory(LIBRARIES[library](TABLE)), in_memory(TABLE))


def test_an_array_gives_that_of_a_table():
    values = TABLE.select(["age", "weight"]).to_pandas().to_numpy(float)
    job = HistogramPass(("age", "weight"), ())
    for array in (values, np.asfortranarray(values), values[:, ::-1][:, ::-1]):
        found = added(job.zero(), array, [0, 1], [], None)
        assert_same(found, in_memory(TABLE, None, ("age", "weight"), ()))


@pytest.mark.parametrize(("size", "reads"), [(1, 1), (400, 1), (400, 3), (5000, 2)])
def test_parts_give_that_of_the_whole(size, reads):
    assert_same(in_parts(TABLE, None, size, reads), in_memory(TABLE))


def test_files_give_that_of_the_whole(tmp_path):
    from dplr.rows.streams.source import as_stream

    for k in range(3):
        parquet.write_table(TABLE[1000 * k : 1000 * k + 1000], tmp_path / f"{k}.parquet", row_group_size=300)
    parts = as_stream(str(tmp_path / "*.parquet")).parts
    assert_same(one_pass(parts.chosen((*NUMBERS, *TEXTS)), HistogramPass(NUMBERS, TEXTS)), in_memory(TABLE))


def test_threads_change_nothing(monkeypatch):
    alone = in_memory(TABLE)
    monkeypatch.setattr(histograms, "_WORTH_A_CORE", 0)
    monkeypatch.setattr(threads, "available_threads", lambda: 3)
    used = []
    run = threads.run
    monkeypatch.setattr(threads, "run", lambda *args: used.append(1) or run(*args))
    assert_same(in_memory(TABLE), alone)
    assert used


def test_weights_of_rows_are_summed_in_whole_units_and_those_of_texts_are_rounded_down():
    weights = np.random.default_rng(0).integers(0, 2**30 + 1, len(TABLE)) / 2**30
    found = in_memory(TABLE, weights)
    shares = (weights * 2**30).astype(int)
    values = [np.nan if value is None else float(value) for value in TABLE["income"].to_pylist()]
    assert_array_equal(found.cells[1], cell_counts(values, shares))
    jobs = np.array(TABLE["job"].to_pylist())
    assert found.texts[0] == {job: int((shares[jobs == job] >> 20).sum()) for job in "abc"}


def test_persons_weigh_the_same_in_memory_and_in_parts():
    ids = TABLE["id"].to_numpy()
    rows = row_weights(len(ids), Unit("id", 2), ids)
    weighing = Weighing(Unit("id", 2), None, PersonCounts(read_ids(ids)))
    found = in_parts(TABLE, weighing)
    assert_same(found, in_memory(TABLE, rows.of_rows))
    assert found.cells.sum(axis=1)[0] < len(TABLE) * 2**30


def test_a_text_of_little_weight_is_not_there():
    table = pa.table({"t": ["x", "y"]})
    found = in_memory(table, np.array([2.0**-10, 2.0**-10 - 2.0**-30]), (), ("t",))
    assert found.texts == [{"x": 1}]


def test_what_is_missing_or_no_text_counts_nowhere():
    letters = ["\u00e9", "e\u0301"]  # look alike, and are two texts
    values = np.array(["a", None, np.nan, "", 3.5, "\ud800", *letters, ("x",), True], dtype=object)
    found = in_memory(pd.DataFrame({"t": pd.Series(values, dtype=object)}), None, (), ("t",))
    assert found.texts == [dict.fromkeys(["a", *letters], 1024)]


# ---- times ----

DAYS = [0, 18262, -1, None, 2_932_896]


def of_times(values):
    return days(as_table(values)._frame.get_column("d"))


TIMES = {
    "Arrow date": lambda: pa.table({"d": pa.array(DAYS, pa.int32()).cast(pa.date32())}),
    "Arrow s": lambda: pa.table(
        {"d": pa.array([None if d is None else d * 86_400 for d in DAYS]).cast(pa.timestamp("s"))}
    ),
    "Arrow zone": lambda: pa.table(
        {"d": pa.array([None if d is None else d * 86_400 for d in DAYS]).cast(pa.timestamp("s", "Asia/Tokyo"))}
    ),
    "polars date": lambda: pl.DataFrame({"d": pl.Series(DAYS, dtype=pl.Int32).cast(pl.Date)}),
    "polars ms": lambda: pl.DataFrame({"d": pl.Series(DAYS, dtype=pl.Int32).cast(pl.Date).cast(pl.Datetime("ms"))}),
    "pandas s": lambda: pd.DataFrame({"d": np.array(DAYS, "datetime64[D]").astype("datetime64[s]")}),
    "pandas zone": lambda: pd.DataFrame(
        {"d": pd.Series(np.array(DAYS, "datetime64[D]").astype("datetime64[s]")).dt.tz_localize("UTC")}
    ),
    "pandas with Arrow": lambda: pd.DataFrame(
        {"d": pd.Series(pa.array(DAYS, pa.int32()).cast(pa.date32()), dtype=pd.ArrowDtype(pa.date32()))}
    ),
    "pandas durations": lambda: pd.DataFrame({"d": np.array(DAYS, "timedelta64[D]").astype("timedelta64[s]")}),
    "polars durations": lambda: pl.DataFrame(
        {"d": pl.Series([None if d is None else d * 86_400_000 for d in DAYS]).cast(pl.Duration("ms"))}
    ),
}


@pytest.mark.parametrize("name", TIMES)
def test_dates_and_durations_are_days(name):
    found = of_times(TIMES[name]())
    assert_array_equal(found, [np.nan if day is None else float(day) for day in DAYS])


FAR = {
    "pandas": lambda: pd.DataFrame({"d": np.array([2**60, 86_400], "datetime64[s]")}),
    "pandas durations": lambda: pd.DataFrame({"d": np.array([2**60, 86_400], "timedelta64[s]")}),
    "Arrow": lambda: pa.table({"d": pa.array([2**60, 86_400]).cast(pa.timestamp("s"))}),
    "Arrow dates": lambda: pa.table({"d": pa.array([2**31 - 1, 1], pa.int32()).cast(pa.date32())}),
    "polars dates": lambda: pl.DataFrame({"d": pl.Series([2**31 - 1, 1], dtype=pl.Int32).cast(pl.Date)}),
    "polars": lambda: pl.DataFrame({"d": pl.Series([2**60, 86_400_000]).cast(pl.Datetime("ms"))}),
}


@pytest.mark.parametrize("name", FAR)
def test_no_time_is_so_far_that_it_cannot_be_read(name):
    """An error would tell of one record where nothing may be told."""
    found = of_times(FAR[name]())
    assert found[0] > 1e9
    assert found[1] == 1


def test_numbers_of_times_are_those_of_their_days():
    frame = pd.DataFrame({"d": [datetime.date(2020, 1, 1)] * 2}).astype("datetime64[ns]")
    assert in_memory(frame, None, ("d",), ()).cells.argmax() == cell_counts([18262.0]).argmax()
    assert numbers(np.array([3])).tolist() == [3.0]


# ---- answers of workers ----

JOB = HistogramPass(("age", "income"), ("job",))


def test_an_answer_comes_back_as_it_was():
    state = in_memory(TABLE, None, JOB.numbers, JOB.texts)
    state.texts[0]['"\n\U0001f600'] = 5
    again = JOB.load(JOB.dump(state))
    assert_same(again, state)
    assert_same(JOB.load(JOB.dump(JOB.zero())), JOB.zero())


def test_merging_adds():
    first, second = (in_memory(table, None, JOB.numbers, JOB.texts) for table in (TABLE[:1000], TABLE[1000:]))
    assert_same(JOB.merge(first, second), in_memory(TABLE, None, JOB.numbers, JOB.texts))


def answer(cells, texts, body):
    return json.dumps({"cells": cells, "texts": texts}).encode() + b"\n" + np.array(body, "<i8").tobytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not written by this version"),
        (b"[]\n", "not written by this version"),
        (b'{"cells": "1"}\n', "not written by this version"),
        (answer(0, [], []), "histograms of the columns"),
        (answer(0, [{}, {}], []), "histograms of the columns"),
        (answer(0, [{"a": -1}], []), "histograms of the columns"),
        (answer(0, [{"a": 1.5}], []), "histograms of the columns"),
        (answer(0, None, []), "histograms of the columns"),
        (answer(1, [{}], []), "histograms of the columns"),
        (answer(0, [{}], [1, 1]), "histograms of the columns"),
        (answer(1, [{}], [-1, 1]), "cells of the grid"),
        (answer(1, [{}], [5, -1]), "cells of the grid"),
        (answer(1, [{}], [2 * histograms.CELLS, 1]), "cells of the grid"),
    ],
)
def test_what_is_no_answer_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        JOB.load(data)
