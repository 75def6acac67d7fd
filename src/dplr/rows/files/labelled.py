"""Files of SPSS and Stata: a dictionary of variables, which is read without a row, and rows in bounded memory.

Where the bounds declare numbers, a variable is read as its codes; where they declare text, as its value labels. Each
value is read by itself, with the dictionary and the bounds alone.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dplr._kit.extras import optional_library
from dplr.rows.files.beginnings import SPSS, STATA, file_kind
from dplr.rows.files.columns import check_columns
from dplr.rows.files.kinds import Format, Kind
from dplr.rows.files.parquet import batch_size
from dplr.rows.files.stamp import Stamp, missing_file

_BATCH_ROWS = 1 << 15
_TAG = b"<stata_dta>"
_BEGINNING = 1 << 12  # bytes of the stamp
# Formats by which a number is a date or a time, and those of them that are read as such. Not by the library: it fails
# for a whole file where one value is no date of Python's.
_DATE = {
    SPSS: re.compile(r"([AEJS]?DATE|DATETIME|YMDHMS|D?TIME|MTIME)\d", re.IGNORECASE),
    STATA: re.compile(r"%-?(t[cCd]|d)"),
}
_DAYS = {
    SPSS: ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"), STATA: ("%td", "%d", "%tdD_m_Y", "%tdCCYY-NN-DD"),
}  # fmt: skip
_MOMENTS = {SPSS: ("DATETIME", "YMDHMS"), STATA: ("%tC", "%tc")}
_TIMES = {SPSS: ("TIME", "DTIME"), STATA: ("%tcHH:MM:SS", "%tcHH:MM")}
_ORIGINS = {SPSS: datetime.datetime(1582, 10, 14), STATA: datetime.datetime(1960, 1, 1)}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a dictionary.

    Attributes
    ----------
    text : whether its values are text.
    date : whether they are dates or times.
    labels : value -> label, of all values that are not declared as missing.
    read_as : the kind of its file, and "date", "datetime" or "time"; None where its numbers are read as numbers.
    """

    text: bool
    date: bool
    labels: dict[Any, str]
    read_as: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The variables of a file, in its order, and the number of its rows; None where the file does not say it."""

    variables: tuple[tuple[str, Variable], ...]
    rows: int | None

    @property
    def size(self) -> float:
        """Bytes of the rows with eight for each value, as a compressed file does not show them."""
        return math.inf if self.rows is None else 8.0 * self.rows * len(self.variables)


@dataclass(frozen=True, slots=True)
class LabelledPart:
    """A file of SPSS or Stata, the columns to read from it, and their kinds; no file is open.

    Attributes
    ----------
    path : the file as it was named, for messages.
    stamp : place, size, time and hash of the beginning of the file, checked whenever it is read.
    kinds : names and kinds of the columns, in the order in which they are read.
    variables : what the dictionary says of each.
    form : which texts mean missing values, and the encoding if it is not UTF-8.
    rows : how many there are by the dictionary; None where it does not say it.
    batch_rows : the most rows of a batch.
    """

    path: str
    stamp: Stamp
    kinds: tuple[tuple[str, Kind], ...]
    variables: tuple[Variable, ...]
    form: Format
    rows: int | None
    batch_rows: int = _BATCH_ROWS

    @property
    def identity(self) -> str:
        """The file and how it is read: the same text means the same rows."""
        return f"{self.stamp.text} {list(self.kinds)} {self.form}"

    def chosen(self, columns: Sequence[str]) -> LabelledPart:
        """The part with these columns alone."""
        kinds, variables = dict(self.kinds), dict(zip(dict(self.kinds), self.variables, strict=True))
        pairs = tuple((name, kinds[name]) for name in columns)
        return replace(self, kinds=pairs, variables=tuple(variables[name] for name in columns))

    def batches(self) -> Iterator[Any]:
        """Record batches; ValueError where the file is not what it was, or is damaged."""
        import pyarrow as pa

        names = [name for name, _ in self.kinds]
        most, rows = batch_size(self.batch_rows, len(names)), 0
        try:
            self.stamp.check(self.path, _beginning(self.stamp.place))
        except FileNotFoundError:
            raise missing_file(self.path) from None
        while True:
            data, _ = _library(self.path, self.stamp.place, self.form, usecols=names, row_offset=rows, row_limit=most)
            count = len(data[names[0]])
            rows += count
            columns = [self._column(list(data[name]), place) for place, name in enumerate(names)]
            yield pa.RecordBatch.from_arrays(columns, names)
            if count < most or rows == self.rows:
                break
        self.stamp.check(self.path)
        if self.rows not in (None, rows):
            rule = f"must be a whole file; it has {rows} rows, and its dictionary says {self.rows}"
            raise ValueError(f"`{self.path}` {rule}. Write it anew.")

    def _column(self, values: Sequence[Any], place: int) -> Any:
        """Text or float64; null where a value is missing."""
        import pyarrow as pa

        (_, kind), variable, spellings = self.kinds[place], self.variables[place], self.form.spellings
        if not kind.text:
            gaps = {float(spelling) for spelling in spellings if _is_number(spelling)}
            present = [None if value in gaps else value for value in values] if gaps else values
            return pa.array(present, pa.float64(), from_pandas=True)
        missing = set() if kind.copied else {*spellings, *([""] if kind.empty else [])}
        texts = {value: text_of_value(value, variable) for value in set(values)}
        texts = {value: None if text in missing else text for value, text in texts.items()}
        return pa.array([texts[value] for value in values], pa.string())


def labelled_parts(path: str, kinds: Mapping[str, Kind], form: Format) -> list[LabelledPart]:
    """The one part of a file of SPSS or Stata.

    Raises
    ------
    ValueError
        The file is damaged, a column is missing, or holds text or dates where the bounds declare numbers.
    """
    dictionary = dictionary_of(path, form)
    variables = dict(dictionary.variables)
    check_columns(path, [name for name, _ in dictionary.variables], kinds)
    for name, kind in kinds.items():
        if not kind.text and (variables[name].text or variables[name].date):
            got = "dates" if variables[name].date else "text"
            remedy = "Declare its levels in the bounds, or write it as a number."
            raise ValueError(f"column {name!r} of `{path}` must hold numbers; its dictionary says {got}. {remedy}")
    stamp = Stamp.of(path, _beginning(path))
    columns = tuple(variables[name] for name in kinds)
    return [LabelledPart(path, stamp, tuple(kinds.items()), columns, form, dictionary.rows)]


def dictionary_of(path: str, form: Format) -> Dictionary:
    """Read the dictionary alone; ValueError where the file is damaged."""
    _check_end(path)
    _, facts = _library(path, path, form, metadataonly=True, user_missing=True)
    kind = file_kind(path)
    variables = []
    for name in facts.column_names:
        text = facts.readstat_variable_types[name] == "string"
        ranges = facts.missing_ranges.get(name, [])
        labels = {
            value: label
            for value, label in facts.variable_value_labels.get(name, {}).items()
            if label and (text or not isinstance(value, str)) and not any(_within(value, limits) for limits in ranges)
        }
        written = "" if text else facts.original_variable_types[name] or ""
        is_date = _DATE[kind].match(written) is not None
        variables.append((name, Variable(text, is_date, labels, _read_as(kind, written))))
    rows = facts.number_rows
    return Dictionary(tuple(variables), rows if rows is not None and rows >= 0 else None)


def text_of_value(value: Any, variable: Variable) -> str | None:
    """The label of a value; text as it is, a number without a point where it is whole, a date as ISO 8601.

    A number that is no date of Python's, such as one beyond the year 9999, stays a number.
    """
    if value is None or value != value:
        return None
    if value in variable.labels:
        return variable.labels[value]
    if isinstance(value, str):
        return value
    if variable.read_as is not None:
        with contextlib.suppress(OverflowError):
            return _moment(float(value), *variable.read_as)
    if isinstance(value, (int, float)):
        return str(int(value)) if float(value).is_integer() else repr(value)
    return str(value)


def _read_as(kind: str, written: str) -> tuple[str, str] | None:
    """What a format makes of a number, for a kind of files."""
    name = written.rstrip("0123456789.") if kind == SPSS else written
    for what, names in (("date", _DAYS), ("datetime", _MOMENTS), ("time", _TIMES)):
        if name in names[kind]:
            return kind, what
    return None


def _moment(value: float, kind: str, what: str) -> str:
    """A number as a date or time in ISO 8601: seconds in SPSS; in Stata days, or milliseconds where there is a time."""
    if kind == SPSS:
        days, seconds = divmod(value, 86_400)
        microseconds = 0 if what == "date" else round(value % 1 * 1e6)
    elif what == "date":
        days, seconds, microseconds = value, 0.0, 0
    else:
        days, milliseconds = divmod(value, 86_400_000)
        seconds, microseconds = milliseconds / 1000, int(milliseconds % 1000 * 1000)
    moment = _ORIGINS[kind] + datetime.timedelta(int(days), int(seconds), microseconds)
    return (moment if what == "datetime" else getattr(moment, what)()).isoformat()


def _is_number(spelling: str) -> bool:
    """Whether a spelling of missing values is one that a number has as text."""
    try:
        return text_of_value(float(spelling), Variable(False, False, {})) == spelling
    except (ValueError, OverflowError):
        return False


def _within(value: Any, limits: Mapping[str, Any]) -> bool:
    """Whether a value lies in a range of missing values, which are of its own type."""
    return bool(limits["lo"] <= value <= limits["hi"])


def _check_end(path: str) -> None:
    """Refuse a file of Stata without its last tag. Labels are at the end, and the library does not miss them."""
    with open(path, "rb") as file:
        if file.read(len(_TAG)) != _TAG:
            return
        file.seek(max(os.path.getsize(path) - len(_TAG) - 1, 0))
        if file.read() != _TAG.replace(b"<", b"</"):
            raise ValueError(f"`{path}` must be a whole file of {STATA}; its end is missing. Write it anew.")


def _beginning(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_BEGINNING)


def _library(path: str, place: str, form: Format, **options: Any) -> Any:
    """Columns as lists, and what the dictionary says, as pyreadstat returns them."""
    pyreadstat = optional_library("pyreadstat", f"reading `{path}`", "offices")
    kind = file_kind(place)
    read: Callable[..., Any] = pyreadstat.read_sav if kind == SPSS else pyreadstat.read_dta
    try:
        return read(os.fspath(place), output_format="dict", encoding=None if form.unicode else form.encoding,
                    disable_datetime_conversion=True, **options)  # fmt: skip
    except MemoryError:
        raise
    except Exception as error:  # what it says may quote a value
        reason = f"; {error}" if isinstance(error, pyreadstat.ReadstatError) else ""
        raise ValueError(f"`{path}` must be a whole file of {kind}{reason}. Write it anew, or as CSV.") from None
