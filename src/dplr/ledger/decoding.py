"""Values of a ledger's file, as they are read: each has its type, its range and its words, or the file is damaged.

SQLite holds a value of any type in any column, and a disk or an editor may change one. What no ledger ever wrote is
never guessed at: an entry whose state or cost cannot be read would count as nothing.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import sqlite3
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from dplr._kit.validation import LARGEST_EPS, describe
from dplr.ledger.entries import STATES, Entry, Terms
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.rules import RULES, Cost, Guarantee

Value = TypeVar("Value")
_GUARANTEES = {kind.__name__: kind for kind in (Pure, Gaussian, Poisson, Approx)}
_MOST_COUNT = 2**63 - 1


class Damaged(ValueError):
    """A value that no ledger writes: its place in the file, its column, the rule, and what is there."""

    def __init__(self, place: str, column: str, rule: str, got: str) -> None:
        super().__init__(f"{place} is damaged: `{column}` {rule}; got {got}")


class _Broken(ValueError):
    """The rule that a value breaks."""


class Fields:
    """The values of one row of a table, by their columns.

    Parameters
    ----------
    place : the row in words, such as "entry 3".
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def read(self, column: str, value: Any, decode: Callable[[Any], Value]) -> Value:
        """The value; Damaged where it cannot be one of that column."""
        try:
            return decode(value)
        except _Broken as error:
            raise Damaged(self._place, column, str(error), describe(value)) from None

    def secret(self, column: str, value: Any, decode: Callable[[Any], Value]) -> Value:
        """As `read`, for a value that no message shows."""
        try:
            return decode(value)
        except _Broken as error:
            raise Damaged(self._place, column, str(error), f"a {type(value).__name__} that is not shown") from None

    def cost(self, eps: Any, delta: Any, guarantee: Any, draws: Any) -> Cost:
        """The cost of an entry."""
        return Cost(
            self.read("eps", eps, eps_of),
            self.read("delta", delta, delta_of),
            self.read("guarantee", guarantee, _guarantee),
            self.read("draws", draws, _count),
        )


def as_text(data: bytes) -> str:
    """A text as SQLite holds it; bytes that are not UTF-8 become lone surrogates, which `text_of` refuses."""
    return data.decode("utf-8", "surrogateescape")


def text_of(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise _Broken("must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Broken("must be a text in UTF-8") from None
    return value


def optional(decode: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    """A decoder that takes NULL too."""
    return lambda value: None if value is None else decode(value)


def word_of(words: Collection[str]) -> Callable[[Any], str]:
    """One of these words."""

    def decode(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise _Broken(f"must be one of {', '.join(map(repr, words))}")
        return value

    return decode


state_of: Callable[[Any], str] = word_of(STATES)
_composition_of = word_of(RULES)
_relation_of = word_of([str(kind) for kind in Neighbouring])
optional_text_of: Callable[[Any], str | None] = optional(text_of)


def token_of(value: Any) -> str:
    """A random name of 32 hexadecimal digits."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{32}", value):
        raise _Broken("must be 32 hexadecimal digits")
    return value


def eps_of(value: Any) -> float:
    """A loss that a ledger can count."""
    if not _is_number(value) or not 0 <= value <= LARGEST_EPS:
        raise _Broken(f"must be a number in [0, {LARGEST_EPS:g}]")
    return float(value)


def delta_of(value: Any) -> float:
    """A delta."""
    if not _is_number(value) or not 0 <= value < 1:
        raise _Broken("must be a number in [0, 1)")
    return float(value)


def time_of(value: Any) -> str:
    """A time, or a day."""
    text = text_of(value)
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        raise _Broken("must be a time") from None
    return text


_optional_time_of = optional(time_of)


def bytes_of(value: Any) -> bytes:
    """Bytes, such as a file."""
    if not isinstance(value, bytes):
        raise _Broken("must be bytes")
    return value


def guarantee_of(text: str) -> Guarantee:
    """The guarantee that a text holds."""
    return _guarantee(text)


def statement_of(value: Any) -> dict[str, Any]:
    """The plain values of a statement."""
    fields = _object(value)
    texts = all(isinstance(fields.get(name), str) for name in ("mechanism", "neighbouring"))
    numbers = all(_is_number(fields.get(name)) for name in ("eps", "delta"))
    if not texts or not numbers or not isinstance(fields.get("guarantee"), dict):
        raise _Broken("must have mechanism, neighbouring, eps, delta and guarantee")
    return fields


@functools.lru_cache(maxsize=64, typed=True)  # every step of a fit reads them again
def terms_in(name: Any, eps: Any, delta: Any, composition: Any, neighbouring: Any, created: Any, unit: Any) -> Terms:
    """The terms of a ledger, of the values of the row that holds them."""
    fields = Fields("the row of terms")
    return Terms(
        fields.read("id", name, token_of),
        fields.read("eps", eps, eps_of),
        fields.read("delta", delta, delta_of),
        fields.read("composition", composition, _composition_of),
        fields.read("neighbouring", neighbouring, _relation_of),
        fields.read("created", created, time_of),
        fields.read("unit", unit, optional_text_of),
    )


def entry_in(row: tuple[Any, ...], shares: Collection[str]) -> Entry:
    """An entry, of its row; its share is one of these."""
    number, state, eps, delta, guarantee, draws, label, begun, ended, statement, share = row
    fields = Fields(f"entry {number}")
    cost = fields.cost(eps, delta, guarantee, draws)
    return Entry(
        number,
        fields.read("state", state, state_of),
        cost.eps,
        cost.delta,
        cost.guarantee,
        fields.read("label", label, optional_text_of),
        fields.read("reserved_at", begun, time_of),
        fields.read("ended_at", ended, _optional_time_of),
        fields.read("statement", statement, statement_of),
        fields.read("share", share, optional(word_of(shares))),
    )


def row_of(connection: sqlite3.Connection, table: str, columns: str) -> tuple[Any, ...]:
    """These columns of the only row of a table; Damaged where there is another number of rows."""
    rows = connection.execute(f"SELECT {columns} FROM {table} LIMIT 2").fetchall()
    if len(rows) != 1:
        raise Damaged(f"the table `{table}`", "rows", "must be one", "none" if not rows else "more")
    row: tuple[Any, ...] = rows[0]
    return row


def _guarantee(value: Any) -> Guarantee:
    fields = _object(value)
    name = fields.pop("kind", None)
    kind: Any = _GUARANTEES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _Broken(f"must have a kind, one of {', '.join(_GUARANTEES)}")
    if set(fields) != set(kind.__slots__):
        raise _Broken(f"must have {', '.join(kind.__slots__)}")
    guarantee: Guarantee = kind(**{field: _PARTS[field](number) for field, number in fields.items()})
    return guarantee


def _object(value: Any) -> dict[str, Any]:
    try:
        fields = json.loads(text_of(value))
    except _Broken:
        raise
    except (ValueError, RecursionError):
        raise _Broken("must be JSON") from None
    if not isinstance(fields, dict):
        raise _Broken("must be an object of JSON")
    return fields


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_COUNT:
        raise _Broken("must be a whole number of at least 0")
    return value


def _positive(value: Any) -> float:
    if not _is_number(value) or not 1 / LARGEST_EPS <= value <= LARGEST_EPS:
        raise _Broken(f"must have numbers in [{1 / LARGEST_EPS:g}, {LARGEST_EPS:g}]")
    return float(value)


def _rate(value: Any) -> float:
    if not _is_number(value) or not 0 < value <= 1:
        raise _Broken("must have a rate in (0, 1]")
    return float(value)


_PARTS: dict[str, Callable[[Any], float]] = {
    "eps": eps_of,
    "delta": delta_of,
    "mu": eps_of,
    "rate": _rate,
    "noise_multiplier": _positive,
    "steps": _count,
}
