"""Datasets of pyarrow: a part per fragment. Readers can be read once, and are refused.

Files on a disk of this machine have a stamp, which is checked whenever they are read. Files elsewhere, in a bucket for
example, have none: only their rows are counted in every pass.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from dplr._kit.validation import sentence
from dplr.rows import threads as _pool
from dplr.rows.files.parquet import footer_bytes
from dplr.rows.files.part import Part, Stamp
from dplr.rows.files.sources import refuse_repeats
from dplr.rows.streams.parts import LAZY_ROWS, LocalParts

# Formats whose options change no number.
_PLAIN = ("ParquetFileFormat", "IpcFileFormat")


def parts_of(source: Any, threads: int | None) -> LocalParts:
    """The fragments of a dataset; a dataset behind a filter is one part."""
    if not hasattr(source, "get_fragments"):
        remedy = "Hand over what it reads, such as a dataset or a query, or call read_all() if memory holds the rows."
        rule = "must be something that can be read more than once"
        raise TypeError(sentence("X", rule, type(source).__name__, remedy))
    named = [(dataset, getattr(dataset, "files", [])) for dataset in _children(source)]
    refuse_repeats((path for _, paths in named for path in paths), on_this_machine=False)
    try:
        parts = [_part(fragment, source.schema) for fragment in source.get_fragments()]
    except ValueError:  # only the whole dataset knows its filter
        stamps = [stamp for dataset, paths in named for stamp in _stamps(dataset, paths)]
        parts = [Part(functools.partial(_batches, source, {}, stamps), "an Arrow dataset")]
    return LocalParts(parts, source.schema.empty_table(), threads)


def _children(source: Any) -> Sequence[Any]:
    """The datasets of a union; any other dataset itself."""
    datasets: Sequence[Any] = getattr(source, "children", [source])
    return datasets


def _part(fragment: Any, schema: Any) -> Part:
    path = getattr(fragment, "path", None)
    stamps = _stamps(fragment, [path] if path else [])
    read = functools.partial(_batches, fragment, {"schema": schema}, stamps)
    if not path:
        return Part(read, "a fragment in memory", fragment.count_rows())
    groups = getattr(fragment, "row_groups", None)  # of a Parquet file, of which a dataset may have some alone
    rows = None if groups is None else sum(group.num_rows for group in groups)
    has_time = bool(fragment.filesystem.get_file_info(path).mtime_ns)
    return Part(read, path, rows, lasts=has_time and type(fragment.format).__name__ in _PLAIN)


def _stamps(source: Any, paths: Sequence[str]) -> list[Stamp]:
    """Stamps of the files that a dataset or a fragment reads on this machine."""
    if not paths or source.filesystem.type_name != "local":
        return []
    return [Stamp.of(path, footer_bytes(path)) for path in paths]


def _batches(source: Any, options: dict[str, Any], stamps: list[Stamp], columns: list[str] | None) -> Iterator[Any]:
    """Record batches; ValueError where a file has changed, which is looked at before and after they are read."""
    _check(stamps)
    for stamp in stamps:
        stamp.check(stamp.place, footer_bytes(stamp.place))
    use_threads = _pool.available_threads() > 1
    few = {"batch_size": LAZY_ROWS, "batch_readahead": 2, "fragment_readahead": 1, "use_threads": use_threads}
    # Bytes of a file of Arrow's own format become arrays as they are, and nothing looks at them.
    formats = [getattr(dataset, "format", None) for dataset in _children(source)]
    is_mapped = any(type(kind).__name__ == "IpcFileFormat" for kind in formats)
    try:
        for batch in source.to_batches(columns=columns, **few, **options):
            if is_mapped:
                _check_sound(batch)
            yield batch
    except (ValueError, OSError):  # of Arrow, perhaps because a file changed
        _check(stamps)
        raise
    _check(stamps)


def _check(stamps: list[Stamp]) -> None:
    for stamp in stamps:
        stamp.check(stamp.place)


def _check_sound(batch: Any) -> None:
    """Refuse texts that end outside their bytes, where a kernel would read."""
    try:
        batch.validate(full=True)
    except ValueError:  # which may quote what a file holds
        rule = "must be sound files of Arrow; ends of texts, codes or nulls are broken in one"
        raise ValueError(f"`X` {rule}. Write its rows anew, best as Parquet.") from None
