"""Ids of persons: one text for each value, which depends on no other value.

A whole number of any type is its decimal numeral: 12, 12.0, Decimal("12") and "12" are one id, and "012" is another. A
text is its own id, character by character; an empty text is not an id. A float is an id only below the size up to which
its type tells whole numbers apart, 2^53 for float64: different larger ids may have been rounded to one before.
"""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np

# Reasons why a value is not an id, in the order in which errors name them.
MISSING = "missing or empty"
FRACTION = "a number with a fraction, or infinite"
TOO_LARGE = "a float too large to tell whole numbers apart, or a number of 300 digits or more"
NO_ID = "neither text nor a number"
FAULTS = (MISSING, FRACTION, TOO_LARGE, NO_ID)

_MOST_DIGITS = 299  # Python refuses to write numbers of thousands
_LIMIT = 10**_MOST_DIGITS
_GAPS = ("NoneType", "NAType", "NaTType")


def exact_below(dtype: Any) -> float:
    """The size below which a type of floats tells whole numbers apart; float64's limit for wider types."""
    return float(2.0 ** min(np.finfo(dtype).nmant + 1, 53))


def canonical(value: Any) -> tuple[str | None, str]:
    """The text of an id and an empty reason, or None and the reason why there is no id."""
    if isinstance(value, str):
        text = str.__str__(value)  # a subclass may compare as it likes
        return (text, "") if text else (None, MISSING)
    if isinstance(value, (bool, np.bool_)):
        return None, NO_ID
    if isinstance(value, (int, np.integer)):
        return _numeral(int.__index__(value) if isinstance(value, int) else int(value))
    if isinstance(value, (float, np.floating)):
        return _of_float(value)
    if isinstance(value, decimal.Decimal):
        return _of_decimal(value)
    return None, MISSING if type(value).__name__ in _GAPS else NO_ID


def _numeral(number: int) -> tuple[str | None, str]:
    return (str(number), "") if abs(number) < _LIMIT else (None, TOO_LARGE)


def _of_float(value: Any) -> tuple[str | None, str]:
    number = float.__float__(value) if isinstance(value, float) else value
    if number != number:
        return None, MISSING
    if not abs(number) < np.inf or number % 1 != 0:
        return None, FRACTION
    limit = 2.0**53 if isinstance(value, float) else exact_below(type(value))
    return _numeral(int(number)) if abs(number) < limit else (None, TOO_LARGE)


def _of_decimal(value: decimal.Decimal) -> tuple[str | None, str]:
    if value.is_nan():
        return None, MISSING
    if value.is_infinite():
        return None, FRACTION
    if value and value.adjusted() >= _MOST_DIGITS:
        return None, TOO_LARGE
    integer = int(value) if value and value.adjusted() >= 0 else 0
    return _numeral(integer) if value == integer else (None, FRACTION)
