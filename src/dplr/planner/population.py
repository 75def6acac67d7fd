"""Where simulated rows come from: made up within public bounds, or drawn from public rows.

Simulated rows are numbers: a level is its position among the declared ones. Bounds by position whose levels are these
positions have the same layout, and so the same noise, as the bounds that the user declared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.columns import INDICATOR, Bins, Column, Curve, Levels, Numeric, Pair, middle
from dplr.bounds.declared import UNKNOWN
from dplr.fitting.planning import PublicFacts
from dplr.fitting.pretraining import PublicData, read_public
from dplr.planner.assumptions import Assumptions
from dplr.planner.laws import INVERSES, NARROW, TRIANGLE, ColumnLaw, laws_of, sentences
from dplr.rows import LabelRule

Matrix = NDArray[np.float64]
NotebookView = tuple[Matrix, NDArray[Any]]

MISSING_SHARE = 0.05  # of every column whose bounds say what a missing value counts as
_LOGISTIC_VARIANCE = math.pi**2 / 3
_LEAST_SAMPLE = 30


class Population(Protocol):
    """Draws rows and their targets; the order of classes and columns is that of the coded bounds."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The assumptions as sentences."""
        ...

    def table(self, number: int, rows: int, scored: int) -> tuple[NotebookView, NotebookView]:
        """Rows to fit and rows to score; the same for the same number."""
        ...


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Rows that are independent from column to column, and a target from a linear or logistic model of them.

    Attributes
    ----------
    columns : that are declared; None for rows of the unit ball.
    n_features : of the table.
    classes : number of labels; 0 for a numeric target.
    target : the range of a numeric target.
    assume : signal, shares, spreads, and seed.
    features : names of the columns; None for their places.
    counts : whether the target is a count.
    narrow : whether columns of which nothing is assumed are narrow; else they fill their bounds.
    """

    columns: tuple[Column, ...] | None
    n_features: int
    classes: int
    target: Pair
    assume: Assumptions
    features: tuple[str, ...] | None = None
    counts: bool = False
    narrow: bool = False

    def __post_init__(self) -> None:
        if self.columns is None and (self.assume.shares or self.assume.spread):
            remedy = "Declare bounds=dplr.Bounds(...)."
            raise ValueError(sentence("shares", "and spread are of declared columns", "no bounds", remedy))
        _ = self.laws

    @cached_property
    def laws(self) -> tuple[ColumnLaw, ...]:
        """The law of each column."""
        return laws_of(self.columns or (), self._names, self.assume, self.narrow)

    @property
    def _names(self) -> tuple[str, ...]:
        columns = self.columns or ()
        return tuple(f"column {j}" for j in range(len(columns))) if self.features is None else self.features

    @property
    def _of_ball(self) -> float:
        """The deviation of each number of narrow rows in the unit ball: at most that of rows all over it."""
        return min(1 / math.sqrt(self.n_features + 2), 2 * NARROW)

    @property
    def _spread(self) -> float:
        """The deviation of a numeric target, in parts of its range."""
        return TRIANGLE if self.assume.target_spread is None else self.assume.target_spread

    @property
    def facts(self) -> tuple[str, ...]:
        """The assumptions as sentences."""
        if self.columns is None:
            rows = ["rows are spread evenly over the unit ball"]
            if self.narrow:
                rows = [f"every number of a row has a deviation of {self._of_ball:.2g} within the unit ball"]
        else:
            rows = sentences(self.laws, self._names)
            if any(column.missing is not None for column in self.columns):
                rows.append(f"{MISSING_SHARE:.0%} are missing where the bounds allow it")
        rows.append("every column matters about as much, with a sign and a size that are drawn anew for each table")
        rows.append(f"the columns explain {self.assume.signal:.0%} of the target's variation")
        if self.classes == 2:
            rows.append(f"{self.assume.positive:.0%} of the labels are the second one")
        if self.counts:
            rows.append(f"the counts are Poisson, and {self._mean:.3g} in the mean")
        elif not self.classes:
            rows.append(f"the deviation of the target is {self._spread:.3g} of its range")
        return tuple(rows)

    def table(self, number: int, rows: int, scored: int) -> tuple[NotebookView, NotebookView]:
        """Rows to fit and rows to score; the same for the same number."""
        rng = np.random.default_rng([self.assume.seed, number])
        X, parts = self._rows(rng, rows + scored)
        draw = self._counts if self.counts else self._labels if self.classes else self._numbers
        y = draw(rng, parts)
        return (X[:rows], y[:rows]), (X[rows:], y[rows:])

    def _rows(self, rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
        """Rows as a user has them, and the same as what each column adds to the score: mean 0, deviation 1."""
        if self.columns is None:
            X = rng.normal(size=(n, self.n_features))
            X *= (rng.random(n) ** (1 / self.n_features) / np.linalg.norm(X, axis=1))[:, np.newaxis]
            parts = X * math.sqrt(self.n_features + 2)
            return parts * self._of_ball if self.narrow else X, parts
        X, parts = np.empty((n, len(self.columns))), np.empty((n, len(self.columns)))
        for j, (column, law) in enumerate(zip(self.columns, self.laws, strict=True)):
            X[:, j], parts[:, j] = law.values(rng, n)
            if column.missing is not None:
                gone = rng.random(n) < MISSING_SHARE
                X[gone, j], parts[gone, j] = math.nan, 0.0
        return X, parts

    def _numbers(self, rng: np.random.Generator, parts: Matrix) -> Matrix:
        """A numeric target around the middle of its range, clipped to it."""
        score = math.sqrt(self.assume.signal) * (parts @ _direction(rng, parts.shape[1]))
        score += math.sqrt(1 - self.assume.signal) * rng.normal(size=len(parts))
        low, high = self.target
        return np.clip(middle(self.target) + self._spread * (high - low) * score, low, high)

    @property
    def _mean(self) -> float:
        """Mean of counts above their lower bound: an eighth of their range, or what their deviation says."""
        low, high = self.target
        if self.assume.target_spread is None:
            return (high - low) / 8
        return (1 - self.assume.signal) * (self.assume.target_spread * (high - low)) ** 2

    def _counts(self, rng: np.random.Generator, parts: Matrix) -> Matrix:
        """Poisson counts of lognormal rates, clipped to their range.

        Rates of mean m and variance m^2 (exp(t^2) - 1) are the share m (exp(t^2) - 1) / (1 + m (exp(t^2) - 1)) of the
        variance of counts.
        """
        signal, mean = self.assume.signal, self._mean
        spread = math.sqrt(math.log1p(signal / ((1 - signal) * mean)))
        rates = mean * np.exp(spread * (parts @ _direction(rng, parts.shape[1])) - spread**2 / 2)
        low, high = self.target
        return np.clip(low + rng.poisson(rates), low, high)

    def _labels(self, rng: np.random.Generator, parts: Matrix) -> NDArray[np.int64]:
        """Labels of a logistic model; of more than two, the one with the largest score and a Gumbel error."""
        reach = math.sqrt(self.assume.signal / (1 - self.assume.signal) * _LOGISTIC_VARIANCE)
        if self.classes == 2:
            score = reach * (parts @ _direction(rng, parts.shape[1])) + rng.logistic(size=len(parts))
            return (score > np.quantile(score, 1 - self.assume.positive)).astype(np.int64)
        slopes = np.column_stack([_direction(rng, parts.shape[1]) for _ in range(self.classes)])
        scores = reach / math.sqrt(2) * (parts @ slopes) + rng.gumbel(size=(len(parts), self.classes))
        return np.asarray(scores.argmax(axis=1), np.int64)


def _direction(rng: np.random.Generator, size: int) -> Matrix:
    direction = rng.normal(size=size)
    return np.asarray(direction / np.linalg.norm(direction))


@dataclass(frozen=True, eq=False)
class Resampled:
    """Rows drawn with replacement from public ones, two thirds of them; the others are scored."""

    X: Matrix
    y: NDArray[Any]
    seed: int

    @property
    def facts(self) -> tuple[str, ...]:
        """The assumptions as sentences."""
        return (f"the private rows are like the {len(self.y)} public rows that simulated tables are drawn from",)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.random.default_rng(self.seed).permutation(len(self.y))

    def table(self, number: int, rows: int, scored: int) -> tuple[NotebookView, NotebookView]:
        """Rows to fit and rows to score; the same for the same number."""
        rng = np.random.default_rng([self.seed, number])
        test, drawn = np.split(self._order, [len(self.y) // 3])
        sample = rng.choice(drawn, rows)
        test = test[:scored]
        return (self.X[sample], self.y[sample]), (self.X[test], self.y[test])


def halves(sample: Resampled) -> tuple[NotebookView, Resampled]:
    """One half of public rows as rows and targets, and the other to draw from: no row is in both."""
    first, second = np.array_split(np.random.default_rng([sample.seed, 1]).permutation(len(sample.y)), 2)
    return (sample.X[first], sample.y[first]), replace(sample, X=sample.X[second], y=sample.y[second])


def read_sample(sample: tuple[Any, Any], facts: PublicFacts, seed: int, parameter: str) -> Resampled:
    """Public rows as simulated rows are; raises ValueError for what does not fit the bounds, under this name."""
    try:
        columns = facts.columns or facts.public_columns
        data = read_public(sample, facts.n_features, columns, facts.fit_intercept, facts.layout)
        if not isinstance(data, PublicData):
            raise ValueError(sentence("public", "must be a pair (X, y) of rows and their targets", sample))
        if len(data.y) < _LEAST_SAMPLE:
            raise ValueError(sentence("public", f"must have at least {_LEAST_SAMPLE} rows", len(data.y)))
        y = data.y.as_float() if not facts.loss.classification else _positions(data, facts)
    except ValueError as error:
        raise ValueError(str(error).replace("`public`", f"`{parameter}`").replace("`y`", f"`{parameter}`")) from None
    X = data.X if facts.layout is None else _decoded(data.X, facts.layout.columns, facts.layout.firsts)
    return Resampled(X, y, seed)


def _positions(data: PublicData, facts: PublicFacts) -> NDArray[np.int64]:
    """The position of every label among the declared ones."""
    threshold = facts.bounds.threshold if facts.bounds is not None else None
    labels = LabelRule(facts.classes).of((data if threshold is None else data.above(threshold)).y)
    if len(labels.classes) > 2:
        positions = np.asarray(labels.y, np.int64)
    else:
        positions = np.select([labels.y == code for code in labels.codes], [0, 1], 2).astype(np.int64)
    if (positions == len(labels.classes)).any():
        rule = f"must hold only the labels {labels.classes.tolist()}"
        raise ValueError(sentence("public", rule, "another one", "Recode its labels."))
    return positions


def _decoded(encoded: Matrix, columns: tuple[Column, ...], firsts: tuple[int, ...]) -> Matrix:
    """Numbers and positions of levels, from columns of the model; values that were filled in stay so."""
    X = np.empty((len(encoded), len(columns)))
    for j, (column, first) in enumerate(zip(columns, firsts, strict=False)):
        block = encoded[:, first + (column.number is not None) :][:, : column.block]
        if isinstance(column, Numeric):
            scaled = encoded[:, first]
            if isinstance(column, Curve) and not column.line:
                scaled = block[:, : len(column.places)] @ np.array(column.places)
            X[:, j] = INVERSES[column.transform](scaled) if column.transform in INVERSES else scaled
        elif column.number is not None:
            X[:, j] = encoded[:, first]
        else:
            X[:, j] = _from_block(block, column)
        if column.missing == INDICATOR:
            X[block[:, -1] != 0, j] = math.nan
    return X


def _from_block(block: Matrix, column: Column) -> Matrix:
    """A value of the level or of the bin that is set; where none is, of the reference, or of no level."""
    assert isinstance(column, Bins | Levels)
    if isinstance(column, Bins):
        ends = np.array([column.lower, *column.edges, column.upper])
        values = (ends[:-1] + ends[1:]) / 2
        default = math.nan if column.reference is None else column.reference
    else:
        values, default = np.arange(len(column.levels), dtype=np.float64), UNKNOWN
    kept = np.array([value for value, place in zip(values, column.places, strict=True) if place >= 0])
    numbers = np.full(len(block), default)
    rows, places = np.nonzero(block[:, : len(kept)])
    numbers[rows] = kept[places]
    return numbers
