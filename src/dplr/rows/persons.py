"""How much each row counts: exact multiples of 2^-30 from ids, weights and labels. Proof: privacy/unit.md."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr._kit.warnings import DataWarning, warn
from dplr.privacy.unit import Unit
from dplr.rows.ids import PersonCounts, read_ids, refuse_faults
from dplr.rows.labels import Labels
from dplr.rows.tables.table import OTHER, TEXT, as_target
from dplr.rows.weights import BITS, RowWeights

Vector = NDArray[np.float64]

_SPLITTER = 2.0**27 + 1
# A quotient of at most 2^30 in three roundings of float64 is off by less than 2^-21.
_DOUBT = 2.0**-20
# Few enough for a cache: every step makes a new array.
_BLOCK_ROWS = 2**14


def row_weights(
    n: int,
    unit: Unit,
    ids: Any | None = None,
    sample_weight: Any | None = None,
    factors: Vector | None = None,
    counts: PersonCounts | None = None,
) -> RowWeights:
    """The weights of n rows, and their persons.

    Parameters
    ----------
    unit : whom the guarantee protects; its factors of labels are not used.
    ids : (n,) an array, a sequence, or a column of any library; None where every row is a unit.
    sample_weight : (n,) numbers; None where rows have no weights.
    factors : (n,) factors of the labels, from 0 to 1; None where they have none.
    counts : how many rows each person has, where these are not all rows.

    Raises
    ------
    TypeError, ValueError
        For types and lengths, and for ids and weights that are missing or unreadable. No error shows an id.
    """
    weights = None if sample_weight is None else _read_weights(n, sample_weight, unit.weight_max)
    if ids is None:
        rows = np.broadcast_to(np.int64(1), n)
        return RowWeights(shares(rows, 1, weights, unit.weight_max, factors), None, n)
    if counts is None:
        read = read_ids(ids)
        if len(read) != n:
            raise ValueError(f"`person` must have one id for each row of X; got {len(read)} ids and {n} rows.")
        refuse_faults(read)
        persons, rows, units = read.codes, read.of_persons(read.counts), len(read.counts)
    else:
        persons, rows, units = *counts.weighed(ids), len(counts)
    return RowWeights(shares(rows, unit.rows_per_person, weights, unit.weight_max, factors), persons, units)


def class_factors(labels: Labels | None, unit: Unit) -> Vector | None:
    """(n,) the public factor of each row's label over the largest one; 0 for what is not a label."""
    if labels is None or not unit.class_weights:
        return None
    values, factors = np.asarray(labels.y, np.float64), np.zeros(len(labels.y))
    largest = max(factor for _, factor in unit.class_weights)
    for code, (_, factor) in zip(labels.class_codes, unit.class_weights, strict=True):
        factors[values == code] = factor / largest
    return factors


def shares(
    rows: NDArray[np.int64], rows_per_person: int, weights: Vector | None, weight_max: float | None,
    factors: Vector | None,
) -> Vector:  # fmt: skip
    """a = 2^-30 floor(2^30 min(1/k, 1/m) * min(w, W)/W * c) for m rows of a person, and 0 where m is 0.

    All factors are at most 1 and rounding goes down, so a is at most 1/m, and m rows weigh at most 1 together. m is
    `rows` of each row's person; weights that are not positive numbers count 0.
    """
    values = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        divisors = np.maximum(rows[part], rows_per_person)
        if weights is None and factors is None:
            units: Any = (1 << BITS) // divisors
        else:
            w, c = (None if column is None else column[part] for column in (weights, factors))
            units = _floors(divisors, w, weight_max, c)
        values[part] = np.where(rows[part] > 0, units, 0) * 2.0**-BITS
    return values


def _floors(
    divisors: NDArray[np.int64], weights: Vector | None, weight_max: float | None, factors: Vector | None
) -> Vector:
    """floor(2^30 w c / (W M)), exactly.

    A quotient q in float64 settles the floor, unless it is next to a whole number r. Then the floor is r or r - 1: r if
    r M W <= 2^30 w c. As r M < 2^53 is exact, either side is a product of two floats, which `_product` has exactly.
    """
    cap = 1.0 if weights is None or weight_max is None else float(weight_max)
    w: Any = cap if weights is None else _clipped(weights, cap)
    if not 2.0**-500 < cap < 2.0**500:  # products may leave the range of floats: a power of two makes the cap 1/2 to 1
        cap, exponent = math.frexp(cap)
        w = np.ldexp(w, -exponent)
    c: Any = 1.0 if factors is None else np.where(factors > 0, np.minimum(factors, 1.0), 0.0)
    w, c = np.broadcast_to(w, divisors.shape), np.broadcast_to(c, divisors.shape)
    quotients = w * c / (cap * divisors) * 2.0**BITS
    floors, nearest = np.floor(quotients), np.rint(quotients)
    doubtful = np.flatnonzero((np.abs(quotients - nearest) < _DOUBT) & (nearest > 0))
    r = nearest[doubtful]
    high, low = _product(w[doubtful] * 2.0**BITS, c[doubtful])
    at_least_high, at_least_low = _product(r * divisors[doubtful], np.full(len(r), cap))
    reached = (at_least_high < high) | ((at_least_high == high) & (at_least_low <= low))
    floors[doubtful] = np.where(reached, r, r - 1)
    return np.asarray(floors, np.float64)


def _clipped(weights: Vector, cap: float) -> Vector:
    """Weights from 0 to their cap; 0 for what is not a positive finite number."""
    return np.where(np.isfinite(weights) & (weights > 0), np.minimum(weights, cap), 0.0)


def _product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """(high, low): high + low is a * b exactly, high the nearest float (Veltkamp's and Dekker's algorithms)."""
    high = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return high, a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: Vector) -> tuple[Vector, Vector]:
    """A float as the exact sum of two of 26 bits."""
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _read_weights(n: int, sample_weight: Any, weight_max: float | None) -> Vector:
    """Weights as float64, refused where one is no finite number of at least 0."""
    plain = np.ma.getdata(sample_weight) if isinstance(sample_weight, np.ma.MaskedArray) else sample_weight
    column = as_target(plain, "sample_weight")
    remedy = "Give one number for each row."
    if column.kind in (TEXT, OTHER):
        raise TypeError(sentence("sample_weight", "must hold numbers", column.type_name, remedy))
    if column.values.ndim != 1:
        raise ValueError(sentence("sample_weight", "must be one-dimensional", column.values.shape, remedy))
    if len(column) != n:
        raise ValueError(f"`sample_weight` must have one weight for each row of X; got {len(column)} and {n} rows.")
    weights = column.as_float()
    if isinstance(sample_weight, np.ma.MaskedArray):
        weights = np.where(np.ma.getmaskarray(sample_weight), np.nan, weights)
    wrong = {
        "missing or not a number": np.isnan(weights),
        "infinite": np.isinf(weights),
        "negative": (weights < 0) & ~np.isinf(weights),
    }
    counts = [f"{np.count_nonzero(rows)} {kind}" for kind, rows in wrong.items() if rows.any()]
    if counts:
        raise ValueError(
            f"`sample_weight` must hold finite numbers of at least 0; got {', '.join(counts)}, of {n} rows. "
            "Remove or impute them, with rules that do not come from the private data."
        )
    _warn_of_cap(weights, float(weight_max or 0.0))
    return weights


def _warn_of_cap(weights: Vector, cap: float) -> None:
    """Tell the data holder of a cap that looks as if it came from the data, and of weights above it."""
    largest = weights.max(initial=0.0)
    if largest < cap:
        return
    if largest > cap:
        fact = f"{np.mean(weights > cap):.2%} of the weights are above the cap {cap:g} and were clipped"
    else:
        fact = (
            f"the cap {cap:g} is the largest weight in the data. A cap that was taken from the data voids the "
            "guarantee; take it from public knowledge, such as twice the population per sampled row"
        )
    warn(DataWarning(f"{fact}.", "For the data holder: this is not private."), DataWarning)
