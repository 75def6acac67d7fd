"""The header of a CSV file, and its rows in blocks of whole rows, with quotes that stand around whole fields."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from dplr._core import scan_rows
from dplr.rows.files.compressed import text_of
from dplr.rows.files.kinds import Format

LONGEST = 1 << 26  # bytes of a row: a quote that is never closed would take the file into memory
_MARK = b"\xef\xbb\xbf"  # the byte order mark, which some programs write before UTF-8
_START, _QUOTED, _CLOSED, _RETURNED = 0, 2, 3, 4  # states of `scan_rows`


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
        with open(path, "rb") as file, text_of(file, path) as raw:
            mark = len(_MARK) if form.unicode and raw.peek(len(_MARK)).startswith(_MARK) else 0
            text = io.TextIOWrapper(raw, encoding, newline="")
            rows = csv.reader(lines(text), delimiter=form.delimiter)
            names = tuple(next((row for row in rows if row), []))
    except UnicodeError:
        raise form.refusal(path) from None
    except csv.Error as error:
        raise ValueError(f"`{path}` must be a CSV file; {error}.") from None
    header = "".join(read)
    size = mark + len(header.encode()) if form.unicode else len(header)
    return Header(names, header.encode(), size)


def blocks(file: IO[bytes], path: str, header: Header, form: Format, size: int) -> Iterator[bytes]:
    """Whole rows below the header as UTF-8, read `size` bytes at a time; `file`, its text, stands behind the header.

    Quotes anywhere except around whole fields are refused, though readers of CSV accept them: one could turn all rows
    below it into a single field.
    Where quotes only open, close, or stand doubled in a field, a line ends inside a field exactly if an odd number of
    them stands before. Well-written rows have an even number. So below an odd row every line, the last one too, ends
    inside a field, and that is refused; below any other row all is read as it would be without that row. What was
    read of the rows above a refused one is never released: sums end before noise is drawn.

    Raises
    ------
    ValueError
        A quote stands elsewhere, a row is longer than `LONGEST`, or a character is none of the encoding.
    """
    delimiter = ord(form.delimiter)
    state, row, fault = scan_rows(header.text, 0, _START, delimiter)
    if fault >= 0 or state == _QUOTED:
        raise _stray(path, 0, header.text[: max(row, 0)])
    rest, state, lines = b"", _START, _line_ends(header.text)
    while True:
        new = file.read(max(size, len(rest)))
        data = rest + _utf_8(new, path, form)
        state, row, fault = _scanned(data, len(rest), state, delimiter)
        if fault >= 0 or (state == _QUOTED and not new):
            begins = scan_rows(data, 0, _START, delimiter)[1]  # whole rows may stand before it
            raise _stray(path, lines, data[: max(begins, 0)])
        block = data[: max(row, 0)] if new else data
        if block:
            _check_unicode(block, path, form)
            yield block
        if not new:
            return
        rest = data[len(block) :]
        lines += _line_ends(block)
        if len(rest) > LONGEST:
            rule = f"must have rows of at most {LONGEST >> 20} MiB; the row in line {lines + 1} is longer"
            raise ValueError(f"`{path}` {rule}. Is a quote in it never closed?")


def _scanned(data: bytes, start: int, state: int, delimiter: int) -> tuple[int, int, int]:
    """The answer of `scan_rows`, quick where no quote stands in the data."""
    if state in (_QUOTED, _CLOSED) or data.find(b'"', start) >= 0:
        return scan_rows(data, start, state, delimiter)
    row = data.rfind(b"\n", start) + 1
    if not row:
        return scan_rows(data, start, state, delimiter)
    return scan_rows(data, row, _START, delimiter)[0], row, -1  # where only \r ends rows, later ones may be whole too


def _utf_8(data: bytes, path: str, form: Format) -> bytes:
    """A block in UTF-8; in other encodings each byte is a character."""
    if form.unicode:
        return data
    try:
        return data.decode(form.encoding).encode()
    except UnicodeError:
        raise form.refusal(path) from None


def _check_unicode(data: bytes, path: str, form: Format) -> None:
    """Refuse a block that is not UTF-8. Whole rows end between characters, so the file is valid if each block is."""
    try:
        if form.unicode and not data.isascii():
            data.decode()
    except UnicodeError:
        raise form.refusal(path) from None


def _line_ends(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _stray(path: str, lines: int, above: bytes) -> ValueError:
    """The error for a quote in the row below `above`, which is below that many lines."""
    line = lines + _line_ends(above) + 1
    return ValueError(
        f"`{path}` must have quotes only around whole fields, and doubled inside them; the row in line {line} has "
        "other quotes. Write the file with a library that quotes."
    )
