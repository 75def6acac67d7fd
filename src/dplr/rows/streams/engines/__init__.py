"""Lazy tables, and tables on clusters, as parts: one file per library, loaded for its objects alone.

No library is imported here: a user who passes an object has imported its library. Each file has `parts_of`, which reads
such an object, and `NAME` and `mixing`, which describe a query by its plan; or `placed`, which sends parts to workers.
"""

from __future__ import annotations

import importlib
import pickle
from typing import Any, NamedTuple

from dplr._kit.validation import sentence
from dplr.rows.streams.parts import LocalParts, Parts

# (library, class) -> the file here that reads its objects.
_FILES = {
    ("pyarrow", "Dataset"): "arrow",
    ("pyarrow", "RecordBatchReader"): "arrow",
    ("polars", "LazyFrame"): "polars",
    ("duckdb", "DuckDBPyRelation"): "duckdb",
    ("dask", "DataFrame"): "dask",
    ("pyspark", "DataFrame"): "spark",
}
# (library, class) of the parameter `workers` -> the file here that sends parts to them.
_CLUSTERS = {("distributed", "Client"): "dask", ("pyspark", "SparkSession"): "spark"}


def is_lazy(source: Any) -> bool:
    """Whether the object is a lazy table that can be read in parts."""
    return _file_of(source, _FILES) is not None


def parts_of(source: Any, threads: int | None) -> Parts:
    """The parts of a lazy table; raises for one that cannot be read more than once."""
    parts: Parts = _loaded(_file_of(source, _FILES)).parts_of(source, threads)
    return parts


class Query(NamedTuple):
    """A lazy table whose rows a library computes: its name, and what of its plan may mix rows."""

    name: str
    mixing: tuple[str, ...]


def query_of(source: Any) -> Query | None:
    """The query of a lazy table, by its plan and without a row of it; None for files and datasets."""
    name = _file_of(source, _FILES)
    if name in (None, "arrow"):
        return None
    engine = _loaded(name)
    try:
        mixing = tuple(dict.fromkeys(engine.mixing(source)))
    except Exception:  # each library has its own, and what cannot be read may be anything
        mixing = ("no plan that could be read",)
    return Query(engine.NAME, mixing)


def placed(parts: Parts, workers: Any) -> Parts:
    """These parts, read by workers."""
    name = _file_of(workers, _CLUSTERS)
    if name is None:
        raise TypeError(sentence("workers", "must be a Client of Dask or a SparkSession", type(workers).__name__))
    if not isinstance(parts, LocalParts):
        remedy = "Leave it out: the rows are read where they lie."
        raise ValueError(sentence("workers", "must be None for rows on a cluster", type(parts).__name__, remedy))
    try:
        pickle.dumps(parts.parts)
    except Exception:  # each library has its own
        rule = "must be files that workers can open themselves, where `workers` is given"
        raise TypeError(sentence("source", rule, "rows that this process alone can read")) from None
    far_parts: Parts = _loaded(name).placed(parts.parts, parts.empty, workers)
    return far_parts


def _loaded(name: str | None) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def _file_of(source: Any, files: dict[tuple[str, str], str]) -> str | None:
    kinds = ((base.__module__.partition(".")[0].lstrip("_"), base.__name__) for base in type(source).__mro__)
    return next((files[kind] for kind in kinds if kind in files), None)
