"""The strange designs: a table of columns, a target, and what is asked of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from bench.studies.strange import tables as t
from bench.studies.strange.tables import Table

Columns = dict[str, np.ndarray]
Error = Callable[[np.ndarray, Columns, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Design:
    """One line of the grid.

    Attributes
    ----------
    name, table : what it is called, and its columns.
    n, eps, delta : rows, or persons, and budget.
    model : of the fit; `target` are bounds of numbers.
    factor : of all slopes of the table.
    constant : in place of that of the table.
    error : (uniform numbers, columns, generator) to errors; of counts, to factors of the rate.
    bend : added to the margin of rows; then no model of the columns is right, and the truth is the best one.
    relation : of neighbours.
    route : "rows", "stream", "moments" or "learned": where a fit takes rows, or their bounds, from.
    options : of the fit.
    """

    name: str
    table: Table
    n: int = 5_000
    eps: float = 1.0
    delta: float = 1e-6
    model: str = "linear"
    target: tuple[float, float] | None = (-4, 4)
    factor: float = 1.0
    constant: float | None = None
    error: Error | None = None
    bend: Callable[[Columns], np.ndarray] | None = None
    relation: str = "replace_one"
    route: str = "rows"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def truth(self) -> dict[str, float]:
        """Coefficients by name, where the model is right."""
        constant = self.table.constant if self.constant is None else self.constant
        return {name: self.factor * slope for name, slope in self.table.slopes.items()} | {t.INTERCEPT: constant}

    def targets(self, columns: Columns, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The target of each row, from uniform numbers u, which may be alike within a person."""
        names, Z = t.matrix(columns, self.table.bounds)
        margins = Z @ np.array([self.truth[name] for name in names])
        margins = margins if self.bend is None else margins + self.bend(columns)
        if self.model == "logistic":
            return (u < special.expit(margins)).astype(float)
        if self.model == "poisson":
            rates = np.exp(margins) * (1.0 if self.error is None else self.error(u, columns, rng))
            return np.minimum(rng.poisson(rates), (self.target or (0, 0))[1]).astype(float)
        return margins + (normal(0.5) if self.error is None else self.error)(u, columns, rng)


def normal(deviation: float) -> Error:
    return lambda u, columns, rng: deviation * special.ndtri(u)


def laplace(u: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(0, 0.35, len(u))


def heavy(degrees: float, deviation: float) -> Error:
    return lambda u, columns, rng: deviation * rng.standard_t(degrees, len(u))


def outliers(u: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Two of a hundred rows have errors ten times as large."""
    return special.ndtri(u) * np.where(rng.random(len(u)) < 0.02, 2.0, 0.2)


def unequal(u: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Errors that grow with the square of the first column."""
    return (0.1 + 1.5 * columns["a"] ** 2) * special.ndtri(u)


def scattered(u: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Rates that scatter: variances are two to three times the mean."""
    return rng.gamma(1.0, 1.0, len(u))


LOGISTIC: dict[str, Any] = {"model": "logistic", "target": None}
COUNTS: dict[str, Any] = {"model": "poisson", "target": (0, 12)}
HUBER: dict[str, Any] = {"model": "huber", "target": (-5, 5)}
PRICE: dict[str, Any] = {"target": (0, 20_000), "error": normal(700)}

DESIGNS = (
    # Numbers: easy ones, then wide bounds.
    Design("even", t.EVEN),
    Design("even, 300 rows", t.EVEN, 300, 10.0, 0.0),
    Design("even, 100,000 rows", t.EVEN, 100_000, 0.1),
    Design("even, added or removed", t.EVEN, 5_000, 1.0, 0.0, relation="add_remove"),
    Design("one number", t.ONE, 1_000, 0.5, 0.0, factor=2),
    Design("no effect at all", t.EVEN, 5_000, factor=0),
    Design("a number in 2 % of its bounds", t.narrow(0.02, 40), 30_000, 5.0),
    Design("a number in 10 % of its bounds", t.narrow(0.1, 8), 20_000),
    Design("a number in 30 % of its bounds", t.narrow(0.3, 3), 5_000, delta=0.0),
    Design("bounds of a codebook", t.CODEBOOK, 10_000, 1.0, 0.0, **PRICE),
    Design("bounds of a codebook", t.CODEBOOK, 10_000, 3.0, **PRICE),
    Design("bounds of a codebook", t.CODEBOOK, 50_000, 3.0, **PRICE),
    Design("year in (0, 2100)", t.YEAR),
    Design("year in (0, 2100)", t.YEAR, 30_000, 5.0),
    Design("year in (0, 2100), rare flag", t.YEAR_AND_FLAG, 30_000, 5.0),
    Design("income in (0, 1e7)", t.INCOME, target=(-5, 8), error=normal(1)),
    Design("income in (0, 1e7)", t.INCOME, 30_000, 5.0, target=(-5, 8), error=normal(1)),
    # Rare flags and levels.
    Design("flag of .3 %", t.rare(0.003, 0.8), 20_000),
    Design("flag of .3 %", t.rare(0.003, 3), 5_000),
    Design("flag of 1 %", t.rare(0.01), 20_000, delta=0.0),
    Design("flag of 2 %, narrow number", t.NARROW_AND_FLAG, 4_000, 3.0),
    Design("level of .4 %", t.levels(0.7, 0.296, 0.004)),
    Design("three levels of .2 %", t.levels(0.5, 0.494, 0.002, 0.002, 0.002), 30_000),
    Design("rare reference", t.levels(0.01, 0.49, 0.5), 20_000, 3.0),
    # Correlated, with heaps, skewed, far away.
    Design("correlation .9", t.correlated(0.9), 20_000),
    Design("correlation .99", t.correlated(0.99), 20_000, 3.0),
    Design("five numbers, correlation .8", t.correlated(0.8, 5), 20_000),
    Design("two heaps", t.TWO_HEAPS, delta=0.0),
    Design("weeks worked: 0 or 52", t.WEEKS, 20_000, target=(-14, 6)),
    Design("skewed", t.SKEWED, 10_000),
    Design("Pareto", t.PARETO, 20_000),
    Design("nine of ten are 0", t.ZEROS, 10_000, delta=0.0),
    Design("whole numbers", t.INTEGERS, 3_000, 2.0),
    Design("far group of 1 %", t.far(0.01), 10_000),
    Design("far group of .2 %", t.far(0.002), 20_000, 3.0),
    Design("far group off the line", t.far(0.01), 10_000, bend=lambda c: -3.0 * (c["a"] > 0.5)),
    # Errors and targets.
    Design("errors of Laplace", t.EVEN, error=laplace),
    Design("errors of t with 3 degrees", t.EVEN, 10_000, target=(-12, 12), error=heavy(3, 0.4)),
    Design("2 % outliers", t.EVEN, target=(-8, 8), error=outliers),
    Design("unequal variances", t.EVEN, 20_000, 3.0, target=(-8, 8), error=unequal),
    Design("curved", t.EVEN, 20_000, bend=lambda c: 2 * (c["a"] - 0.3) ** 2 + np.sin(6 * c["b"])),
    Design("target at an end of its bounds", t.EVEN, 10_000, target=(-100, 3)),
    Design("target in .1 % of its bounds", t.EVEN, 100_000, 3.0, target=(0, 4_000), constant=3_500),
    Design("tiny scales", t.TINY, 5_000),
    Design("huge scales", t.HUGE, 10_000, 0.5),
    # Persons, weights, moments, learned bounds, streams.
    Design("persons", t.EVEN, 5_000, options={"person": True}),
    Design("persons, added or removed", t.EVEN, 2_000, 3.0, 0.0, relation="add_remove", options={"person": True}),
    Design("weights", t.EVEN, 10_000, options={"sample_weight": True}),
    Design("moments", t.EVEN, route="moments"),
    Design("moments, skewed", t.SKEWED, 10_000, 2.0, 0.0, route="moments"),
    Design("moments, flag of .3 %", t.rare(0.003, 2), 20_000, route="moments"),
    Design("moments, bounds of a codebook", t.CODEBOOK, 10_000, 3.0, route="moments", **PRICE),
    Design("moments, added or removed", t.EVEN, relation="add_remove", route="moments"),
    Design("learned bounds", t.EVEN, route="learned"),
    Design("learned bounds, skewed", t.SKEWED, 10_000, 2.0, route="learned"),
    Design("learned bounds of a codebook", t.CODEBOOK, 10_000, 3.0, 0.0, route="learned", **PRICE),
    Design("stream", t.EVEN, route="stream"),
    # Labels.
    Design("even", t.EVEN, **LOGISTIC),
    Design("even", t.EVEN, delta=0.0, **LOGISTIC),
    Design("even, 500 rows", t.EVEN, 500, 10.0, 0.0, **LOGISTIC),
    Design("even, added or removed", t.EVEN, 5_000, relation="add_remove", **LOGISTIC),
    Design("slopes 20 and -8", t.TWO, 10_000, 3.0, 0.0, factor=20, constant=-6, **LOGISTIC),
    Design("slopes 14 and -5.6", t.TWO, 10_000, 1.0, 0.0, factor=14, constant=-4.2, **LOGISTIC),
    Design("slopes 7 and -2.8", t.TWO, 10_000, 1.0, factor=7, constant=-2.1, **LOGISTIC),
    Design("labels of 1.4 %", t.TENTHS, 50_000, 0.5, 0.0, **LOGISTIC),
    Design("labels of 1.4 %", t.TENTHS, 20_000, 1.0, 0.0, **LOGISTIC),
    Design("labels of 1.4 %", t.TENTHS, 20_000, 3.0, **LOGISTIC),
    Design("labels of 97 %", t.EVEN, 100_000, 0.3, constant=3.3, **LOGISTIC),
    Design("weeks worked: 0 or 52", t.WEEKS, 20_000, **LOGISTIC),
    Design("weeks worked: 0 or 52", t.WEEKS, 20_000, delta=0.0, **LOGISTIC),
    Design("two heaps", t.TWO_HEAPS, 5_000, 2.0, factor=3, constant=-1.5, **LOGISTIC),
    Design("skewed", t.SKEWED, 20_000, factor=2, **LOGISTIC),
    Design("flag of 1 %", t.rare(0.01, 3), 20_000, **LOGISTIC),
    Design("level of .4 %", t.levels(0.7, 0.296, 0.004), 20_000, 3.0, 0.0, **LOGISTIC),
    Design("a number in 10 % of its bounds", t.narrow(0.1, 20), 20_000, **LOGISTIC),
    Design("year in (0, 2100)", t.YEAR, 30_000, 3.0, factor=3, constant=-0.075 * 2005, **LOGISTIC),
    Design("far group of 1 %", t.far(0.01), 20_000, **LOGISTIC),
    Design("curved", t.EVEN, 20_000, 3.0, bend=lambda c: 6 * (c["a"] - 0.5) ** 2 - 1, **LOGISTIC),
    Design("persons", t.EVEN, 5_000, options={"person": True}, **LOGISTIC),
    Design("weights", t.EVEN, 20_000, 1.0, 0.0, options={"sample_weight": True}, **LOGISTIC),
    Design("learned bounds, skewed", t.SKEWED, 20_000, 2.0, factor=2, route="learned", **LOGISTIC),
    Design("stream", t.EVEN, 5_000, 2.0, 0.0, route="stream", **LOGISTIC),
    # Counts, and robust locations.
    Design("mean 1", t.EVEN, 20_000, 3.0, **COUNTS),
    Design("mean .05", t.EVEN, 50_000, 3.0, constant=-3.2, **(COUNTS | {"target": (0, 3)})),
    Design("mean 24 of 120", t.EVEN, 20_000, 3.0, **(COUNTS | {"target": (0, 120)}), constant=3.2),
    Design("scattered rates", t.EVEN, 50_000, 3.0, error=scattered, **(COUNTS | {"target": (0, 40)})),
    Design("errors of t with 2 degrees", t.EVEN, 10_000, error=heavy(2, 0.5), **HUBER),
    Design("target at an end of its bounds", t.EVEN, 10_000, 3.0, **(HUBER | {"target": (-40, 3)})),
)
