"""Made-up columns of the strange grid: what rows hold, their public bounds, and slopes of a target of width 8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Of numbers, and of flags.
UNIT, FLAG, INTERCEPT = (0.0, 1.0), (0, 1), "(intercept)"
Bounds = Any  # two ends, or a mapping with levels
Draw = Callable[[np.random.Generator, int], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Table:
    """Columns.

    Attributes
    ----------
    bounds : by the name of a column; of a mapping the levels, the first of which is the reference.
    slopes : by the name of a coefficient.
    constant : the intercept.
    draw : (generator, n) to columns; numbers are clipped to their bounds.
    """

    bounds: dict[str, Any]
    slopes: dict[str, float]
    constant: float
    draw: Draw

    def rows(self, rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        """Columns of n rows."""
        return clipped(self.draw(rng, n), self.bounds)


def clipped(columns: dict[str, np.ndarray], bounds: dict[str, Any]) -> dict[str, np.ndarray]:
    """Numbers within their bounds, levels as they are."""
    return {
        name: each if isinstance(bounds[name], dict) else np.clip(np.asarray(each, float), *bounds[name])
        for name, each in columns.items()
    }


def matrix(columns: dict[str, np.ndarray], bounds: dict[str, Any]) -> tuple[list[str], np.ndarray]:
    """Names of coefficients and their columns, the constant last."""
    names, parts = [], []
    for name, each in columns.items():
        levels = bounds[name]["levels"][1:] if isinstance(bounds[name], dict) else ()
        names += [f"{name}={level}" for level in levels] or [name]
        parts += [each == level for level in levels] or [each]
    return [*names, INTERCEPT], np.column_stack([*parts, np.ones(len(each))]).astype(float)


def flag(rng, n, share):
    """1 in a share of the rows."""
    return (rng.random(n) < share) * 1.0


def factor(rng, n, count, correlation):
    """Numbers around one half with one common factor, deviation .15."""
    common, own = rng.normal(size=(n, 1)), rng.normal(size=(n, count))
    return (0.5 + 0.15 * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)).T


def correlated(correlation: float, count: int = 3) -> Table:
    """Numbers with one common factor; the last has no effect."""
    names = list("abcde")[:count]
    slopes = dict(zip(names, (1.0, -1.0, 0.5, 0.5, -0.5), strict=False)) | {names[-1]: 0.0}
    bounds = dict.fromkeys(names, UNIT)
    return Table(bounds, slopes, 0.1, lambda rng, n: dict(zip(names, factor(rng, n, count, correlation), strict=True)))


def even(rng, n):
    return {"a": rng.random(n), "b": rng.random(n), "f": flag(rng, n, 0.3)}


def narrow(share: float, slope: float) -> Table:
    """A number that fills a share of its bounds, in their middle, and two that fill theirs."""
    return Table(
        {"x": UNIT, "a": UNIT, "b": UNIT}, {"x": slope, "a": 1.0, "b": -1.0}, -slope / 2,
        lambda rng, n: {"x": 0.5 + share * (rng.random(n) - 0.5), "a": rng.random(n), "b": rng.random(n)},
    )  # fmt: skip


def codebook(rng, n):
    size = np.clip(rng.lognormal(-0.4, 0.55, n), 0.4, 2.4)
    return {"size": size, "depth": rng.normal(61.7, 1.4, n), "table": rng.normal(57.5, 2.2, n)}


def year(rng, n):
    year = rng.integers(1985, 2026, n).astype(float)
    return {"year": year, "z": (year - 2005) / 40 + rng.normal(0, 0.25, n) + 0.5}


def income(rng, n):
    ability = rng.normal(size=n)
    schooling = np.round(13 + 2.5 * (0.6 * ability + 0.8 * rng.normal(size=n)))
    earned = rng.lognormal(10.6 + 0.5 * ability, 0.4, n)
    return {"income": np.minimum(earned, 3e5), "schooling": schooling, "age": rng.uniform(18, 90, n)}


def rare(share: float, effect: float = 1.0) -> Table:
    """A number, a flag of 30 %, and a rare one."""
    return Table(
        {"a": UNIT, "f": FLAG, "rare": FLAG}, {"a": 1.0, "f": 0.5, "rare": effect}, -0.5,
        lambda rng, n: {"a": rng.random(n), "f": flag(rng, n, 0.3), "rare": flag(rng, n, share)},
    )  # fmt: skip


def levels(*shares: float) -> Table:
    """A number, and levels of these shares."""
    names = [f"l{k}" for k in range(len(shares))]
    effects = {f"town={name}": (-1.0) ** k * 0.8 for k, name in enumerate(names) if k}
    return Table(
        {"a": UNIT, "town": {"levels": names}}, {"a": 1.0, **effects}, -0.5,
        lambda rng, n: {"a": rng.random(n), "town": rng.choice(names, n, p=shares)},
    )  # fmt: skip


def weeks(rng, n):
    age = np.clip(rng.gamma(2.6, 13.5, n), 0, 90).round()
    works = rng.random(n) < np.where((age > 16) & (age < 66), 0.75, 0.07)
    worked = np.where(works, np.where(rng.random(n) < 0.72, 52, rng.integers(1, 52, n)), 0)
    return {
        "age": age, "weeks": worked, "male": flag(rng, n, 0.48), "gain": flag(rng, n, 0.037 * (1 + works)),
        "staff": np.where(works, rng.integers(1, 7, n), 0),
    }  # fmt: skip


def far(share: float) -> Table:
    """A number in the lowest tenth of its bounds, but for a share of the rows at their other end."""
    return Table(
        {"a": UNIT, "b": UNIT}, {"a": 2.0, "b": -1.0}, 0.2,
        lambda rng, n: {
            "a": np.where(rng.random(n) < share, rng.uniform(0.9, 1, n), rng.uniform(0, 0.1, n)), "b": rng.random(n)
        },
    )  # fmt: skip


EVEN = Table({"a": UNIT, "b": UNIT, "f": FLAG}, {"a": 1.0, "b": -1.0, "f": 0.5}, -0.2, even)
ONE = Table({"a": UNIT}, {"a": 1.0}, -0.5, lambda rng, n: {"a": rng.random(n)})
CODEBOOK = Table(
    {"size": (0, 6), "depth": (40, 80), "table": (40, 100)}, {"size": 7700.0, "depth": -140.0, "table": -100.0},
    -1000.0 + 140 * 61.7 + 100 * 57.5, codebook,
)  # fmt: skip
YEAR = Table({"year": (0, 2100), "z": UNIT}, {"year": 0.025, "z": 0.0}, -0.025 * 2005, year)
YEAR_AND_FLAG = Table(
    {**YEAR.bounds, "rare": FLAG}, {**YEAR.slopes, "rare": 1.0}, YEAR.constant,
    lambda rng, n: {**year(rng, n), "rare": flag(rng, n, 0.003)},
)  # fmt: skip
INCOME = Table(
    {"income": (0, 1e7), "schooling": (0, 25), "age": (0, 120)}, {"income": 1e-5, "schooling": 0.1, "age": -0.02},
    -0.5, income,
)  # fmt: skip
NARROW_AND_FLAG = Table(
    {"x": UNIT, "a": UNIT, "rare": FLAG}, {"x": 8.0, "a": 1.0, "rare": 1.0}, -4.5,
    lambda rng, n: {"x": rng.normal(0.5, 0.05, n), "a": rng.random(n), "rare": flag(rng, n, 0.02)},
)  # fmt: skip
WEEKS = Table(
    {"age": (0, 90), "weeks": (0, 52), "male": FLAG, "gain": FLAG, "staff": (0, 6)},
    {"age": 0.030, "weeks": 0.060, "male": 1.2, "gain": 1.9, "staff": 0.14}, -8.1, weeks,
)  # fmt: skip
TWO_HEAPS = Table(
    {"a": UNIT, "b": UNIT}, {"a": 1.0, "b": 0.0}, -0.5,
    lambda rng, n: {"a": rng.beta(0.2, 0.2, n), "b": rng.beta(0.3, 0.3, n)},
)  # fmt: skip
SKEWED = Table(
    {"s": (0, 30), "a": UNIT, "f": FLAG}, {"s": 0.1, "a": 1.0, "f": -0.5}, -0.8,
    lambda rng, n: {"s": rng.lognormal(0.5, 0.8, n), "a": rng.random(n), "f": flag(rng, n, 0.1)},
)  # fmt: skip
PARETO = Table(
    {"s": (0, 50), "a": UNIT}, {"s": 0.05, "a": -0.5}, 0.1,
    lambda rng, n: {"s": rng.pareto(1.5, n), "a": rng.random(n)},
)  # fmt: skip
ZEROS = Table(
    {"s": (0, 40), "a": UNIT}, {"s": 0.1, "a": 1.0}, -0.6,
    lambda rng, n: {"s": flag(rng, n, 0.1) * rng.gamma(2.0, 4.0, n), "a": rng.random(n)},
)  # fmt: skip
INTEGERS = Table(
    {"grade": (0, 4), "visits": (0, 12)}, {"grade": 0.3, "visits": 0.05}, -0.8,
    lambda rng, n: {"grade": rng.binomial(4, 0.6, n), "visits": rng.poisson(2.0, n)},
)  # fmt: skip
TINY = Table(
    {"a": (0, 1e-7), "b": (-1e-9, 1e-9)}, {"a": 1e7, "b": 5e8}, -0.5,
    lambda rng, n: {"a": 1e-7 * rng.random(n), "b": 1e-9 * (2 * rng.random(n) - 1)},
)  # fmt: skip
HUGE = Table(
    {"time": (1.6e9, 1.8e9), "sum": (0, 1e12)}, {"time": 1e-8, "sum": 1e-12}, -17.5,
    lambda rng, n: {"time": rng.uniform(1.6e9, 1.8e9, n), "sum": 1e12 * rng.beta(2, 3, n)},
)  # fmt: skip
TWO = Table(
    {"a": UNIT, "b": UNIT}, {"a": 1.0, "b": -0.4}, -0.3, lambda rng, n: {"a": rng.random(n), "b": rng.random(n)}
)
TENTHS = Table(
    {"a": (0, 10), "b": UNIT}, {"a": 0.25, "b": 1.0}, -6.3,
    lambda rng, n: {"a": 10 * rng.random(n), "b": flag(rng, n, 0.3)},
)  # fmt: skip
