"""CSV files: one part per file, read once per pass in blocks of whole rows."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from typing import Any

from dplr.rows.files.columns import check_columns
from dplr.rows.files.compressed import text_of
from dplr.rows.files.fields import Fields
from dplr.rows.files.kinds import Format, Kind
from dplr.rows.files.lines import Header, blocks, header_of
from dplr.rows.files.parquet import BATCH_ROWS
from dplr.rows.files.stamp import Stamp, missing_file

BLOCK_BYTES = 1 << 21


@dataclass(frozen=True, slots=True)
class CsvPart:
    """A CSV file, plain or compressed, the columns to read from it, and their kinds; no file is open.

    Attributes
    ----------
    path : the file as it was named, for messages.
    stamp : place, size, time and hash of the file, checked whenever it is read.
    header : its first row.
    kinds : names and kinds of the columns, in the order in which they are read.
    form : the format of the file.
    block_bytes : how much is read at a time. A longer row is read as a whole.
    rows : None; a CSV file does not say how many it has.
    """

    path: str
    stamp: Stamp
    header: Header
    kinds: tuple[tuple[str, Kind], ...]
    form: Format
    block_bytes: int = BLOCK_BYTES
    rows: int | None = None

    @property
    def identity(self) -> str:
        """The file and how it is read: the same text means the same rows."""
        return f"{self.stamp.text} {list(self.kinds)} {self.form}"

    def chosen(self, columns: Sequence[str]) -> CsvPart:
        """The part with these columns alone."""
        kinds = dict(self.kinds)
        return replace(self, kinds=tuple((name, kinds[name]) for name in columns))

    def batches(self) -> Iterator[Any]:
        """Record batches; ValueError where the file is not what it was, or its rows are not what they must be.

        A fault of a row or a field is raised once all rows were counted.
        """
        fields = Fields(self.path, dict(self.kinds), self.form)
        try:
            file = open(self.stamp.place, "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            raise missing_file(self.path) from None
        with file, _explained(self.path):
            self.stamp.check(self.path, _beginning(file, self.header))
            with text_of(file, self.path) as text:
                text.read(self.header.size)
                for block in blocks(text, self.path, self.header, self.form, self.block_bytes):
                    table = self._table(block, fields)
                    if not fields.refused:
                        yield from table.to_batches(max_chunksize=BATCH_ROWS)
        self.stamp.check(self.path)
        fields.tell()

    def _table(self, block: bytes, fields: Fields) -> Any:
        """The columns of some whole rows. Arrow reads the numbers of a column itself where it can read all of them."""
        import pyarrow as pa

        while fields.quick:
            with contextlib.suppress(pa.ArrowInvalid):
                table = fields.typed(*self._read(block, fields.nulls, fields.slow))
                if table is not None:
                    return table
            fields.learn(self._read(block, None)[0])
        return fields.typed(*self._read(block, None))

    def _read(self, block: bytes, nulls: list[str] | None, slow: Collection[str] = ()) -> tuple[Any, list[Any]]:
        """The columns, and rows with a wrong number of fields; text in `slow` columns, in all where `nulls` is None."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        names, skipped = self.header.names, list[Any]()
        places = [str(names.index(name)) for name, _ in self.kinds]
        # A header of our own, also because Arrow would take a mark of UTF-8 away from the first field.
        header = self.form.delimiter.join(f'"{place}"' for place in range(len(names)))
        data = b"%b\n%b" % (header.encode(), block)
        as_text = [nulls is None or kind.text or name in slow for name, kind in self.kinds]
        text = dict(zip(places, as_text, strict=True))

        def skip(row: Any) -> str:
            skipped.append(row)
            return "skip"

        table = arrow.read_csv(
            pa.BufferReader(data),
            read_options=arrow.ReadOptions(use_threads=False, block_size=len(data)),
            parse_options=arrow.ParseOptions(
                delimiter=self.form.delimiter,
                newlines_in_values=b'"' in block,
                ignore_empty_lines=len(names) > 1,  # with one column, an empty line is a missing value
                invalid_row_handler=skip,
            ),
            convert_options=arrow.ConvertOptions(
                column_types={place: pa.string() if text[place] else pa.float64() for place in places},
                include_columns=places,
                null_values=nulls or [],
                strings_can_be_null=False,
                decimal_point=self.form.decimal,
            ),
        )
        return table.rename_columns([name for name, _ in self.kinds]), skipped


def csv_parts(path: str, kinds: Mapping[str, Kind], form: Format, block_bytes: int = BLOCK_BYTES) -> list[CsvPart]:
    """The one part of a CSV file.

    Raises
    ------
    ValueError
        The file is not text, or a column is missing or occurs twice.
    """
    header = header_of(path, form)
    check_columns(path, header.names, kinds)
    if len(header.names) == 1 and header.text[:1] in (b"\r", b"\n"):
        raise _damaged(path)  # an empty line is a row where there is one column
    with open(path, "rb") as file:
        stamp = Stamp.of(path, _beginning(file, header))
    return [CsvPart(path, stamp, header, tuple(kinds.items()), form, block_bytes)]


def _beginning(file: BufferedReader, header: Header) -> bytes:
    """The bytes of the stamp: the header, or as many bytes of a file that is compressed. The file stands at 0 then."""
    first = file.read(header.size)
    file.seek(0)
    return first


def csv_schema(kinds: Mapping[str, Kind]) -> Any:
    """The types of the columns."""
    import pyarrow as pa

    return pa.schema([(name, pa.string() if kind.text else pa.float64()) for name, kind in kinds.items()])


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Explain what Arrow raises, whose text may quote private fields; a lack of memory is not damage."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except pa.ArrowException:
        raise _damaged(path) from None


def _damaged(path: str) -> ValueError:
    return ValueError(f"`{path}` must be a CSV file; its quotes or lines are damaged.")
