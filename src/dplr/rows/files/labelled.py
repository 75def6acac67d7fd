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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dplr._kit.extras import optional_library
from dplr.rows.files.kinds import SPSS, STATA, Format, Kind, file_kind
from dplr.rows.files.part import Part, Stamp, batch_size, binary, check_columns

_BATCH_ROWS = 1 << 15
_TAG = b"<stata_dta>"
_STAMPED = 1 << 12  # bytes of the stamp


class _Dates(NamedTuple):
    """Formats by which a number is a date or a time, and those of them that are read as such.

    Not by the library: it fails for a whole file where one value is no date of Python's.
    """

    dated: re.Pattern[str]
    read_as: dict[str, tuple[str, ...]]
    origin: datetime.datetime


_DATES = {
    SPSS: _Dates(
        re.compile(r"([AEJS]?DATE|DATETIME|YMDHMS|D?TIME|MTIME)\d", re.IGNORECASE),
        {
            "date": ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"),
            "datetime": ("DATETIME", "YMDHMS"),
            "time": ("TIME", "DTIME"),
        },
        datetime.datetime(1582, 10, 14),
    ),
    STATA: _Dates(
        re.compile(r"%-?(t[cCd]|d)"),
        {
            "date": ("%td", "%d", "%tdD_m_Y", "%tdCCYY-NN-DD"),
            "datetime": ("%tC", "%tc"),
            "time": ("%tcHH:MM:SS", "%tcHH:MM"),
        },
        datetime.datetime(1960, 1, 1),
    ),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a dictionary.

    Attributes
    ----------
    text, date : whether its values are text; whether they are dates or times.
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

    variables: dict[str, Variable]
    rows: int | None

    @property
    def size(self) -> float:
        """Bytes of the rows with eight for each value, as a compressed file does not show them."""
        return math.inf if self.rows is None else 8.0 * self.rows * len(self.variables)


@dataclass(frozen=True, slots=True)
class LabelledFile:
    """A file of SPSS or Stata, what its columns are, and its dictionary; a batch has at most `batch_rows` rows."""

    path: str  # as it was given, for messages
    stamp: Stamp
    kinds: Mapping[str, Kind]
    form: Format
    dictionary: Dictionary
    batch_rows: int

    def read(self, columns: list[str] | None) -> Iterator[Any]:
        import pyarrow as pa

        names, rows, expected = columns or list(self.kinds), 0, self.dictionary.rows
        most = batch_size(self.batch_rows, len(names))
        with self.stamp.opened(self.path, _stamped):
            while True:
                chosen = {"usecols": names, "row_offset": rows, "row_limit": most}
                data, _ = _library(self.path, self.stamp.place, self.form, **chosen)
                count = len(data[names[0]])
                rows += count
                yield pa.RecordBatch.from_arrays([self._column(list(data[name]), name) for name in names], names)
                if count < most or rows == expected:
                    break
        if expected not in (None, rows):
            rule = f"must be a whole file; it has {rows} rows, and its dictionary says {expected}"
            raise ValueError(f"`{self.path}` {rule}. Write it anew.")

    def _column(self, values: Sequence[Any], name: str) -> Any:
        """Text or float64; null where a value is missing."""
        import pyarrow as pa

        kind, variable, spellings = self.kinds[name], self.dictionary.variables[name], self.form.spellings
        if not kind.text:
            gaps = {float(spelling) for spelling in spellings if _is_number(spelling)}
            present = [None if value in gaps else value for value in values] if gaps else values
            return pa.array(present, pa.float64(), from_pandas=True)
        missing = set() if kind.copied else {*spellings, *([""] if kind.empty else [])}
        texts = {value: text_of_value(value, variable) for value in set(values)}
        texts = {value: None if text in missing else text for value, text in texts.items()}
        return pa.array([texts[value] for value in values], pa.string())


def labelled_parts(path: str, kinds: Mapping[str, Kind], form: Format, batch_rows: int = _BATCH_ROWS) -> list[Part]:
    """The one part of a file of SPSS or Stata.

    ValueError where it is damaged, a column is missing, or holds text or dates where the bounds declare numbers.
    """
    dictionary = dictionary_of(path, form)
    check_columns(path, list(dictionary.variables), kinds)
    for name, kind in kinds.items():
        variable = dictionary.variables[name]
        if not kind.text and (variable.text or variable.date):
            got = "dates" if variable.date else "text"
            remedy = "Declare its levels in the bounds, or write it as a number."
            raise ValueError(f"column {name!r} of `{path}` must hold numbers; its dictionary says {got}. {remedy}")
    with binary(path) as opened:
        stamp = Stamp.of(path, _stamped(opened))
    file = LabelledFile(path, stamp, kinds, form, dictionary, batch_rows)
    return [Part(file.read, path, dictionary.rows, lasts=True)]


def dictionary_of(path: str, form: Format) -> Dictionary:
    """Read the dictionary alone; ValueError where the file is damaged."""
    _check_end(path)
    _, facts = _library(path, path, form, metadataonly=True, user_missing=True)
    kind, variables = file_kind(path), {}
    for name in facts.column_names:
        text = facts.readstat_variable_types[name] == "string"
        missing = facts.missing_ranges.get(name, [])  # of values of its own type
        labels = {
            value: label
            for value, label in facts.variable_value_labels.get(name, {}).items()
            if label and (text or not isinstance(value, str)) and not any(x["lo"] <= value <= x["hi"] for x in missing)
        }
        written = "" if text else facts.original_variable_types[name] or ""
        short = written.rstrip("0123456789.") if kind == SPSS else written
        read_as = next(((kind, what) for what, names in _DATES[kind].read_as.items() if short in names), None)
        variables[name] = Variable(text, _DATES[kind].dated.match(written) is not None, labels, read_as)
    rows = facts.number_rows
    return Dictionary(variables, rows if rows is not None and rows >= 0 else None)


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
    moment = _DATES[kind].origin + datetime.timedelta(int(days), int(seconds), microseconds)
    return (moment if what == "datetime" else getattr(moment, what)()).isoformat()


def _is_number(spelling: str) -> bool:
    """Whether a spelling of missing values is one that a number has as text."""
    try:
        return text_of_value(float(spelling), Variable(False, False, {})) == spelling
    except (ValueError, OverflowError):
        return False


def _check_end(path: str) -> None:
    """Refuse a file of Stata without its last tag. Labels are at the end, and the library does not miss them."""
    with binary(path) as file:
        if file.read(len(_TAG)) != _TAG:
            return
        file.seek(max(os.path.getsize(path) - len(_TAG) - 1, 0))
        if file.read() != _TAG.replace(b"<", b"</"):
            raise ValueError(f"`{path}` must be a whole file of {STATA}; its end is missing. Write it anew.")


def _stamped(file: Any) -> bytes:
    data: bytes = file.read(_STAMPED)
    return data


def _library(path: str, place: str, form: Format, **options: Any) -> Any:
    """Columns as lists, and what the dictionary says, as pyreadstat returns them."""
    pyreadstat = optional_library("pyreadstat", f"reading `{path}`", "offices")
    kind = file_kind(place)
    read = pyreadstat.read_sav if kind == SPSS else pyreadstat.read_dta
    try:
        encoding = None if form.unicode else form.encoding
        return read(place, output_format="dict", encoding=encoding, disable_datetime_conversion=True, **options)
    except MemoryError:
        raise
    except Exception as error:  # what it says may quote a value
        reason = f"; {error}" if isinstance(error, pyreadstat.ReadstatError) else ""
        raise ValueError(f"`{path}` must be a whole file of {kind}{reason}. Write it anew, or as CSV.") from None
