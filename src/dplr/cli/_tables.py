"""CSV and Parquet as Arrow tables. The bounds say what a column of a CSV file holds; its values never do."""

from __future__ import annotations

import codecs
import contextlib
import csv
import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from dplr._validation import sentence
from dplr._warnings import DataWarning, warn

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"
# Encodings in which every byte is a character by itself. In others a record that ends in the middle of a character, or
# in an escape that is still open, may change how the next one is read.
_PAGES = (
    *(37, 273, 424, 437, 500, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869),
    *(874, 875, 1006, 1026, 1125, 1140, *range(1250, 1259)),
)
_MAC = ("arabic", "croatian", "cyrillic", "farsi", "greek", "iceland", "latin2", "roman", "romanian", "turkish")
_SINGLE_BYTE = {
    *("ascii", "hp-roman8", "koi8-r", "koi8-t", "koi8-u", "kz1048", "palmos", "ptcp154", "tis-620"),
    *(f"cp{page:03}" for page in _PAGES),
    *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    *(f"mac-{script}" for script in _MAC),
}
_UTF_8 = ("utf-8", "utf-8-sig")  # a damaged character is an error; the mark is before the header


@dataclass(frozen=True, slots=True)
class Kind:
    """What the fields of a CSV column are.

    Attributes
    ----------
    text : whether they stay as they are written; else they are numbers.
    empty : whether an empty field is missing.
    replaced : whether the bounds say what a missing value counts as.
    """

    text: bool
    empty: bool = True
    replaced: bool = False


NUMBER, AS_WRITTEN = Kind(text=False), Kind(text=True, empty=False)


@dataclass(frozen=True, slots=True)
class Format:
    """How a CSV file is written."""

    encoding: str = "utf-8"
    delimiter: str = ","
    spellings: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse what no file can have, and encodings in which one record may change how another is read."""
        if _codec(self.encoding) not in (*_UTF_8, *_SINGLE_BYTE):
            rule = "must be UTF-8, or one in which every byte is a character by itself, such as latin-1"
            remedy = "Convert the file to UTF-8 first, such as with iconv."
            raise ValueError(sentence("encoding", rule, self.encoding, remedy))
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise ValueError(sentence("delimiter", "must be one character", self.delimiter))


def _codec(name: str) -> str:
    """Python's own name of an encoding; empty for what it does not know."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):  # a name with a zero byte
        return ""


def feature_kinds(bounds: Bounds) -> dict[str, Kind]:
    """What each declared column of a CSV file holds."""
    from dplr.bounds.columns import Levels

    if bounds.names is None:
        remedy = "Write a table [features.NAME] for each: on the command line names find the columns."
        raise ValueError(sentence("bounds", "must name the columns", "columns by position", remedy))
    kinds = {}
    for name, column in zip(bounds.names, bounds.columns, strict=True):
        levels = column.levels if isinstance(column, Levels) else ()
        text = bool(levels) and isinstance(levels[0], str)
        kinds[name] = Kind(text, "" not in levels, column.missing is not None)
    return kinds


def target_kind(bounds: Bounds, classifier: bool) -> Kind:
    """What the target of a CSV file holds; a classifier's must be declared."""
    pair = bounds.target_pair() if not classifier else None
    classes = bounds.target_classes() if classifier else None
    if classifier and classes is None:
        remedy = "Add a table [target] with classes or a threshold: labels are never read from the private rows."
        raise ValueError(sentence("bounds", "must declare the target of a classifier", pair, remedy))
    text = classes is not None and isinstance(classes[0], str)
    return Kind(text, classes is None or "" not in classes)


def read_table(path: str, kinds: Mapping[str, Kind], form: Format) -> Any:
    """The columns of `kinds`, in their order, as an Arrow table: nothing else of the file is kept.

    Raises
    ------
    ValueError
        The file is neither CSV nor Parquet, a column is missing or occurs twice, or a field is not a number.
    OSError
        The file cannot be read.
    """
    try:
        table = _parquet(path, list(kinds)) if _is_parquet(path) else _csv(path, kinds, form)
    except ModuleNotFoundError:
        raise ModuleNotFoundError('reading files needs pyarrow. Install it with: pip install "dplr[cli]"') from None
    if not table.num_rows:
        raise ValueError(f"`{path}` must have at least one row below its header; got none.")
    return table


def column_types(path: str, form: Format) -> dict[str, str]:
    """Name -> "number", "text" or "unknown" of every column, as the file declares it: no row is read."""
    if not _is_parquet(path):
        header = _header(path, form)
        _check_header(path, header, header)
        return dict.fromkeys(header, "unknown")
    import pyarrow as pa
    from pyarrow import parquet, types

    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"`{path}` must be a whole Parquet file; {_first_line(error)}") from None
    found = {}
    for each in schema:
        number = types.is_integer(each.type) or types.is_floating(each.type) or types.is_decimal(each.type)
        text = types.is_string(each.type) or types.is_large_string(each.type) or types.is_dictionary(each.type)
        found[each.name] = "number" if number else "text" if text else "unknown"
    return found


def _is_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def parquet_of(columns: Mapping[str, Any]) -> bytes:
    """The columns as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(dict(columns)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _parquet(path: str, names: list[str]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        _check_header(path, file.schema_arrow.names, names)
        return file.read(columns=names).select(names)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"`{path}` must be a whole Parquet file; {_first_line(error)}") from None


def _csv(path: str, kinds: Mapping[str, Kind], form: Format) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    header = _header(path, form)
    _check_header(path, header, kinds)
    _check_quotes(path, form)
    ragged: list[Any] = []

    def mark(row: Any) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = arrow.read_csv(
            path,
            read_options=arrow.ReadOptions(use_threads=False, encoding=form.encoding),
            parse_options=arrow.ParseOptions(
                delimiter=form.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,  # the row of a missing value, where there is one column
                invalid_row_handler=mark,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(kinds, pa.string()), include_columns=list(kinds), strings_can_be_null=False
            ),
        )
    except (pa.ArrowException, UnicodeError) as error:  # its text may quote private fields
        if isinstance(error, UnicodeError) or "UTF8" in str(error):
            raise ValueError(_encoding_fault(path, form)) from None
        raise ValueError(f"`{path}` must be a CSV file or a Parquet file; its quotes or lines are damaged.") from None
    if ragged:
        first = ragged[0]
        found = f"{len(ragged)} rows with another number of fields, the first with {first.actual_columns}"
        remedy = "Is the --delimiter right, and is text that holds it quoted?"
        raise ValueError(f"`{path}` must have {first.expected_columns} fields in every row; got {found}. {remedy}")
    columns = [_typed(path, name, table[name], kind, form.spellings) for name, kind in kinds.items()]
    return pa.table(dict(zip(kinds, columns, strict=True)))


def _header(path: str, form: Format) -> list[str]:
    """The first row. Arrow itself would not mind a name that is there twice."""
    try:
        with _opened(path, form) as file:
            return next((row for row in csv.reader(file, delimiter=form.delimiter) if row), [])
    except csv.Error as error:
        raise ValueError(f"`{path}` must be a CSV file or a Parquet file; {error}.") from None


def _check_quotes(path: str, form: Format) -> None:
    """Refuse quotes but around whole fields, which readers of CSV let pass: one could swallow the rows below it.

    Where quotes only open, close, or stand doubled in a field, a line ends inside a field exactly if an odd number of
    them stands before. Well-written rows have an even number. So below an odd row every line, the last one too, ends
    inside a field, and that is refused; below any other row all is read as it would be without that row.
    """
    between = re.escape(form.delimiter)
    field = rf'(?:[^"{between}\r\n]*|"[^"]*(?:""[^"]*)*")'
    row = re.compile(rf"{field}(?:{between}{field})*[\r\n]*")
    held: list[str] = []
    first, inside = 0, False
    with _opened(path, form) as file:
        for number, line in enumerate(file, 1):
            if not inside and '"' not in line:
                continue
            first = first if held else number
            held.append(line)
            inside ^= line.count('"') % 2 == 1
            if not inside:
                if not row.fullmatch("".join(held)):
                    break
                held = []
    if held:
        raise ValueError(
            f"`{path}` must have quotes only around whole fields, and doubled inside them; the row in line {first} has "
            "others. Write the file with a library that quotes."
        )


@contextlib.contextmanager
def _opened(path: str, form: Format) -> Iterator[TextIO]:
    """The text of a file, lines ended as they are, without the mark that some programs put before UTF-8."""
    encoding = "utf-8-sig" if _codec(form.encoding) in _UTF_8 else form.encoding
    try:
        with open(path, encoding=encoding, newline="") as file:
            yield file
    except UnicodeError:
        raise ValueError(_encoding_fault(path, form)) from None


def _check_header(path: str, header: Sequence[str], wanted: Collection[str]) -> None:
    missing = [name for name in wanted if name not in header]
    if missing:
        listed = ", ".join(header[:12]) + (", …" if len(header) > 12 else "")
        close = difflib.get_close_matches(missing[0], header, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        absent = ", ".join(missing[:12])
        raise ValueError(f"`{path}` must have a column for {absent}; its header has {listed or 'nothing'}.{hint}")
    twice = [name for name in wanted if list(header).count(name) > 1]
    if twice:
        raise ValueError(f"`{path}` must have every column once; {', '.join(twice)} is there twice.")


def _typed(path: str, name: str, fields: Any, kind: Kind, spellings: Sequence[str]) -> Any:
    """Text as written, or float64; null where a value is missing."""
    import pyarrow as pa
    from pyarrow import compute

    if kind is AS_WRITTEN:
        return fields
    missing = pa.array([*spellings, *([""] if kind.empty else [])], pa.string())
    if kind.text:
        return compute.if_else(compute.is_in(fields, missing), None, fields)
    trimmed = compute.utf8_trim_whitespace(fields)
    gap = compute.is_in(trimmed, missing)
    lower = compute.utf8_lower(trimmed)
    trimmed = compute.if_else(compute.equal(lower, "true"), "1", trimmed)
    trimmed = compute.if_else(compute.equal(lower, "false"), "0", trimmed)
    good = compute.match_substring_regex(trimmed, _NUMBER)
    bad = compute.and_(compute.invert(good), compute.invert(gap))
    _tell(path, name, bad, kind)
    return compute.if_else(compute.and_(good, compute.invert(gap)), trimmed, None).cast(pa.float64())


def _tell(path: str, name: str, bad: Any, kind: Kind) -> None:
    """Non-numeric fields: treated as missing if the bounds say how to treat missing values, otherwise refused."""
    from pyarrow import compute

    count = compute.sum(bad).as_py()
    if not count:
        return
    first = compute.index(bad, True).as_py() + 1
    found = f"{count} of {len(bad)} fields are something else, the first in row {first} below the header"
    if kind.replaced:
        message = f"column {name!r} of `{path}` holds numbers; {found}. They count as missing, as the bounds say."
        warn(message, DataWarning)
        return
    raise ValueError(
        f"column {name!r} of `{path}` must hold numbers; {found}. Correct them, name them with --missing if they "
        "mean a missing value, or check the column's table in the bounds."
    )


def _encoding_fault(path: str, form: Format) -> str:
    return f"`{path}` must be a Parquet file, or CSV in {form.encoding}; it is neither. Is it in another --encoding?"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
