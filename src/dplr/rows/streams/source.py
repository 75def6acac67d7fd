"""Streams of rows as users name them, and their parts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dplr._kit.validation import check_count, sentence
from dplr.rows.files.kinds import PARQUET, Format, Kind, file_kind
from dplr.rows.files.parquet import footer_of
from dplr.rows.files.part import Part, Spool
from dplr.rows.files.sources import files_of
from dplr.rows.files.sources import parts_of as parts_of_files
from dplr.rows.ids import PersonCounts
from dplr.rows.streams.engines import Query, is_lazy, parts_of, placed, query_of
from dplr.rows.streams.parts import LocalParts, Parts


class Stream:
    """Rows that are read batch by batch, as often as a fit needs them, and never all at once.

    Parameters
    ----------
    source : path-like, list of path-like, lazy table or parts
        A Parquet file, a list of files, a folder, or a pattern such as ``"people/*.parquet"``; a dataset of pyarrow, a
        LazyFrame of polars, a relation of DuckDB, or a DataFrame of Dask or Spark. `fit` takes a path
        or a lazy table without this class, which holds options.
    keep : path-like, False or None, default=None
        Folder where a fit that reads rows hundreds of times may keep them, encoded, in a file without a name, while it
        runs: of this machine, or of each worker of Dask. None takes the system's folder of temporary files, or the
        worker's own. False keeps them nowhere. Such a file is as private as the rows, and not encrypted.
    threads : int or None, default=None
        How many parts this process reads at once. None takes two, or one where more than 32 columns are read.
    workers : object or None, default=None
        Whose workers read the files or the dataset: a Client of Dask or a SparkSession. None reads them
        in this process. Tables on a cluster are read there in any case.

    Raises
    ------
    ValueError, TypeError
        There is no such file, files differ in their columns, or a parameter breaks a rule.

    Privacy
    -------
    Reading releases nothing. Rows stay in this process and on this machine, or on the workers where they lie.

    See Also
    --------
    dplr.fit : Fit a model to streamed rows.
    dplr.release_moments : Release the moments of streamed rows.

    Examples
    --------
    >>> import dplr, numpy as np, os, pyarrow, tempfile
    >>> from pyarrow import parquet
    >>> path = os.path.join(tempfile.mkdtemp(), "people.parquet")
    >>> age = np.random.default_rng(0).integers(18, 90, 5000)
    >>> parquet.write_table(pyarrow.table({"age": age, "old": age > 60}), path)
    >>> bounds = dplr.Bounds({"age": (18, 90)})
    >>> est = dplr.fit(dplr.Stream(path, threads=1), "old", bounds=bounds, eps=1.0)
    >>> est.privacy_.eps
    1.0
    """

    def __init__(self, source: Any, *, keep: str | os.PathLike[str] | bool | None = None,
                 threads: int | None = None, workers: Any = None) -> None:  # fmt: skip
        if keep is True:
            raise ValueError(sentence("keep", "must be a folder, None or False", keep))
        self.keep: Any = keep
        self.threads: int | None = None if threads is None else check_count("threads", threads)
        parts = _parts_of(source, self.threads)
        self.parts: Parts = parts if workers is None else placed(parts, workers)
        self.query: Query | None = query_of(source)
        self.count: int | None = None  # of rows; a pass that counts them is made once
        self.persons: dict[str, tuple[int, PersonCounts]] = {}

    def __repr__(self) -> str:
        return f"Stream({type(self.parts).__name__})"


def as_stream(X: Any) -> Stream | None:
    """X as a stream; None where it is in memory."""
    if isinstance(X, Stream):
        return X
    if isinstance(X, np.ndarray):  # as most are; to ask for all of a protocol takes longer than a small sum
        return None
    is_list = isinstance(X, (list, tuple)) and bool(X) and all(isinstance(item, (str, os.PathLike)) for item in X)
    return Stream(X) if is_list or isinstance(X, (str, os.PathLike, Parts)) or is_lazy(X) else None


def lasting(parts: Parts) -> bool:
    """Whether parts that are read again are the same rows, or refused: files are, and queries may not be."""
    return isinstance(parts, LocalParts) and all(getattr(part, "lasts", True) for part in parts.parts)


def _parts_of(source: Any, threads: int | None) -> Parts:
    if isinstance(source, Parts):
        return source
    if is_lazy(source):
        return parts_of(source, threads)
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        raise TypeError(sentence("source", "must be files, a lazy table, or parts", type(source).__name__))
    files = files_of(source)
    if file_kind(files[0]) != PARQUET:
        remedy = "Other files do not say what their columns hold: use `dplr fit` of the command line, or write Parquet."
        raise ValueError(sentence("X", "must name Parquet files", files[0], remedy))
    return file_parts(files, footer_of(files[0]).schema.names, threads=threads)


def file_parts(
    files: Sequence[str],
    columns: Sequence[str],
    kinds: Mapping[str, Kind] | None = None,
    form: Format | None = None,
    threads: int | None = None,
    keep: str | None = None,
) -> LocalParts:
    """The parts of files, with these columns; `kinds` says what they hold, except in Parquet files.

    Rows of other files are kept in the folder `keep` once they were read: in the system's folder for None.
    """
    folder = tempfile.gettempdir() if keep is None else keep
    parts, schema = parts_of_files(files, columns, kinds, form)
    if file_kind(files[0]) != PARQUET:
        parts = [Part(Spool(part, folder).batches, part.name, lasts=True) for part in parts]
    return LocalParts(parts, schema.empty_table(), threads)
