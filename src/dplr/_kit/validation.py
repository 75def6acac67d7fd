"""The error sentences, written once: parameter, rule, what it got, remedy."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from numbers import Real
from typing import Any


def describe(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def sentence(parameter: str, rule: str, got: object, remedy: str = "") -> str:
    """`eps` must be positive; got -1.0. Remedy."""
    return f"`{parameter}` {rule}; got {describe(got)}.{' ' + remedy if remedy else ''}"


def capital(clause: str) -> str:
    """The clause as the beginning of a sentence."""
    return clause[0].upper() + clause[1:]


def real_number(parameter: str, value: Any, remedy: str = "") -> float:
    """Return the value as a float, or raise TypeError for what is not a real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(sentence(parameter, "must be a real number", value, remedy))
    try:
        return float(value)
    except OverflowError:
        raise ValueError(sentence(parameter, "must fit into a float", value, remedy)) from None


# Below it the noise drowns 10^9 records, and a finer grid than the sampler can draw would be needed.
SMALLEST_EPS = 1e-9
MOST = 2**63  # of anything that is counted
LARGEST_EPS = 1e100  # beyond, scales of noise would leave the numbers of float64
SMALLEST_DELTA = 1e-300


def check_eps(eps: Any) -> float:
    value = real_number("eps", eps, "Give the privacy loss you can afford, such as eps=0.8.")
    if math.isnan(value) or value <= 0:
        raise ValueError(sentence("eps", "must be positive", value, "0.1 to 1 is usual; less protects more."))
    if value < SMALLEST_EPS:
        raise ValueError(sentence("eps", f"must be at least {SMALLEST_EPS:g}", value, "Less would be pure noise."))
    if LARGEST_EPS < value < math.inf:
        raise ValueError(sentence("eps", f"must be at most {LARGEST_EPS:g}, or inf", value, "inf is without noise."))
    return value


def check_delta(delta: Any) -> float:
    value = real_number("delta", delta)
    remedy = "Use 0 for pure eps differential privacy."
    if not 0 <= value < 1:
        raise ValueError(sentence("delta", "must be in [0, 1)", value, remedy))
    if 0 < value < SMALLEST_DELTA:
        raise ValueError(sentence("delta", f"must be 0 or at least {SMALLEST_DELTA}", value, remedy))
    return value


def check_positive(parameter: str, value: Any) -> float:
    number = real_number(parameter, value)
    if not 0 < number < math.inf:
        raise ValueError(sentence(parameter, "must be positive and finite", number))
    return number


def check_choice(parameter: str, value: Any, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(repr(choice) for choice in choices)
        raise ValueError(sentence(parameter, f"must be one of {names}", value))
    return value


def check_count(parameter: str, value: Any, minimum: int = 1, most: float = MOST) -> int:
    """An integer from `minimum` to `most`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(sentence(parameter, "must be an integer", value)) from None
    if isinstance(value, bool):
        raise TypeError(sentence(parameter, "must be an integer", value))
    if count < minimum:
        raise ValueError(sentence(parameter, f"must be at least {minimum}", count))
    if count > most:
        raise ValueError(sentence(parameter, "must be at most 2^63", count))
    return count


def is_listed(value: Any) -> bool:
    """Whether it is a sequence or an array of entries, and no text."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return hasattr(value, "__array_interface__") and value.ndim > 0  # NumPy's alone: a frame would give its names


def check_list(parameter: str, values: Any, rule: str = "must be a list") -> list[Any]:
    """The entries of a list, or of anything else that has some, one by one."""
    try:
        return list(values)
    except TypeError:
        raise TypeError(sentence(parameter, rule, values)) from None


def check_flag(parameter: str, value: Any) -> bool:
    """True or False; a numpy boolean is one too."""
    if not (isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")):
        raise TypeError(sentence(parameter, "must be True or False", value))
    return bool(value)
