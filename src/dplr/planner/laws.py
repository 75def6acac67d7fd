"""The law of each made-up column: of levels and flags by shares, of numbers by a triangle or a beta law.

Columns of which nothing is assumed fill their bounds, or are narrow. Those of real tables have a deviation of 3 to 8 %
of a codebook's bounds, and rare levels are those that noise drowns: a line that is told of narrow columns can be
promised. A declared least share is that of every level but the first in both; merged ones have its multiple.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.columns import Bins, Column, Levels, Numeric, middle
from dplr.planner.assumptions import Assumptions

Matrix = NDArray[np.float64]
Values = tuple[Matrix, Matrix]

# From the scale of the model back to the user's.
INVERSES: dict[str, Callable[[Matrix], Matrix]] = {"log1p": np.expm1, "log": np.exp, "sqrt": np.square}
TRIANGLE = 1 / math.sqrt(24)  # its deviation, in parts of the range
_UNIFORM = 1 / math.sqrt(12)
_SUM_TOLERANCE = 1e-6
# Narrow columns: the deviation of a number in parts of its bounds, the share of a flag, and that of each level but the
# first. Of the lines that they promise 99.7 % are told in fits of real tables and of made-up ones, 86 % of those that
# deviations of 0.05 promise (docs/trust/intervals.md).
NARROW, FLAGGED, RARE = 0.03, 0.1, 0.03


@dataclass(frozen=True, slots=True)
class Triangle:
    """A number whose density rises to the middle of its bounds and falls again, on the scale of the model."""

    column: Numeric

    def values(self, rng: np.random.Generator, n: int) -> Values:
        """Values of the column, and what they add to the score: mean 0, deviation 1."""
        low, high = self.column.range
        scaled = rng.triangular(low, middle(self.column.range), high, n)
        part = (scaled - middle(self.column.range)) / ((high / 2 - low / 2) / math.sqrt(6))
        return _in_units(self.column, scaled), part


@dataclass(frozen=True, slots=True)
class Beta:
    """A number with this mean and deviation, in parts of its range on the scale of the model; declared, or narrow."""

    column: Numeric
    mean: float
    deviation: float
    declared: bool = True

    def values(self, rng: np.random.Generator, n: int) -> Values:
        """Values of the column, and what they add to the score."""
        low, high = self.column.range
        total = self.mean * (1 - self.mean) / self.deviation**2 - 1
        parts = rng.beta(self.mean * total, (1 - self.mean) * total, n)
        scaled = low + (high - low) * parts
        return _in_units(self.column, scaled), (parts - self.mean) / self.deviation


@dataclass(frozen=True, slots=True)
class Flag:
    """A number that is 0 or 1."""

    share: float

    def values(self, rng: np.random.Generator, n: int) -> Values:
        """Values of the column, and what they add to the score."""
        values = (rng.random(n) < self.share).astype(np.float64)
        return values, (values - self.share) / math.sqrt(self.share * (1 - self.share))


@dataclass(frozen=True, slots=True)
class Codes:
    """Levels or bins with these shares."""

    column: Levels | Bins
    shares: tuple[float, ...]

    def values(self, rng: np.random.Generator, n: int) -> Values:
        """Values of the column, and what they add to the score."""
        shares = np.array(self.shares)
        codes = rng.choice(len(shares), n, p=shares)
        heights = np.arange(len(shares), dtype=np.float64)
        if self.column.number is None:
            heights = rng.normal(size=len(shares))
        heights = heights - shares @ heights
        deviation = math.sqrt(shares @ heights**2)
        parts = heights[codes] / (deviation or 1.0)
        if isinstance(self.column, Bins):
            ends = np.array([self.column.lower, *self.column.edges, self.column.upper])
            return ends[codes] + (ends[codes + 1] - ends[codes]) * rng.random(n), parts
        return codes.astype(np.float64), parts


ColumnLaw = Triangle | Beta | Flag | Codes


def laws_of(
    columns: Sequence[Column], features: Sequence[str], assume: Assumptions, narrow: bool = False
) -> tuple[ColumnLaw, ...]:
    """One law for each column; refuses assumptions about columns that are not declared, or not of the kind."""
    shares, spread = dict(assume.shares or {}), dict(assume.spread or {})
    for name, assumed in (("shares", shares), ("spread", spread)):
        unknown = [key for key in assumed if key not in features]
        if unknown:
            raise ValueError(sentence(name, f"must name declared columns, {list(features)[:20]}", unknown))
    both = sorted(shares.keys() & spread.keys())
    if both:
        raise ValueError(sentence("spread", "must not name a column that `shares` names", both))
    return tuple(
        _law(column, name, shares.get(name), spread.get(name), narrow)
        for column, name in zip(columns, features, strict=True)
    )


def _law(column: Column, name: str, share: Any, spread: Any, narrow: bool) -> ColumnLaw:
    if isinstance(column, Numeric):
        if share is not None and not column.flag:
            remedy = "A number has a spread: spread={...}. A flag has the whole numbers 0 and 1 as bounds."
            raise ValueError(sentence("shares", "must name flags (0, 1), levels or bins", f"{name} {column}", remedy))
        if spread is not None:
            return Beta(column, *_moments(name, spread))
        if column.flag:
            usual = FLAGGED if narrow else _falling(2)[1]
            return Flag(usual if share is None else _checked_share(name, share))
        return Beta(column, 0.5, NARROW, declared=False) if narrow else Triangle(column)
    if spread is not None:
        remedy = "Levels, bins and flags have shares: shares={...}."
        raise ValueError(sentence("spread", "must name numbers", f"{name}, {column.kind}", remedy))
    labels: Sequence[Any] = column.labels if isinstance(column, Bins) else column.levels
    if share is None:
        return Codes(column, _undeclared(column, len(labels), narrow))
    if isinstance(share, Mapping) and isinstance(column, Levels):
        share = _by_level(column, share)
    return Codes(column, _declared(name, labels, share))


def _undeclared(column: Levels | Bins, count: int, narrow: bool) -> tuple[float, ...]:
    """Every level but the first at the least share of its values, if one is declared; rare, even or falling."""
    if isinstance(column, Levels) and column.least_share is not None:
        least = [column.least_share * column.positions.count(place) for place in range(1, count)]
        return (1 - sum(least), *least)
    if narrow:
        rare = min(RARE, 1 / count)
        return (1 - (count - 1) * rare, *[rare] * (count - 1))
    ordered = isinstance(column, Bins) or column.kind == "ordinal"
    return (1 / count,) * count if ordered else _falling(count)


def _by_level(column: Levels, share: Mapping[Any, Any]) -> dict[Any, Any]:
    """Shares by level, each the sum of those of its values, where these are named."""
    owners = {value: column.levels[place] for value, place in zip(column.values, column.positions, strict=True)}
    shares: dict[Any, Any] = {}
    for label, value in share.items():
        level = label if label in column.levels else owners.get(label, label)
        shares[level] = shares[level] + value if level in shares else value
    return shares


def _declared(name: str, labels: Sequence[Any], share: Any) -> tuple[float, ...]:
    """Shares of all levels in their order, or of some by name, or of the second of two."""
    if isinstance(share, Mapping):
        unknown = [label for label in share if label not in labels]
        if unknown:
            raise ValueError(sentence("shares", f"must name levels of {name}, {list(labels)[:20]}", unknown))
        rest = 1 - sum(_checked_share(name, value) for value in share.values())
        unnamed = [label for label in labels if label not in share]
        if rest < (_SUM_TOLERANCE if unnamed else -_SUM_TOLERANCE):
            raise ValueError(sentence("shares", f"must leave something for all other levels of {name}", dict(share)))
        filled = dict(zip(unnamed, (rest * part for part in _falling(len(unnamed))), strict=True))
        values = [float(share[label]) if label in share else filled[label] for label in labels]
    elif isinstance(share, (list, tuple, np.ndarray)):
        values = [_checked_share(name, value) for value in share]
    else:
        second = _checked_share(name, share)
        values = [1 - second, second]
    if len(values) != len(labels) or abs(sum(values) - 1) > _SUM_TOLERANCE:
        rule = f"must be {len(labels)} shares of {name} that add up to 1"
        raise ValueError(sentence("shares", rule, share, "They are in the order of the levels."))
    total = sum(values)
    return tuple(value / total for value in values)


def _checked_share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise ValueError(sentence("shares", f"must be above 0 and below 1 for {name}", value))
    return float(value)


def _falling(count: int) -> tuple[float, ...]:
    """Shares in proportion to 1, 1/2, 1/3 and so on."""
    total = sum(1 / k for k in range(1, count + 1))
    return tuple(1 / k / total for k in range(1, count + 1))


def _moments(name: str, spread: Any) -> tuple[float, float]:
    """Mean and deviation of a beta law; of a deviation alone, the law that falls from the lower bound."""
    pair = tuple(spread) if isinstance(spread, (list, tuple)) else (None, spread)
    numbers = [value for value in pair if value is not None]
    right = len(pair) == 2 and all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0 < value < 1
        for value in numbers
    )
    if not right:
        rule = f"must be a deviation or a pair (mean, deviation) for {name}, in parts of its range"
        raise ValueError(sentence("spread", rule, spread, "Such as 0.05."))
    deviation = float(pair[1])
    mean = _mean_of(deviation) if pair[0] is None else float(pair[0])
    if deviation**2 >= mean * (1 - mean) * (1 - _SUM_TOLERANCE):
        rule = f"must be below the root of mean (1 - mean) for {name}"
        raise ValueError(sentence("spread", rule, spread, "No law within the bounds has this deviation."))
    return mean, deviation


def _mean_of(deviation: float) -> float:
    """The mean of the law with density b (1 - x)^(b - 1), b >= 1, of this deviation; above that of even rows, 1/2."""
    if deviation >= _UNIFORM:
        return 0.5
    low, high = 0.0, 0.5  # the deviation m sqrt((1 - m) / (1 + m)) rises with m up to 1/2
    for _ in range(60):
        mean = (low + high) / 2
        low, high = (mean, high) if mean * math.sqrt((1 - mean) / (1 + mean)) < deviation else (low, mean)
    return high


def _in_units(column: Numeric, scaled: Matrix) -> Matrix:
    values = INVERSES[column.transform](scaled) if column.transform in INVERSES else scaled
    return np.clip(values, column.lower, column.upper)


def sentences(laws: Sequence[ColumnLaw], features: Sequence[str]) -> list[str]:
    """The assumptions about the columns."""
    named = list(zip(features, laws, strict=True))
    facts = ["columns are independent"]
    if any(isinstance(law, Triangle) for law in laws):
        facts.append("numbers are triangular within their bounds, on the scale of the model")
    facts += [
        f"{name} has mean {law.mean:.3g} and deviation {law.deviation:.3g} in parts of its range, a beta law"
        for name, law in named if isinstance(law, Beta) and law.declared
    ]  # fmt: skip
    if any(isinstance(law, Beta) and not law.declared for law in laws):
        facts.append(f"numbers have a deviation of {NARROW:.0%} of their bounds, around the middle")
    flags = [f"{name} {law.share:.3g}" for name, law in named if isinstance(law, Flag)]
    if flags:
        facts.append(f"flags have these shares of 1: {', '.join(flags)}")
    shares = [f"{name} {_listed(law.shares)}" for name, law in named if isinstance(law, Codes)]
    if shares:
        facts.append(f"levels and bins have these shares, in their order: {'; '.join(shares)}")
    return facts


def _listed(shares: Sequence[float]) -> str:
    most = 12
    text = ", ".join(f"{share:.3g}" for share in shares[:most])
    return text if len(shares) <= most else f"{text}, ..., {min(shares):.2g} at least"
