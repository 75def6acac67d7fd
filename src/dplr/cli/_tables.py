"""Files as Arrow tables; whatever is heavy is imported where it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds
    from dplr.rows.files.kinds import Format, Kind
    from dplr.rows.files.whole import Declared


def format_of(encoding: str, delimiter: str, spellings: tuple[str, ...], decimal: str) -> Format:
    """How a file is written; ValueError for encodings in which one record may change how another is read."""
    from dplr.rows.files.kinds import Format

    return Format(encoding, delimiter, spellings, decimal)


def feature_kinds(bounds: Bounds) -> dict[str, Kind]:
    """The kind of each declared column of a CSV file."""
    from dplr.rows.files.kinds import feature_kinds

    return feature_kinds(bounds)


def target_kind(bounds: Bounds, classifier: bool) -> Kind:
    """The kind of the target of a CSV file; a classifier's must be declared."""
    from dplr.rows.files.kinds import target_kind

    return target_kind(bounds, classifier)


def read_table(path: str, kinds: Mapping[str, Kind], form: Format) -> Any:
    """The columns of `kinds`, in their order, as an Arrow table: nothing else of the file is kept.

    Raises
    ------
    ValueError
        The file is none of those that are read, a column is missing or occurs twice, or a field is not a number.
    OSError
        The file cannot be read.
    MemoryError
        The rows do not fit; it says how many do.
    """
    from dplr.rows.files import whole

    return whole.read_table(path, kinds, form)


def column_types(path: str, form: Format) -> dict[str, Declared]:
    """Every column by its name, as the file declares it: no row is read."""
    from dplr.rows.files import whole

    return whole.column_types(path, form)


def parquet_of(columns: Mapping[str, Any]) -> bytes:
    """The columns as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(dict(columns)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data
