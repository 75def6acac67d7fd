"""Relations of DuckDB: a query that is run anew for every pass."""

from __future__ import annotations

import functools
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

from dplr.rows.files.part import Part
from dplr.rows.streams.parts import LAZY_ROWS, LocalParts

NAME = "a query of DuckDB"
# What treats each row by itself, only orders rows, or names a part.
_BY_ROW = re.compile(r"PROJECTION|FILTER|\w*SCAN|READ_\w+|UNION|ORDER_BY|CTE")


def mixing(relation: Any) -> Iterator[str]:
    """The operators of its plan that may mix rows, and functions and macros of the user in it or in a view."""
    view = f"dplr_{uuid.uuid4().hex}"  # the user has none of this name

    def ask(query: str) -> list[Any]:
        rows: list[Any] = relation.query(view, query).fetchall()
        return rows

    setting = ask("select current_setting('explain_output')")[0][0]
    relation.query(view, "set explain_output = 'all'")  # the optimised plan depends on the rows
    try:
        plan = dict(ask(f"explain (format json) select * from {view}"))["logical_plan"]
    finally:
        relation.query(view, f"set explain_output = '{setting}'")
    yield from (name for name in _operators(json.loads(plan)) if not _BY_ROW.fullmatch(name))
    views = ask("select sql from duckdb_views() where not internal")
    text = " ".join([relation.sql_query(), *(sql for (sql,) in views)]).casefold()
    own = {name for (name,) in ask(_FUNCTIONS)} - _own_functions()
    yield from (name for name in own if re.search(rf"\b{re.escape(name.casefold())}\b", text))


def _operators(nodes: list[Any]) -> Iterator[str]:
    for node in nodes:
        yield node["name"].strip()
        yield from _operators(node["children"])


_FUNCTIONS = "select function_name from duckdb_functions()"


@functools.cache
def _own_functions() -> frozenset[str]:
    """Those of DuckDB itself."""
    import duckdb

    with duckdb.connect() as fresh:
        return frozenset(name for (name,) in fresh.sql(_FUNCTIONS).fetchall())


def parts_of(relation: Any, threads: int | None) -> LocalParts:
    """One part: a connection answers one query at a time, on threads of its own."""
    part = Part(functools.partial(_batches, relation), NAME)
    return LocalParts([part], _chosen(relation, relation.columns).limit(0).to_arrow_table(), threads)


def _batches(relation: Any, columns: list[str] | None) -> Any:
    return _chosen(relation, columns or relation.columns).to_arrow_reader(LAZY_ROWS)


def _chosen(relation: Any, columns: list[str]) -> Any:
    """A query of these columns, by their names as they are."""
    from duckdb import ColumnExpression

    return relation.select(*map(ColumnExpression, columns))
