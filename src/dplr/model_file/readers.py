"""Readers of plain values, from which the tables of a model file are built: each takes a place and a value.

A reader returns the value, typed, or raises `ModelFileError` with the place, the rule and what it got.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.model_file.strict_json import refuse

Reader = Callable[[str, Any], Any]

_LONGEST_TEXT = 2**20
MOST_ROOM = 2**24  # characters, where each of several texts takes the room of the longest
INFINITE = "inf"  # JSON has no number for it


def text(where: str, value: Any) -> str:
    """Text that UTF-8 can write."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        refuse(where, "must be text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(where, "must be text that UTF-8 can write", value)
    return value


def flag(where: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        refuse(where, "must be true or false", value)
    return value


def integer(low: int, high: int) -> Reader:
    """An integer in [low, high]."""

    def read(where: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            refuse(where, f"must be an integer from {low} to {_short(high)}", value)
        return value

    return read


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Reader:
    """A finite number in [low, high]; `above` leaves `low` itself out."""

    def read(where: str, value: Any) -> float:
        if type(value) is not float:
            refuse(where, "must be a number with a point or an exponent", value)
        if not low <= value <= high or (above and value == low):
            refuse(where, f"must be {'above' if above else 'at least'} {low:g} and at most {high:g}", value)
        return value

    return read


def or_infinite(reader: Reader) -> Reader:
    """A number, or the word "inf"."""
    return lambda where, value: math.inf if value == INFINITE else reader(where, value)


def either(word: object, reader: Reader) -> Reader:
    """One word (or null), or what the reader reads."""
    return lambda where, value: value if value is word or (word is not None and value == word) else reader(where, value)


def choice(*words: str) -> Reader:
    """One of a few words."""

    def read(where: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            refuse(where, f"must be one of {', '.join(words)}", value)
        return value

    return read


def label(where: str, value: Any) -> bool | int | float | str:
    """A label: boolean, integer, number or text."""
    if isinstance(value, str):
        return text(where, value)
    if not isinstance(value, (bool, int, float)) or not -(2**63) <= value < 2**64:
        refuse(where, "must be a label: true, false, a number or text", value)
    return value


def list_of(reader: Reader, least: int = 0, most: int = 2**26) -> Reader:
    """A list of what the reader reads."""

    def read(where: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            refuse(where, f"must be a list of {_count(least, most)} entries", value)
        return [reader(f"{where}[{k}]", entry) for k, entry in enumerate(value)]

    return read


def label_list(least: int = 0, most: int = 2**26) -> Reader:
    """A list of labels, not too much for an array of text."""
    every = list_of(label, least, most)

    def read(where: str, value: Any) -> list[Any]:
        read: list[Any] = every(where, value)
        check_room(where, read, len(read))
        return read

    return read


def check_room(where: str, texts: Iterable[Any], count: int) -> None:
    """Refuse a small file that would take much memory: `count` texts, each as long as the longest of these."""
    longest = max((len(entry) for entry in texts if isinstance(entry, str)), default=0)
    if longest * count > MOST_ROOM:
        refuse(where, f"must take at most {MOST_ROOM} characters", f"{count} texts of up to {longest}")


def table(fields: Mapping[str, Reader]) -> Reader:
    """A table with exactly these keys."""

    def read(where: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            refuse(where, "must be a table", value)
        for key in value:
            if key not in fields:
                refuse(where, f"must have no key but {', '.join(fields)}", key)
        for key in fields:
            if key not in value:
                refuse(f"{where}.{key}", "is required", "nothing")
        return {key: reader(f"{where}.{key}", value[key]) for key, reader in fields.items()}

    return read


def array(where: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Nested lists of finite numbers as a read-only array of this shape."""
    read = np.array(_numbers(where, value, shape), dtype=np.float64).reshape(shape)
    read.flags.writeable = False
    return read


def _numbers(where: str, value: Any, shape: tuple[int, ...]) -> list[Any]:
    if not isinstance(value, list) or len(value) != shape[0]:
        refuse(where, f"must be a list of {shape[0]} entries", value)
    if len(shape) > 1:
        return [_numbers(f"{where}[{k}]", entry, shape[1:]) for k, entry in enumerate(value)]
    if any(type(entry) is not float for entry in value):
        k, entry = next((k, entry) for k, entry in enumerate(value) if type(entry) is not float)
        refuse(f"{where}[{k}]", "must be a number with a point or an exponent", entry)
    return value


def anything(where: str, value: Any) -> Any:
    """Any value; another reader checks it."""
    return value


def _short(high: int) -> str:
    return str(high) if high < 10**20 else f"2^{high.bit_length() - 1}"


def _count(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
