"""CSV files, plain or compressed: blocks of whole rows, with quotes that stand around whole fields, and their fields.

Memory does not grow with the file, nor with what is in a compressed one. Each field becomes a number or text by itself.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from dplr._core import scan_rows
from dplr._kit.warnings import DataWarning, warn
from dplr.rows.files.kinds import BEGINNING, CSV, DECIMALS, Format, Kind, codec_of, kind_of
from dplr.rows.files.part import BATCH_ROWS, Part, Stamp, binary, check_columns

BLOCK_BYTES = 1 << 21
_TEXT_BYTES = 1 << 16  # that are decompressed at a time
LONGEST = 1 << 26  # bytes of a row: a quote that is never closed would take the file into memory
_MARK = b"\xef\xbb\xbf"  # the byte order mark, which some programs write before UTF-8
_START, _QUOTED, _CLOSED = 0, 2, 3  # states of `scan_rows`
# A number, by the sign between its digits. There are none between thousands: "1.234,5" is no number anywhere.
_NUMBERS = {
    sign: rf"^[+-]?(\d+[{sign}]?\d*|[{sign}]\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$" for sign in DECIMALS
}


@dataclass(frozen=True, slots=True)
class Header:
    """The first row that is not empty.

    Attributes
    ----------
    names : its fields.
    text : the text up to the end of the header, as UTF-8.
    size : bytes that it takes in the text of the file.
    """

    names: tuple[str, ...]
    text: bytes
    size: int

    def stamped(self, file: io.BufferedReader) -> bytes:
        """The bytes of the stamp: the header, or as many of a file that is compressed. The file stands at 0 then."""
        first = file.read(self.size)
        file.seek(0)
        return first


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file, and what its columns are; `block_bytes` are read at a time, and a longer row as a whole."""

    path: str  # as it was given, for messages
    stamp: Stamp
    header: Header
    kinds: Mapping[str, Kind]
    form: Format
    block_bytes: int

    def read(self, columns: list[str] | None) -> Iterator[Any]:
        """Record batches. A fault of a row or a field is raised once all rows were counted."""
        kinds = self.kinds if columns is None else {name: self.kinds[name] for name in columns}
        fields = Fields(self.path, self.header.names, kinds, self.form)
        opened = self.stamp.opened(self.path, self.header.stamped)
        with opened as file, _explained(self.path), text_of(file, self.path) as text:
            text.read(self.header.size)
            for block in self._blocks(text):
                table = fields.of(block)
                if not fields.refused:
                    yield from table.to_batches(max_chunksize=BATCH_ROWS)
        fields.tell()

    def _blocks(self, text: IO[bytes]) -> Iterator[bytes]:
        """Whole rows as UTF-8; `text` stands behind the header.

        Quotes anywhere except around whole fields are refused, though readers of CSV accept them: one could turn all
        rows below it into a single field.
        Where quotes only open, close, or stand doubled in a field, a line ends inside a field exactly if an odd number
        of them stands before. Well-written rows have an even number. So below an odd row every line, the last one too,
        ends inside a field, and that is refused; below any other row all is read as it would be without that row. What
        was read of the rows above a refused one is never released: sums end before noise is drawn.
        """
        path, form, delimiter = self.path, self.form, ord(self.form.delimiter)
        state, row, fault = scan_rows(self.header.text, 0, _START, delimiter)
        if fault >= 0 or state == _QUOTED:
            raise _stray(path, 0, self.header.text[: max(row, 0)])
        rest, state, lines = b"", _START, _line_ends(self.header.text)
        while True:
            new = text.read(max(self.block_bytes, len(rest)))
            with _letters(path, form):  # in other encodings than UTF-8 each byte is a character
                data = rest + (new if form.unicode else new.decode(form.encoding).encode())
            state, row, fault = _scanned(data, len(rest), state, delimiter)
            if fault >= 0 or (state == _QUOTED and not new):
                begins = scan_rows(data, 0, _START, delimiter)[1]  # whole rows may stand before it
                raise _stray(path, lines, data[: max(begins, 0)])
            block = data[: max(row, 0)] if new else data
            if block:
                if not block.isascii():
                    with _letters(path, form):  # whole rows end between characters: a file is UTF-8 if each block is
                        block.decode()
                yield block
            if not new:
                return
            rest = data[len(block) :]
            lines += _line_ends(block)
            if len(rest) > LONGEST:
                rule = f"must have rows of at most {LONGEST >> 20} MiB; the row in line {lines + 1} is longer"
                raise ValueError(f"`{path}` {rule}. Is a quote in it never closed?")


def csv_parts(path: str, kinds: Mapping[str, Kind], form: Format, block_bytes: int = BLOCK_BYTES) -> list[Part]:
    """The one part of a file; ValueError where it is not text, or a column is missing or occurs twice."""
    header = header_of(path, form)
    check_columns(path, header.names, kinds)
    if len(header.names) == 1 and header.text[:1] in (b"\r", b"\n"):
        raise _damaged(path)  # an empty line is a row where there is one column
    with binary(path) as file:
        stamp = Stamp.of(path, header.stamped(file))
    return [Part(CsvFile(path, stamp, header, kinds, form, block_bytes).read, path, lasts=True)]


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


class _Decompressed(io.RawIOBase):
    """Bytes of a stream of Arrow; ValueError where what is compressed is damaged or cut off."""

    def __init__(self, stream: Any, path: str, codec: str) -> None:
        self._stream, self._path, self._codec = stream, path, codec

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except OSError as error:
            if error.errno is not None:  # of the disk, and not of what Arrow makes of the bytes
                raise
            message = f"`{self._path}` must be a whole file of {self._codec}; it is damaged or cut off. Write it anew."
            raise ValueError(message) from None
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def text_of(file: io.BufferedReader, path: str) -> Iterator[io.BufferedReader[Any]]:
    """The text of a CSV file that stands at its beginning: the file itself, or what it has inside."""
    codec = codec_of(file.read(BEGINNING))
    file.seek(0)
    if codec is None:
        yield file
        return
    import pyarrow as pa

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), codec) as stream:
        text = io.BufferedReader(_Decompressed(stream, path, codec), _TEXT_BYTES)
        first = text.peek(BEGINNING)
        kind = codec_of(first) or kind_of(first)
        if kind != CSV:
            raise ValueError(f"`{path}` must be CSV inside {codec}; {kind} is inside. Decompress it first.")
        yield text


def text_size(path: str, most: int) -> int:
    """Bytes of the text of a CSV file, counted until they are more than `most`: a small archive may hold a lot."""
    size = 0
    with binary(path) as file, text_of(file, path) as text:
        while size <= most and (data := text.read(_TEXT_BYTES)):
            size += len(data)
    return size


def header_of(path: str, form: Format) -> Header:
    """Read the header alone; ValueError where it is not text or not CSV, or is longer than `LONGEST`."""
    encoding = "utf-8-sig" if form.unicode else form.encoding
    read: list[str] = []

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        size = 0
        while line := text.readline(LONGEST):
            size += len(line)
            if size >= LONGEST:
                raise ValueError(f"`{path}` must have a header of less than {LONGEST >> 20} MiB; its header is longer.")
            read.append(line)
            yield line

    try:
        with _letters(path, form), binary(path) as file, text_of(file, path) as raw:
            mark = len(_MARK) if form.unicode and raw.peek(len(_MARK)).startswith(_MARK) else 0
            text = io.TextIOWrapper(raw, encoding, newline="")
            rows = csv.reader(lines(text), delimiter=form.delimiter)
            names = tuple(next((row for row in rows if row), []))
    except csv.Error as error:
        raise ValueError(f"`{path}` must be a CSV file; {error}.") from None
    header = "".join(read)
    size = mark + len(header.encode()) if form.unicode else len(header)
    return Header(names, header.encode(), size)


def _scanned(data: bytes, start: int, state: int, delimiter: int) -> tuple[int, int, int]:
    """The answer of `scan_rows`, quick where no quote stands in the data."""
    if state in (_QUOTED, _CLOSED) or data.find(b'"', start) >= 0:
        return scan_rows(data, start, state, delimiter)
    row = data.rfind(b"\n", start) + 1
    if not row:
        return scan_rows(data, start, state, delimiter)
    return scan_rows(data, row, _START, delimiter)[0], row, -1  # where only \r ends rows, later ones may be whole too


@contextlib.contextmanager
def _letters(path: str, form: Format) -> Iterator[None]:
    """Refuse what is not of the encoding."""
    try:
        yield
    except UnicodeError:
        raise form.refusal(path) from None


def _line_ends(data: bytes) -> int:
    returns = data.count(b"\r")
    return data.count(b"\n") + (returns - data.count(b"\r\n") if returns else 0)


def _stray(path: str, lines: int, above: bytes) -> ValueError:
    """The error for a quote in the row below `above`, which is below that many lines."""
    line = lines + _line_ends(above) + 1
    return ValueError(
        f"`{path}` must have quotes only around whole fields, and doubled inside them; the row in line {line} has "
        "other quotes. Write the file with a library that quotes."
    )


class Fields:
    """The fields of a file as numbers and text, and counts of faulty ones; nothing is raised before the last block."""

    def __init__(self, path: str, names: Sequence[str], kinds: Mapping[str, Kind], form: Format) -> None:
        self._path, self._names, self._kinds, self._form = path, names, kinds, form
        self._rows = self._ragged = 0
        self._first_ragged: Any = None
        self._bad: dict[str, tuple[int, int]] = {}  # column -> how many fields are no numbers, and the first's row
        self._slow: set[str] = set()  # columns of numbers that Arrow does not read by itself: true and false, mistakes

    @property
    def refused(self) -> bool:
        """Whether `tell` will raise."""
        return bool(self._ragged) or any(not self._kinds[name].replaced for name in self._bad)

    def of(self, block: bytes) -> Any:
        """The columns of some whole rows; rows with a wrong number of fields are left out."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        # A header of our own, also because Arrow would take a mark of UTF-8 away from the first field.
        header = self._form.delimiter.join(f'"{place}"' for place in range(len(self._names)))
        data = b"%b\n%b" % (header.encode(), block)
        places = [str(self._names.index(name)) for name in self._kinds]
        fields = arrow.read_csv(
            pa.BufferReader(data),
            read_options=arrow.ReadOptions(use_threads=False, block_size=len(data)),
            parse_options=arrow.ParseOptions(
                delimiter=self._form.delimiter,
                newlines_in_values=b'"' in block,
                ignore_empty_lines=len(self._names) > 1,  # with one column, an empty line is a missing value
                invalid_row_handler=self._skip,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()), include_columns=places, strings_can_be_null=False
            ),
        )
        pairs = zip(self._kinds, places, strict=True)
        table = pa.table({name: self._column(name, fields[place]) for name, place in pairs})
        self._rows += table.num_rows
        return table

    def _skip(self, row: Any) -> str:
        self._first_ragged = self._first_ragged or row
        self._ragged += 1
        return "skip"

    def _column(self, name: str, fields: Any) -> Any:
        """Text as written, or float64; null where a value is missing."""
        import pyarrow as pa
        from pyarrow import compute

        kind = self._kinds[name]
        if kind.copied:
            return fields
        spellings = [*self._form.spellings, *([""] if kind.empty else [])]
        missing = pa.array(spellings, pa.string())
        if kind.text:
            return compute.if_else(compute.is_in(fields, missing), None, fields)
        # Fields of numbers are trimmed before they are compared, so a spelling with spaces around it never matches.
        trimmed = compute.utf8_trim_whitespace(fields)
        present = compute.if_else(compute.is_in(trimmed, missing), None, trimmed)
        values = None if name in self._slow else _plain_numbers(present, self._form.decimal)
        if values is None:
            self._slow.add(name)
            values, bad = _numbers(present, self._form.decimal)
            if count := compute.sum(bad).as_py():
                before, first = self._bad.get(name, (0, self._rows + compute.index(bad, True).as_py() + 1))
                self._bad[name] = before + count, first
        return values

    def tell(self) -> None:
        """Raise for rows of a wrong length and for fields that are not numbers; warn where the bounds replace them."""
        if self._ragged:
            first = self._first_ragged
            raise ValueError(
                f"`{self._path}` must have {first.expected_columns} fields in every row; got {self._ragged} rows with "
                f"another number of fields, the first with {first.actual_columns}. Is the --delimiter right, and is "
                "text that holds it quoted?"
            )
        for name in [name for name in self._kinds if name in self._bad]:
            count, first = self._bad[name]
            fault = f"{count} of {self._rows} fields are something else, the first in row {first} below the header"
            column = f"column {name!r} of `{self._path}`"
            if not self._kinds[name].replaced:
                number = f"A number has {self._form.decimal!r} before its decimals (see --decimal)"
                raise ValueError(
                    f"{column} must hold numbers; {fault}. {number}, and nothing between thousands. Correct them, name "
                    "them with --missing if they mean a missing value, or check the column's table in the bounds."
                )
            warn(f"{column} holds numbers; {fault}. They count as missing, as the bounds say.", DataWarning)


def _plain_numbers(fields: Any, decimal: str) -> Any:
    """Values, where Arrow reads all fields as numbers by itself; None where it may not: nan(…) is NaN to it."""
    import pyarrow as pa
    from pyarrow import compute

    if decimal != "." and compute.any(compute.match_substring(fields, ".")).as_py():
        return None
    try:
        values = _cast(fields, decimal)
    except pa.ArrowInvalid:
        return None
    return None if compute.any(compute.is_nan(values)).as_py() else values


def _numbers(fields: Any, decimal: str) -> tuple[Any, Any]:
    """Values, and which fields are neither a number nor true or false."""
    from pyarrow import compute

    lower = compute.utf8_lower(fields)
    for word, number in (("true", "1"), ("false", "0")):
        fields = compute.if_else(compute.equal(lower, word), number, fields)
    good = compute.match_substring_regex(fields, _NUMBERS[decimal])
    return _cast(compute.if_else(good, fields, None), decimal), compute.invert(good)


def _cast(fields: Any, decimal: str) -> Any:
    """Text as float64; ArrowInvalid where a field is no number."""
    import pyarrow as pa
    from pyarrow import compute

    plain = fields if decimal == "." else compute.replace_substring(fields, decimal, ".")
    return plain.cast(pa.float64())
