"""Spark: partitions of a DataFrame, and parts that executors read. Sums leave an executor, rows do not."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dplr._kit.validation import sentence
from dplr.rows.files.part import Part
from dplr.rows.streams.far import Answered, FarParts, answer_of, grouped, sum_part
from dplr.rows.streams.parts import RemotePass

NAME = "a query of Spark"
# Operators that treat each row by itself, only order rows, or read them; and expressions that do not.
_BY_ROW = re.compile(
    r"Project|Filter|Sort|Union|SubqueryAlias|View|Repartition|RepartitionByExpression|ResolvedHint|LogicalRDD|Range|"
    r"LogicalRelation|LocalRelation|HiveTableRelation|DataSourceV2Relation|InMemoryRelation|OneRowRelation"
)
_MIXING = re.compile(r"\w*UDF|\w*Subquery|Exists|ListQuery|MonotonicallyIncreasingID|SparkPartitionID")


class SparkParts(FarParts):
    """Parts that the executors of a SparkSession read."""

    def answers(self, job: RemotePass[Any]) -> list[bytes]:
        context, work = self._workers.sparkContext, functools.partial(_sum_group, job)
        groups = grouped(self.parts, context.defaultParallelism)

        def ask() -> list[bytes]:
            answers: list[bytes] = context.parallelize(groups, len(groups)).map(work).collect()
            return answers

        return answer_of("Spark", ask) if groups else []


placed = SparkParts


class SparkFrame(Answered):
    """A DataFrame of Spark, whose partitions executors sum."""

    rows = None

    def __init__(self, frame: Any, empty: Any) -> None:
        self._frame = frame
        self.empty: Any = empty

    def chosen(self, columns: Sequence[str]) -> SparkFrame:
        names = ["`" + name.replace("`", "``") + "`" for name in dict.fromkeys(columns)]
        return SparkFrame(self._frame.select(*names), self.empty)

    def answers(self, job: RemotePass[Any]) -> list[bytes]:
        names = self._frame.columns
        plain = self._frame.toDF(*(f"c{place}" for place in range(len(names))))  # mapInArrow reads dots as paths
        query = plain.mapInArrow(_SumPartition(job, names), "number bigint, answer binary")
        answers = [(row[0], bytes(row[1])) for row in answer_of("Spark", query.collect)]
        if len(dict(answers)) != len(answers):
            raise ValueError("Spark answered twice for one partition: a row would count twice. Fit again.")
        return [answer for _, answer in sorted(answers)]


@dataclass(frozen=True)
class _SumPartition:
    """Sums the batches of one partition where they lie."""

    job: RemotePass[Any]
    names: list[str]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from pyarrow import RecordBatch
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        named = (batch.rename_columns(self.names) for batch in batches)
        part = Part(lambda columns: named, f"partition {number}")
        yield RecordBatch.from_pydict({"number": [number], "answer": [sum_part(self.job, part)]})


def mixing(frame: Any) -> list[str]:
    """The operators and functions of its plan that may mix rows."""
    return mixing_in(frame._jdf.queryExecution().analyzed().toJSON())  # Spark Connect does not show it


def mixing_in(plan: str) -> list[str]:
    """The same, of the logical plan as Spark writes it."""
    named = re.findall(r'"class":"([\w.$]*\.)?([\w$]+)"', plan)
    if not named:
        raise ValueError("this is no plan of Spark")
    nodes = [name for package, name in named if ".expressions." not in package and not _BY_ROW.fullmatch(name)]
    return nodes + [name for package, name in named if ".expressions." in package and _MIXING.fullmatch(name)]


def _sum_group(job: RemotePass[Any], group: Sequence[Part]) -> bytes:
    return sum_part(job, *group)


def parts_of(frame: Any, threads: int | None) -> SparkFrame:
    """The partitions of a DataFrame; raises for a plan that may give other rows in every pass."""
    from pyspark.sql.pandas.types import to_arrow_schema

    plan = getattr(frame, "_jdf", None)  # Spark Connect does not show it
    if plan is not None and not plan.queryExecution().analyzed().deterministic():
        remedy = "Write it to a table, and fit that."
        raise ValueError(sentence("X", "must have the same rows in every pass", "a plan with rand()", remedy))
    return SparkFrame(frame, to_arrow_schema(frame.schema).empty_table())
