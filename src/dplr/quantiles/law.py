"""Prices of the choices and counts in a release of bounds, and its statement. Pure functions of public facts.

Proofs: quantiles.md, theorems 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dplr._kit.validation import sentence
from dplr.privacy import sensitivity
from dplr.privacy.calibration import LARGEST_UNITS
from dplr.privacy.composition import exact, float_up, largest_rho, pure_rho
from dplr.privacy.guarantees import Approx, Neighbouring, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.privacy.unit import Unit
from dplr.quantiles import ABOUT

# Shares of a column's eps: of its middle, of each end, and of the number of records outside.
MIDDLE, END, OUTSIDE = Fraction(1, 4), Fraction(3, 10), Fraction(3, 20)
# The least number of records times eps of a middle, and with it of an end: below it one column of ten may get bounds
# that are far too wide or too narrow, and a fit is worse than with bounds that are ten times too wide.
LEAST_MIDDLE = 100.0
# A record has 2^30 units in cells, and 2^10 in what is released.
CELL_UNITS, UNITS = 2**30, 2**10
_MARGIN = 1 + 2.0**-40
# Sums of more records may not fit in 64 bits.
_MOST_RECORDS = 2**32
# What a power of ten outwards weighs in an exponent: the records times the eps of an end over so many, and at least so
# much; less around a middle of 0, where there are many zeros, and the other numbers may be of any size.
_DECADE, _DECADE_AROUND_ZERO, _MOST_DECADE = (40.0, 6.0), (110.0, 1.5), 36.0
# By the weight of a power of ten: how many ends lie in one.
_DENSER = ((2.0, 3), (4.0, 6), (12.0, 12))


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one release.

    Attributes
    ----------
    column : eps of each column.
    text_delta : the delta of the threshold of each column of text; 0 without one.
    concentrated : whether choices are added up by zCDP.
    """

    column: Fraction
    text_delta: float = 0.0
    concentrated: bool = False

    @property
    def middle(self) -> Fraction:
        """eps of the choice of a middle."""
        return self.column * MIDDLE

    @property
    def end(self) -> Fraction:
        """eps of the choice of an end."""
        return self.column * END

    @property
    def outside(self) -> Fraction:
        """eps of the number of records outside."""
        return self.column * OUTSIDE


def prices(eps: float, delta: float, numbers: int, texts: int) -> Prices:
    """The larger eps of a column: an even share of eps, or what zCDP allows."""
    plain = Prices(exact(eps) / (numbers + texts), _text_delta(delta, texts))
    if delta == 0:
        return plain
    half = delta / 2 if texts else delta
    column = _largest_column(largest_rho(eps, half), numbers, texts)
    return plain if column <= plain.column else Prices(column, _text_delta(delta / 2, texts), True)


def _text_delta(delta: float, texts: int) -> float:
    """The delta of each threshold, such that all add up to delta (quantiles.md, theorem 3)."""
    return delta / (texts * _MARGIN) if texts else 0.0


def _rho(column: float, numbers: int, texts: int) -> float:
    """The rho of all choices and counts (quantiles.md, theorem 2)."""
    squares = float(MIDDLE) ** 2 + 2 * float(END) ** 2
    one = column**2 * squares / 8 + pure_rho(column * float(OUTSIDE))
    return (numbers * one + texts * pure_rho(column)) * _MARGIN


def _largest_column(rho: float, numbers: int, texts: int) -> Fraction:
    """The largest eps of a column whose choices have this rho at most, rounded down."""
    low, high = 0.0, 64.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _rho(middle, numbers, texts) <= rho else (low, middle)
    return Fraction(low)


def steps_outwards(records: float, price: Fraction, around_zero: bool) -> tuple[int, Fraction]:
    """How many ends lie in a power of ten, and what a step outwards weighs, by a public rule.

    Parameters
    ----------
    records : a public number of them.
    price : eps of an end.
    around_zero : whether the middle is 0.
    """
    of_records, least = _DECADE_AROUND_ZERO if around_zero else _DECADE
    decade = min(max(records * float(price) / of_records, least), _MOST_DECADE)
    steps = next((steps for lowest, steps in reversed(_DENSER) if decade >= lowest), 1)
    return steps, Fraction(round(64 * decade / steps), 64)


def noise_units(price: Fraction, sensitivity: int) -> int:
    """Scale of discrete Laplace noise in units of 2^-10 records, rounded up."""
    units = math.ceil(sensitivity / price)
    if units > LARGEST_UNITS:
        raise ValueError(sentence("eps", "is too small to release a number of records", float(price), "Use more."))
    return units


def threshold(price: Fraction, delta: float, changed: int, shared: bool) -> int:
    """The least noisy number of records, in units, at which a text is released (quantiles.md, lemma 6).

    Parameters
    ----------
    price : eps of the column.
    delta : of the column.
    changed : records that differ between neighbours.
    shared : whether the rows of one unit may have several texts.
    """
    scale = noise_units(price, sensitivity.records_by_text(UNITS, changed))
    tail = math.log(delta) + math.log1p(math.exp(-1 / scale))
    one = UNITS - scale * tail
    many = 1 - scale * (tail - math.log(UNITS)) if shared else 0.0
    return math.ceil(max(one, many) * _MARGIN) + 1


def check_enough(records: int, price: Prices, columns: int, eps: float) -> None:
    """Refuse where noise would choose middles, and where sums may be too large."""
    if records > _MOST_RECORDS:
        raise ValueError(sentence("n_rows", f"must be at most {_MOST_RECORDS}", records))
    enough = records * float(price.middle)
    if enough >= LEAST_MIDDLE:
        return
    needed = float_up(exact(eps) * Fraction(LEAST_MIDDLE / enough).limit_denominator(1000))
    rule = f"is too small to learn the bounds of {columns} columns from {records} records"
    remedy = f"Use eps = {needed:.3g} or more, or fewer columns: declare those whose bounds a codebook has."
    raise ValueError(sentence("eps", rule, eps, remedy))


def statement_of(
    eps: float, delta: float, price: Prices, neighbouring: Neighbouring, numbers: Sequence[str], texts: Sequence[str],
    unit: Unit, assumptions: Sequence[str],
) -> PrivacyStatement:  # fmt: skip
    """The promise of a release."""
    released = {}
    if numbers:
        record = sensitivity.records_outside(UNITS) / UNITS
        units = noise_units(price.outside, sensitivity.records_outside(UNITS))
        released["outside"] = Release(
            (len(numbers),), record, Law.DISCRETE_LAPLACE, units / UNITS, 1 / UNITS, units=units
        )
    if texts:
        record_texts = sensitivity.records_by_text(UNITS, neighbouring.records_changed)
        units = noise_units(price.column, record_texts)
        released["levels"] = Release(
            (len(texts),), record_texts / UNITS, Law.DISCRETE_LAPLACE, units / UNITS, 1 / UNITS, units=units
        )
    pure = not texts and not price.concentrated
    return PrivacyStatement(
        mechanism=ABOUT.name,
        eps=eps,
        delta=0.0 if pure else delta,
        guarantee=Pure(eps) if pure else Approx(eps, delta),
        neighbouring=neighbouring,
        released=released,
        calibration=_calibration(price, numbers, texts),
        assumptions=tuple(assumptions),
        arithmetic=ABOUT.arithmetic,
        reproducible=False,
        unused_delta=delta if pure else 0.0,
        unit=unit,
        source=f"dplr quantiles.md, theorem {3 if texts else 2 if price.concentrated else 1}",
    )


def _calibration(price: Prices, numbers: Sequence[str], texts: Sequence[str]) -> str:
    """The exponential mechanisms and the thresholds in words."""
    parts = []
    if numbers:
        costs = f"a middle at eps = {float(price.middle):.6g} and two ends at eps = {float(price.end):.6g} each"
        parts.append(f"exponential mechanisms: for each of {len(numbers)} columns {costs}")
    if texts:
        costs = f"at eps = {float(price.column):.6g}, thresholds at delta = {price.text_delta:.6g}"
        parts.append(f"{len(texts)} columns of text {costs}")
    added = "zCDP" if price.concentrated else "their sum"
    return f"{'; '.join(parts)}; added up by {added}"
