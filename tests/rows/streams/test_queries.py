"""Plans of lazy tables: every statement assumes what nobody sees of a query, and names what may mix rows."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import dplr
from dplr.rows.streams.engines import query_of
from dplr.rows.streams.engines.spark import mixing_in

N = 2000
RNG = np.random.default_rng(0)
ROWS = {"x": RNG.uniform(0, 1, N), "y": RNG.integers(0, 2, N), "s": RNG.choice(["a", "b"], N)}
BOUNDS, BOTH = dplr.Bounds({"x": (0, 1)}), dplr.Bounds({"x": (0, 1), "y": (0, 1)})
FROM_ONE = "each row of the query comes from one record alone, and no two from the same one"
polars = pytest.importorskip("polars", minversion="1.34")
x, y, s = polars.col("x"), polars.col("y"), polars.col("s")
LAZY = polars.DataFrame(ROWS).lazy()

POLARS = {
    "nothing": LAZY,
    "columns": LAZY.select("x", "y").rename({"x": "max(x)"}).cast({"y": polars.Float64}),
    "rows": LAZY.filter(x > 0.1, s.is_in(["a", "b"])).drop_nulls(),
    "numbers": LAZY.with_columns(
        (-x).log1p().clip(0, 1), y.fill_null(0).abs(), polars.max_horizontal("x", "y").alias("m")
    ),
    "texts": LAZY.with_columns(s.str.to_uppercase(), polars.when(x > 1).then(1).otherwise(y).alias("w")),
    "order": LAZY.sort("x"),
    "tables": polars.concat([LAZY, LAZY]),
}
MIXED_BY_POLARS = {
    "max": LAZY.with_columns(x / x.max()),
    "over": LAZY.with_columns(x.mean().over("y")),
    "fill_null_with_strategy": LAZY.with_columns(x.fill_null(strategy="mean")),
    "rank": LAZY.with_columns(x.rank()),
    "shift": LAZY.with_columns(x.shift(1)),
    "cum_sum": LAZY.with_columns(x.cum_sum()),
    "min": LAZY.filter(x == x.min()),
    "python_udf": LAZY.with_columns(x.map_batches(lambda values: values / values.max())),
    "OPAQUE_PYTHON": LAZY.map_batches(lambda frame: frame),
    "AGGREGATE": LAZY.group_by("s").agg(x.mean()),
    "INNER JOIN": LAZY.join(LAZY, on="s"),
    "SLICE": LAZY.sort("x").head(9),
    "UNIQUE": LAZY.unique(),
    "HCONCAT": polars.concat([LAZY, LAZY.select(z=x)], how="horizontal"),
    "EXPLODE": LAZY.with_columns(both=polars.concat_list("x", "x")).explode("both"),
    "ROW INDEX": LAZY.with_row_index(),
}


@pytest.mark.parametrize("kind", POLARS)
def test_a_query_of_polars_that_treats_each_row_by_itself_is_covered(kind):
    assert query_of(POLARS[kind]) == ("a query of polars", ())


@pytest.mark.parametrize("name", MIXED_BY_POLARS)
def test_a_query_of_polars_that_mixes_rows_is_seen(name):
    assert name in [word.replace("ROW_", "ROW ") for word in query_of(MIXED_BY_POLARS[name]).mixing]


BY_DUCKDB = {
    "nothing": "select * from t",
    "numbers": "select ln(x + 1) as x, y::double as y, coalesce(x, 0) as z from t where x > 0.1 and s in ('a', 'b')",
    "no rows": "select * from t where x > 9",
    "a view": "select * from v",
    "order": "select * from t order by x",
    "tables": "select * from t union all select * from t",
}
MIXED_BY_DUCKDB = {
    "WINDOW": "select x / max(x) over () as x, y from t",
    "AGGREGATE": "select x / (select max(x) from t) as x, y from t",
    "COMPARISON_JOIN": "select x, y from t semi join t b using (x)",
    "LIMIT": "select * from t order by x limit 9",
    "DISTINCT": "select distinct y from t",
    "SAMPLE": "select * from t using sample 9",
    "UNNEST": "select unnest([x, x]) as x from t",
    "mine": "select mine(x) as x from t",
    "mine ": "select MINE(x) as x from t",
    "twice": "select twice(x) as x from t",
    "hidden": "select * from hidden",
}


@pytest.fixture(scope="module")
def connection():
    found = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed").connect()
    found.register("rows", pa.table(ROWS))
    found.execute("create table t as select * from rows; create view v as select 2 * x as x, y from t")
    found.create_function("mine", lambda value: value, ["DOUBLE"], "DOUBLE")
    found.execute("create view dplr_plan as select 5 as five")
    found.execute("create macro twice(a) as 2 * a")
    return found


@pytest.mark.parametrize("kind", BY_DUCKDB)
def test_a_query_of_duckdb_that_treats_each_row_by_itself_is_covered(kind, connection):
    assert query_of(connection.sql(BY_DUCKDB[kind])) == ("a query of DuckDB", ())


@pytest.mark.parametrize("name", MIXED_BY_DUCKDB)
def test_a_query_of_duckdb_that_mixes_rows_is_seen(name, connection):
    if name == "hidden":
        connection.execute("create or replace view hidden as select mine(x) as x, row_number() over () as y from t")
    asked = "select current_setting('explain_output')"
    before = connection.sql(asked).fetchall()
    found = query_of(connection.sql(MIXED_BY_DUCKDB[name])).mixing
    assert set(found) >= ({"mine", "WINDOW"} if name == "hidden" else {name.strip()})
    assert [word.lower() for (word,) in connection.sql(asked).fetchall()] == [word.lower() for (word,) in before]
    connection.execute("drop view if exists hidden")


def test_queries_of_dask_are_seen():
    frame = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(ROWS), npartitions=2)
    for lazy in (
        frame,
        frame[frame.x > 0.1][["x", "y"]].fillna(0),
        frame.assign(x=np.log(frame.x), s=frame.s.str.upper()),
    ):
        assert query_of(lazy) == ("a query of Dask", ())
    mixed = {
        "Max": frame.assign(x=frame.x / frame.x.max()),
        "Mean": frame.fillna({"x": frame.x.mean()}),
        "Merge": frame.merge(frame, on="s"),
        "Shift": frame.assign(x=frame.x.shift(1)),
        "MapPartitions": frame.map_partitions(lambda part: part),
        "Apply": frame.assign(x=frame.x.apply(lambda value: value, meta=("x", float))),
    }
    assert [query_of(lazy).mixing for lazy in mixed.values()] == [(name,) for name in mixed]


def plan_of_spark(*classes):
    """A part of a plan as Spark writes it."""
    return "[" + ", ".join(f'{{"class":"org.apache.spark.sql.{name}","num-children":1}}' for name in classes) + "]"


LOGICAL, EXPRESSIONS = "catalyst.plans.logical.", "catalyst.expressions."
READ = "execution.datasources.LogicalRelation"


def test_plans_of_spark_are_read():
    """Classes as Spark 4 names them; test_spark_frames.py asks Spark itself."""
    by_row = [LOGICAL + "Project", EXPRESSIONS + "Logarithm", LOGICAL + "Filter", LOGICAL + "SubqueryAlias", READ]
    assert mixing_in(plan_of_spark(*by_row)) == []
    assert mixing_in(plan_of_spark(LOGICAL + "Window", EXPRESSIONS + "aggregate.Max", READ)) == ["Window"]
    assert mixing_in(plan_of_spark(LOGICAL + "Project", EXPRESSIONS + "PythonUDF", READ)) == ["PythonUDF"]
    assert mixing_in(plan_of_spark(LOGICAL + "Filter", EXPRESSIONS + "Exists", READ)) == ["Exists"]
    assert mixing_in(plan_of_spark(LOGICAL + "GlobalLimit", LOGICAL + "Sort", READ)) == ["GlobalLimit"]
    assert mixing_in('[{"class":"org.example.Strange"}]') == ["Strange"]


def test_a_plan_that_is_not_shown_is_no_plan_of_rows_by_themselves():
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()  # Spark Connect has no `_jdf`
    assert query_of(remote) == ("a query of Spark", ("no plan that could be read",))


def test_files_and_datasets_are_no_queries(tmp_path):
    parquet.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    for source in (
        str(tmp_path / "rows.parquet"),
        ds.dataset(tmp_path),
        ds.dataset(pa.table(ROWS)).filter(ds.field("x") > 0.1),
    ):
        assert dplr.Stream(source).query is None
    statement = dplr.fit(str(tmp_path / "rows.parquet"), "y", eps=1.0, bounds=BOUNDS).privacy_
    assert FROM_ONE not in statement.assumptions
    assert statement.uncovered == ()


RELEASES = {
    "fit": lambda rows: dplr.fit(rows, "y", eps=1.0, bounds=BOUNDS),
    "fit_many": lambda rows: dplr.fit_many(rows, "y", eps=[0.5, 1.0], bounds=BOUNDS)[1],
    "evaluate": lambda rows: dplr.evaluate(lambda part: np.full(len(part), 0.5), rows, "y", eps=1.0),
    "learn_bounds": lambda rows: dplr.learn_bounds(rows, columns=["x"], eps=1.0),
    "release_moments": lambda rows: dplr.release_moments(rows, bounds=BOTH, eps=1.0),
}  # fmt: skip


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_of_a_query_says_what_it_assumes_and_what_it_does_not_cover(release):
    plain = RELEASES[release](LAZY.select("x", "y"))
    assert plain.privacy_.assumptions.count(FROM_ONE) == 1
    assert plain.privacy_.uncovered == ()
    with pytest.warns(dplr.PrivacyWarning, match=r"^a query of polars may mix rows \(max\), .*Declare bounds") as said:
        mixed = RELEASES[release](LAZY.select(x / x.max(), y))
    fact = (
        "a query of polars may mix rows (max), and is covered only if each row of the query comes from one record alone"
    )
    assert len(said) == 1
    assert mixed.privacy_.uncovered == (fact,)
    assert FROM_ONE in mixed.privacy_.assumptions
    assert f"NOT COVERED {fact[:30]}" in " ".join(str(mixed.privacy_).split())


@pytest.mark.filterwarnings("ignore:values of X outside:dplr.DataWarning")
def test_the_verdict_stays_with_the_release(tmp_path):
    with pytest.warns(dplr.PrivacyWarning, match="may mix rows"):
        first, second = (RELEASES["release_moments"](LAZY.select(mixed, y)) for mixed in (x / x.max(), x.rank()))
    assert (first + second).privacy_.uncovered == (*first.privacy_.uncovered, *second.privacy_.uncovered)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        model = RELEASES["fit"](LAZY.select(x / x.max(), y))
    dplr.save_model(model, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_.uncovered == model.privacy_.uncovered
