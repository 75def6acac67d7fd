"""The law of each made-up column: of levels and flags by shares, of numbers by a triangle or a beta law.

Without declared shares levels are as frequent as 1, 1/2, 1/3 and so on in their declared order: real levels are seldom
equally frequent, and the rare ones are those that noise drowns. With a declared least share every level but the first
has this share, or merged ones its multiple.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.kinds import Bins, Column, Levels, Numeric, middle
from dplr.planner.assumptions import Assumptions

Matrix = NDArray[np.float64]
Values = tuple[Matrix, Matrix]

# From the scale of the model back to the user's.
INVERSES: dict[str, Callable[[Matrix], Matrix]] = {"log1p": np.expm1, "log": np.exp, "sqrt": np.square}
TRIANGLE = 1 / math.sqrt(24)  # its deviation, in parts of the range
_UNIFORM = 1 / math.sqrt(12)
_SUM_TOLERANCE = 1e-6


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
    """A number with this mean and deviation, in parts of its range on the scale of the model."""

    column: Numeric
    mean: float
    deviation: float

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


def is_flag(column: Column) -> bool:
    """Whether bounds of (0, 1) declare a number that is 0 or 1."""
    plain = isinstance(column, Numeric) and column.transform == "clip"
    return plain and (column.lower, column.upper) == (0, 1)  # type: ignore[union-attr]


def laws_of(columns: Sequence[Column], features: Sequence[str], assume: Assumptions) -> tuple[ColumnLaw, ...]:
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
        _law(column, name, shares.get(name), spread.get(name)) for column, name in zip(columns, features, strict=True)
    )


def _law(column: Column, name: str, share: Any, spread: Any) -> ColumnLaw:
    if isinstance(column, Numeric):
        if share is not None and not is_flag(column):
            remedy = "A number has a spread: spread={...}."
            raise ValueError(sentence("shares", "must name flags (0, 1), levels or bins", f"{name} {column}", remedy))
        if spread is not None:
            return Beta(column, *_moments(name, spread))
        if is_flag(column):
            return Flag(_falling(2)[1] if share is None else _checked_share(name, share))
        return Triangle(column)
    if spread is not None:
        remedy = "Levels, bins and flags have shares: shares={...}."
        raise ValueError(sentence("spread", "must name numbers", f"{name}, {column.kind}", remedy))
    labels: Sequence[Any] = column.labels if isinstance(column, Bins) else column.levels
    if share is None:
        return Codes(column, _undeclared(column, len(labels)))
    if isinstance(share, Mapping) and isinstance(column, Levels):
        share = _by_level(column, share)
    return Codes(column, _declared(name, labels, share))


def _undeclared(column: Levels | Bins, count: int) -> tuple[float, ...]:
    """Every level but the first at the least share of its values, if one is declared; even, or falling."""
    if isinstance(column, Levels) and column.least_share is not None:
        least = [column.least_share * column.positions.count(place) for place in range(1, count)]
        return (1 - sum(least), *least)
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


def sentences(laws: Iterable[ColumnLaw], features: Sequence[str]) -> list[str]:
    """The assumptions about the columns."""
    named = list(zip(features, laws, strict=True))
    facts = ["columns are independent"]
    if any(isinstance(law, Triangle) for law in laws):
        facts.append("numbers are triangular within their bounds, on the scale of the model")
    facts += [
        f"{name} has mean {law.mean:.3g} and deviation {law.deviation:.3g} in parts of its range, a beta law"
        for name, law in named if isinstance(law, Beta)
    ]  # fmt: skip
    flags = [f"{name} {law.share:.3g}" for name, law in named if isinstance(law, Flag)]
    if flags:
        facts.append(f"numbers between 0 and 1 are flags, with these shares of 1: {', '.join(flags)}")
    shares = [f"{name} {_listed(law.shares)}" for name, law in named if isinstance(law, Codes)]
    if shares:
        facts.append(f"levels and bins have these shares, in their order: {'; '.join(shares)}")
    return facts


def _listed(shares: Sequence[float]) -> str:
    most = 12
    text = ", ".join(f"{share:.3g}" for share in shares[:most])
    return text if len(shares) <= most else f"{text}, ..., {min(shares):.2g} at least"
