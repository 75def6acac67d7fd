"""Rows that executors of Spark sum: every bit is that of this process, and no row leaves an executor."""

import importlib
import os
import sys

import pyarrow.dataset as ds
import pytest

import dplr
from dplr.rows.streams.answers import WorkerFault
from dplr.rows.streams.engines import query_of
from dplr.rows.streams.parts import one_pass
from dplr.rows.streams.passes import CountPass
from streamed_rows import FITS, DeadlyPart, FarParts, FaultyPart, assert_same, fitted, people, written

sql = pytest.importorskip("pyspark.sql", reason="the extra `spark` is not installed: `make spark` has it")
SparkParts = importlib.import_module("dplr.rows.streams.engines.spark").SparkParts
N = 20_000
SOME = ["fm", "objective", "ngd", "text", "weights", "linear"]


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    found = sql.SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
    yield found
    found.stop()
    os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("people"), people(N))


@pytest.mark.parametrize("name", SOME)
def test_a_fit_of_a_dataframe_is_that_of_its_rows(name, session, folder):
    """Spark makes partitions of its own, so sums in float64 may differ by what their order moves."""
    assert_same(fitted(session.read.parquet(str(folder)), **FITS[name]), fitted(people(N), **FITS[name]), name)


@pytest.mark.parametrize("name", SOME)
def test_a_fit_of_files_has_every_bit_of_a_fit_in_this_process(name, session, folder):
    local = dplr.Stream(ds.dataset(folder)).parts
    stream = dplr.Stream(ds.dataset(folder), workers=session)
    assert isinstance(stream.parts, SparkParts)
    assert_same(fitted(stream, **FITS[name]), fitted(FarParts(local.parts, local.empty), **FITS[name]))


@pytest.mark.parametrize(("name", "kill_at"), [("fm", 4), ("objective", 18), ("ngd", 25)])
def test_a_worker_that_is_killed_changes_no_bit(name, kill_at, session, folder, tmp_path):
    parts = dplr.Stream(ds.dataset(folder)).parts
    lost = SparkParts([DeadlyPart(part, str(tmp_path), kill_at) for part in parts.parts], parts.empty, session)
    assert_same(fitted(lost, **FITS[name]), fitted(FarParts(parts.parts, parts.empty), **FITS[name]))
    assert len(list(tmp_path.iterdir())) % 7, "the parts of the killed worker were read again"


def test_columns_may_have_any_name_and_partitions_may_be_empty(session):
    frame = session.createDataFrame([(1, 2.0)], "`a.b ``c` int, d double").repartition(4)
    parts = dplr.Stream(frame).parts.chosen(["a.b `c"])
    assert one_pass(parts, CountPass()) == 1


def test_a_plan_that_gives_other_rows_in_every_pass_is_refused(session, folder):
    frame = session.read.parquet(str(folder)).sample(0.5)
    for lazy in (frame, frame.where("rand() > 0.5")):
        with pytest.raises(ValueError, match="`X` must have the same rows in every pass; got 'a plan with rand"):
            fitted(lazy.where("rand() > 0.5"), mechanism="fm")


def test_a_query_that_mixes_rows_is_not_covered(session, folder):
    frame = session.read.parquet(str(folder))
    frame.createOrReplaceTempView("people")
    by_row = [frame, frame.where("age > 20").select("age"), session.table("people").orderBy("age"), frame.union(frame)]
    assert [query_of(lazy).mixing for lazy in by_row] == [()] * 4
    mixed = {
        "Window": "select age / max(age) over () as age from people",
        "Aggregate": "select age / (select max(age) from people) as age from people",
        "Join": "select a.age from people a join people b using (id)",
        "GlobalLimit": "select age from people limit 9",
        "Generate": "select explode(array(age, age)) as age from people",
        "Exists": "select age from people a where exists (select 1 from people b where b.age > a.age)",
    }
    assert all(name in query_of(session.sql(query)).mixing for name, query in mixed.items())
    own = sql.functions.udf(lambda value: value, "long")
    assert query_of(frame.withColumn("age", own("age"))).mixing == ("PythonUDF",)
    (fact,) = fitted(frame.withColumn("age", own("age")), mechanism="fm").privacy_.uncovered
    assert fact.startswith("a query of Spark may mix rows (PythonUDF), and is covered only if")


def test_faults_quote_no_value(session, folder):
    part = FaultyPart(people(9), name="people.parquet, row group 3")
    with pytest.raises(WorkerFault, match="row group 3 could not be summed: its rows cannot be read"):
        fitted(SparkParts([part], people(0), session), mechanism="fm")
    frame = session.read.parquet(str(folder)).selectExpr("*", "cast('Jane Doe' || job as int) as age2")
    frame = frame.drop("age").withColumnRenamed("age2", "age")
    with pytest.raises(ValueError, match="must be read by the workers of Spark, which gave up") as caught:
        fitted(frame, mechanism="fm")
    assert "Jane" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"


def test_persons_are_refused(session, folder):
    with pytest.raises(ValueError, match="`person` must be None where rows lie on a cluster: ids stay there; got 'id'"):
        fitted(session.read.parquet(str(folder)), mechanism="fm", person="id")


def test_two_answers_for_one_partition_are_refused(session, folder):
    parts = dplr.Stream(session.read.parquet(str(folder))).parts

    class Twice:
        columns = parts._frame.columns

        def toDF(self, *names):
            return self

        def mapInArrow(self, work, schema):
            self.found = parts._frame.mapInArrow(work, schema)
            return self

        def collect(self):
            return 2 * self.found.collect()

    parts_twice = type(parts)(Twice(), parts.empty)
    with pytest.raises(ValueError, match="answered twice"):
        list(parts_twice.sums(CountPass(), lambda rows: None))
