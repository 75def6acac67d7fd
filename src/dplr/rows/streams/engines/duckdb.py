"""Relations of DuckDB: a query that is run anew for every pass."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart
from dplr.rows.streams.parts import LocalParts


def parts_of(relation: Any, threads: int | None) -> LocalParts:
    """One part: a connection answers one query at a time, on threads of its own."""
    part = LazyPart(functools.partial(_batches, relation), "a query of DuckDB")
    return LocalParts([part], _chosen(relation, relation.columns).limit(0).to_arrow_table(), threads)


def _batches(relation: Any, columns: list[str] | None) -> Iterator[Any]:
    batches: Iterator[Any] = _chosen(relation, columns or relation.columns).to_arrow_reader(BATCH_ROWS)
    return batches


def _chosen(relation: Any, columns: list[str]) -> Any:
    """A query of these columns, by their names as they are."""
    from duckdb import ColumnExpression

    return relation.select(*map(ColumnExpression, columns))
