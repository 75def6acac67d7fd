"""A plain reader of CSV: the whole text at once, quotes by a regular expression, fields by the csv module."""

import csv
import io
import re

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)


class Refused(Exception):
    """What is wrong, in a word."""


def read(data, kinds, delimiter=",", spellings=(), decimal="."):
    """Name -> values of the columns of UTF-8 `data`, (what is no number per column); Refused for other files."""
    text = decoded(data)
    names, *rows = well_quoted(text, delimiter) or [[]]
    if any(name not in names for name in kinds):
        raise Refused("column")
    if any(len(row) != len(names) for row in rows):
        raise Refused("fields")
    found, bad = {}, {}
    for name, kind in kinds.items():
        fields = [row[names.index(name)] for row in rows]
        missing = set() if kind.copied else {*spellings, *([""] if kind.empty else [])}
        if kind.text:
            found[name] = [None if field in missing else field for field in fields]
            continue
        found[name], bad[name] = [], []
        for place, field in enumerate(fields, 1):
            value = number(field.strip(), missing, decimal)
            if value == "bad":
                bad[name].append(place)
            found[name].append(None if value == "bad" else value)
        if bad[name] and not kind.replaced:
            raise Refused("numbers")
    return found, bad


def decoded(data):
    try:
        return data.decode("utf-8-sig")
    except UnicodeError:
        raise Refused("encoding") from None


def number(field, missing, decimal="."):
    """The value of a field, None where it is missing, "bad" for no number."""
    if field in missing:
        return None
    field = {"true": "1", "false": "0"}.get(field.lower(), field)
    if decimal != ".":
        field = "bad" if "." in field else field.replace(decimal, ".")
    return float(field) if NUMBER.fullmatch(field) else "bad"


def well_quoted(text, delimiter):
    """The rows, if quotes stand around whole fields alone; empty lines are rows where there is one column."""
    field = rf'(?:[^"{re.escape(delimiter)}\r\n]*|"(?:[^"]|"")*")'
    row = re.compile(rf"{field}(?:{re.escape(delimiter)}{field})*(?:\r\n|\r|\n|\Z)")
    place = 0
    while place < len(text):
        match = row.match(text, place)
        if not match:
            raise Refused("quotes")
        place = match.end()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    first = next((place for place, row in enumerate(rows) if row), len(rows))
    alone = first < len(rows) and len(rows[first]) == 1
    return [row or [""] for row in rows[first:] if row or alone]
