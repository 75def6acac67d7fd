"""Datasets of pyarrow: a part per fragment. Readers can be read once, and are refused.

Files on a disk of this machine have a stamp, which is checked whenever they are read. Files elsewhere, in a bucket for
example, have none: only their rows are counted in every pass.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dplr._kit.validation import sentence
from dplr.rows import threads as _pool
from dplr.rows.files.parquet import footer_bytes
from dplr.rows.files.part import Stamp
from dplr.rows.files.sources import without_repeats
from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart
from dplr.rows.streams.parts import LocalParts

# Columns, None for all -> record batches.
Read = Callable[[list[str] | None], Iterator[Any]]
# Formats whose options change no number. With other formats, another process may read other numbers.
_PLAIN = ("ParquetFileFormat", "IpcFileFormat")


def parts_of(source: Any, threads: int | None) -> LocalParts:
    """The fragments of a dataset; a dataset behind a filter is one part."""
    if not hasattr(source, "get_fragments"):
        remedy = "Hand over what it reads, such as a dataset or a query, or call read_all() if memory holds the rows."
        rule = "must be something that can be read more than once"
        raise TypeError(sentence("X", rule, type(source).__name__, remedy))
    empty = source.schema.empty_table()
    files = (path for dataset in _children(source) for path in getattr(dataset, "files", []))
    list(without_repeats(files, on_this_machine=False))
    try:
        parts = [_part(fragment, source.schema) for fragment in source.get_fragments()]
    except ValueError:  # only the whole dataset knows its filter
        stamps = [stamp for part in _children(source) for stamp in _stamps(part, getattr(part, "files", []))]
        parts = [LazyPart(_resting(functools.partial(_batches, source, {}), stamps), "an Arrow dataset")]
    return LocalParts(parts, empty, threads)


def _children(source: Any) -> Sequence[Any]:
    """The datasets of a union; any other dataset itself."""
    datasets: Sequence[Any] = getattr(source, "children", [source])
    return datasets


def _part(fragment: Any, schema: Any) -> LazyPart:
    path = getattr(fragment, "path", None)
    stamps = _stamps(fragment, [path] if path else [])
    read = _resting(functools.partial(_batches, fragment, {"schema": schema}), stamps)
    if not path:
        return LazyPart(read, "a fragment in memory", fragment.count_rows())
    groups = getattr(fragment, "row_groups", None)  # of a Parquet file, of which a dataset may have some alone
    rows = None if groups is None else sum(group.num_rows for group in groups)
    file = fragment.filesystem.get_file_info(path)
    group_ids = None if groups is None else [group.id for group in groups]
    way = hashlib.sha256(f"{schema}\n{fragment.partition_expression}\n{group_ids}".encode()).hexdigest()[:16]
    identity = f"{path}, {file.size} bytes, changed at {file.mtime_ns}, read as {way}"
    lasts = type(fragment.format).__name__ in _PLAIN
    return LazyPart(read, "a file", rows, identity if file.mtime_ns else "", lasts=lasts)


def _stamps(source: Any, paths: Sequence[str]) -> list[Stamp]:
    """Stamps of the files that a dataset or a fragment reads on this machine."""
    if not paths or source.filesystem.type_name != "local":
        return []
    return [Stamp.of(path, footer_bytes(path)) for path in paths]


def _resting(read: Read, stamps: list[Stamp]) -> Read:
    """The reader, with stamps checked before and after it reads; ValueError where a file has changed."""
    return functools.partial(_checked, read, stamps) if stamps else read


def _checked(read: Read, stamps: list[Stamp], columns: list[str] | None) -> Iterator[Any]:
    _check(stamps)
    for stamp in stamps:
        stamp.check(stamp.place, footer_bytes(stamp.place))
    try:
        yield from read(columns)
    except (ValueError, OSError):  # of Arrow, perhaps because a file changed
        _check(stamps)
        raise
    _check(stamps)


def _check(stamps: list[Stamp]) -> None:
    for stamp in stamps:
        stamp.check(stamp.place)


def _batches(source: Any, options: dict[str, Any], columns: list[str] | None) -> Iterator[Any]:
    use_threads = _pool.available_threads() > 1
    few = {"batch_size": BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1, "use_threads": use_threads}
    batches: Iterator[Any] = source.to_batches(columns=columns, **few, **options)
    return _sound(batches) if _is_mapped(source) else batches


def _is_mapped(source: Any) -> bool:
    """Whether a file of Arrow's own format is read: its bytes become arrays as they are, and nothing looks at them."""
    formats = (getattr(dataset, "format", None) for dataset in getattr(source, "children", [source]))
    return any(type(kind).__name__ == "IpcFileFormat" for kind in formats)


def _sound(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, checked; ValueError for one whose texts end outside their bytes, where a kernel would read."""
    for batch in batches:
        try:
            batch.validate(full=True)
        except ValueError:  # which may quote what a file holds
            rule = "must be sound files of Arrow; ends of texts, codes or nulls are broken in one"
            raise ValueError(f"`X` {rule}. Write its rows anew, best as Parquet.") from None
        yield batch
