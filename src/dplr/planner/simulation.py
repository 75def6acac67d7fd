"""Private fits of simulated tables: their errors, and how far coefficients lie from those without privacy.

Where each level or bin of a column has a coefficient, all of them may move together and the intercept the other way
without any change of the model. Such coefficients are compared after the mean of their block was subtracted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import silent
from dplr._kit.validation import sentence
from dplr._kit.warnings import DataWarning, PrivacyWarning, UtilityWarning, muted
from dplr.bounds import Bounds
from dplr.bounds.declared import codebook_of, coded_bounds, with_numbers
from dplr.fitting.data import declared_unit, read
from dplr.fitting.planning import PublicFacts
from dplr.fitting.run import FitInput, Release, release
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import FunctionalMechanism
from dplr.mechanisms.protocol import MechanismLike, chosen_columns
from dplr.noise import Source
from dplr.planner.assumptions import Assumptions
from dplr.planner.population import MadeUp, NotebookView, Population, halves, read_sample
from dplr.problem.losses import SQUARED
from dplr.rows import LabelRule, as_target, predictors
from dplr.summary.equations import equations_of, readings_of
from dplr.summary.subject import ends_of

_ENTRIES = 2_000_000  # numbers of one simulated table: a second of noisy gradient descent
_SCORED = 10_000  # rows that are scored
_SAYS = 0.9  # of what the bound of an effect leaves: a wider interval says hardly more than the bound


@dataclass(frozen=True, slots=True)
class TableResult:
    """The errors of the fits of one simulated table at one eps.

    Attributes
    ----------
    error : mean over fits of the share of wrong answers, or of the root mean squared error.
    noise : (n_columns,) variance of each coefficient over the fits; over classes, its mean.
    distance : (n_columns,) mean squared distance of each coefficient from the fit without privacy.
    """

    error: float
    noise: NDArray[np.float64]
    distance: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reference:
    """The errors on one simulated table without privacy, and without a model.

    Attributes
    ----------
    error : of the model fitted without noise.
    baseline : of the most frequent label, or of the mean.
    coef : (n_models, n_columns), without noise, in the user's units.
    """

    error: float
    baseline: float
    coef: NDArray[np.float64]


@dataclass(eq=False)
class Simulator:
    """Fits of simulated tables under the facts of a plan.

    Attributes
    ----------
    facts : of the plan, whose bounds, labels and options all fits have.
    assume : what is assumed beside them.
    narrow : whether columns of which nothing is assumed are narrow; else they fill their bounds.
    """

    facts: PublicFacts
    assume: Assumptions
    narrow: bool = False
    _references: dict[tuple[int, int], Reference] = field(default_factory=dict)
    _tables: dict[tuple[int, int], tuple[NotebookView, NotebookView]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.population: Population
        self._bounds, self.population, self._public = _prepared(self.facts, self.assume, self.narrow)

    @property
    def width(self) -> int:
        """Coefficients of one model."""
        return self.facts.n_features if self.facts.layout is None else self.facts.layout.width

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        if self.facts.layout is None:
            return tuple(f"column {j}" for j in range(self.width))
        return self.facts.layout.names

    @property
    def assumed(self) -> tuple[str, ...]:
        """Sentences on what was made up."""
        facts, unit = list(self.population.facts), self.facts.unit
        if unit.person is not None:
            facts.append("every person has one row, which counts whole")
        if unit.weight_max is not None:
            facts.append(f"every row has the weight {self._weight:g}, of at most {unit.weight_max:g}")
        return tuple(facts)

    @property
    def _weight(self) -> float:
        """The weight of every simulated row."""
        largest = self.facts.unit.weight_max or 1.0
        return largest / 2 if self.assume.mean_weight is None else min(self.assume.mean_weight, largest)

    @property
    def reach(self) -> NDArray[np.float64]:
        """(n_columns,) by how much each column can grow within its bounds."""
        pairs = [(-1.0, 1.0)] * self.width if self.facts.layout is None else self.facts.layout.pairs
        return np.array([high - low for low, high in pairs])

    @property
    def most_rows(self) -> int:
        """Rows of the largest simulated table."""
        return self.assume.rows or max(1000, _ENTRIES // self.width)

    def rows_for(self, n_rows: int) -> int:
        """How many rows a simulated table has that stands for this number."""
        return min(n_rows, self.most_rows)

    def fits(
        self, mechanism: MechanismLike, levels: Sequence[float], delta: float, n_rows: int
    ) -> list[list[TableResult]]:
        """For each eps one result per table: all tables are the same for all eps, deltas and mechanisms."""
        rows, every = self.rows_for(n_rows), []
        for number in range(self.assume.tables):
            (X, y), _ = self._table(number, rows)
            repeated = [eps for eps in levels for _ in range(self.assume.fits)]
            done = self._fit(X, y, mechanism, repeated, delta, number)
            count = self.assume.fits
            parts = [done[first : first + count] for first in range(0, len(done), count)]
            every.append([self._result(part, number, rows) for part in parts])
        return [list(results) for results in zip(*every, strict=True)]

    def interval_widths(
        self, mechanism: MechanismLike, eps: float, delta: float, n_rows: int, level: float, places: Sequence[int]
    ) -> NDArray[np.float64]:
        """(fits, places) widths of the confidence intervals of these coefficients; over classes, their mean.

        A fit has a further knot where a range of its own narrowed the line of a curve.
        """
        plan = mechanism, eps, delta, n_rows, level, places
        return np.array([widths for number in range(self.assume.tables) for widths in self.table_widths(number, *plan)])

    def table_widths(
        self,
        number: int,
        mechanism: MechanismLike,
        eps: float,
        delta: float,
        n_rows: int,
        level: float,
        places: Sequence[int],
    ) -> list[NDArray[np.float64]]:
        """The same of each fit of one table."""
        (X, y), _ = self._table(number, self.rows_for(n_rows))
        repeated = [eps] * (self.assume.fits if math.isfinite(eps) else 1)
        done = self._fit(X, y, mechanism, repeated, delta, number)
        return [np.mean([of_model[list(places)] for of_model in self._widths(fit, level)], axis=0) for fit in done]

    def references(self, n_rows: int) -> list[Reference]:
        """The errors on each table without privacy."""
        rows = self.rows_for(n_rows)
        return [self._reference(number, rows) for number in range(self.assume.tables)]

    def _table(self, number: int, rows: int) -> tuple[NotebookView, NotebookView]:
        """One table; those of the last number of rows are kept."""
        if any(kept != rows for _, kept in self._tables):
            self._tables.clear()
        if (number, rows) not in self._tables:
            self._tables[number, rows] = self.population.table(number, rows, _SCORED)
        return self._tables[number, rows]

    def _widths(self, done: Release, level: float) -> list[NDArray[np.float64]]:
        """Widths of the intervals of each model, by the place of the coefficient; infinite where it cannot say.

        A line that says hardly more than the bound of its effect counts as one that cannot.
        """
        readings, kept = readings_of(done, done.coefs), chosen_columns(done.mechanism)
        labels = [str(label) for label in range(len(readings))]
        chosen, equations = equations_of(done, readings, self.names, labels, kept)
        every = []
        for equation in equations:
            low, high = ends_of(equation, level, False, None).T
            told = high - low < _SAYS * equation.longest()
            widths = np.full(len(self.names) + 1, math.nan)
            widths[list(chosen.coordinates)] = np.where(told, high - low, math.inf)
            every.append(widths)
        return every

    def _reference(self, number: int, rows: int) -> Reference:
        if (number, rows) not in self._references:
            (X, y), (test_rows, targets) = self._table(number, rows)
            # the squared loss has no bound on its slope, which "none" needs
            mechanism = FunctionalMechanism(ranges="off") if self.facts.loss == SQUARED else "none"
            plain = {"public": None, "aim": "prediction"}
            (done,) = self._fit(X, y, mechanism, [math.inf], 0.0, number, **plain)
            guess = np.bincount(y).argmax() if self.facts.loss.classification else y.mean()
            coef = self._identified(in_units(done)[0])
            reference = Reference(
                self._error(self._predicted(done, test_rows), targets), self._error(guess, targets), coef
            )
            self._references[number, rows] = reference
        return self._references[number, rows]

    def _result(self, fits: Sequence[Release], number: int, rows: int) -> TableResult:
        _, (test_rows, targets) = self._table(number, rows)
        coefs = self._identified(np.array([in_units(done)[0] for done in fits], np.float64))
        away = coefs - self._reference(number, rows).coef
        noise = coefs.var(axis=0, ddof=1) if len(fits) > 1 else np.full(coefs.shape[1:], math.nan)
        error = float(np.mean([self._error(self._predicted(done, test_rows), targets) for done in fits]))
        return TableResult(error, noise.mean(axis=0), (away**2).mean(axis=(0, 1)))

    def _predicted(self, done: Release, X: NDArray[np.float64]) -> NDArray[Any]:
        """Numbers, or positions of labels, as the fitted estimator predicts them."""
        prep, (coef, intercept) = done.prep, in_units(done)
        with quiet():
            rows = prep.counted(X if prep.layout is None or prep.layout.plain else predictors(X, prep.layout))
        if len(coef) > 1:
            return np.asarray((rows @ coef.T + intercept).argmax(axis=1))
        margins = rows @ coef[0] + intercept[0]
        return (margins > 0).astype(np.intp) if self.facts.loss.classification else prep.predicted(margins)

    def _identified(self, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients (..., n_columns), those of a block less their mean where every level has one."""
        layout = self.facts.layout
        contrasts = coefs.copy()
        for first, column in zip(layout.firsts, layout.columns, strict=False) if layout is not None else ():
            if column.number is None and getattr(column, "reference", None) is None:
                block = contrasts[..., first : first + column.block]
                block -= block.mean(axis=-1, keepdims=True)
        return contrasts

    def _error(self, predicted: Any, targets: NDArray[Any]) -> float:
        if self.facts.loss.classification:
            return float(np.mean(predicted != targets))
        return float(np.sqrt(np.mean((predicted - targets) ** 2)))

    def _fit(
        self, X: Any, y: Any, mechanism: MechanismLike, levels: Sequence[float], delta: float, number: int, **plain: Any
    ) -> list[Release]:
        """Fits with noise from a seed: simulated rows need no protection, and no promise is made."""
        unit, bounds = self.facts.unit, self._bounds
        ids = None if unit.person is None else np.arange(len(y))
        weights = None if unit.weight_max is None else np.full(len(y), self._weight)
        if unit.weight_max is not None:
            bounds = with_numbers(bounds, 1, unit.weight_max)
        rule = None
        if self.facts.loss.classification:
            rule = LabelRule([0, 1] if self._bounds is None else self._bounds.target_classes())
        with quiet():
            data = read(X, y, weights, ids, declared=declared_unit(None, bounds)).counted(X, as_target(y), rule)
            # The reference of add_remove is what was planned for.
            shape: dict[str, Any] = {"n_rows": len(y), "columns": None, "unit": data.unit}
            shape["bounds"] = codebook_of(bounds)
            if data.labels is not None:
                shape |= {"classes": data.labels.classes.tolist(), "label_codes": data.labels.codes}
            options = {"mechanism": mechanism, "delta": delta, "public": self._public, **plain}
            facts = replace(self.facts, **shape, **options, curves=None, public_columns=None)
            planned = {eps: facts.planned(eps) for eps in dict.fromkeys(levels)}
            source = Source(self.assume.seed * self.assume.tables + number)
            plans = [planned[eps] for eps in levels]
            return release(FitInput(data, facts), plans, NullLedger(), source, silent)


def in_units(done: Release) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients (models, columns) and intercepts of a release in the user's units."""
    models = [done.prep.to_user_units(coef) for coef in done.models]
    return np.array([coef for coef, _ in models]), np.array([intercept for _, intercept in models])


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of eps, of what is clipped, and of levels that are unknown."""
    with muted(PrivacyWarning), muted(DataWarning), muted(UtilityWarning):
        yield


def simulator(facts: PublicFacts, assume: Assumptions, narrow: bool = False) -> Simulator:
    """A simulator of fits with these facts, of columns that fill their bounds or are narrow."""
    return Simulator(facts, assume, narrow)


def _prepared(facts: PublicFacts, assume: Assumptions, narrow: bool) -> tuple[Bounds | None, Population, Any]:
    """Coded bounds, where rows come from, and where fits start."""
    count = len(facts.classes) if facts.classes is not None else 2
    count = count if facts.loss.classification else 0
    target = facts.target_pair or (-1.0, 1.0)
    bounds = coded_bounds(facts.bounds, count, target)
    sample = None if assume.sample is None else read_sample(assume.sample, facts, assume.seed, "sample")
    if facts.public is None:
        columns = None if facts.layout is None else facts.layout.columns
        features = None if facts.layout is None else facts.layout.features
        counts = facts.loss.link == "log"
        made_up = MadeUp(columns, facts.n_features, count, target, assume, features, counts, narrow)
        return bounds, made_up if sample is None else sample, None
    if _is_data(facts):
        start, rest = halves(read_sample(facts.public, facts, assume.seed, "public"))  # type: ignore[arg-type]
        return bounds, rest if sample is None else sample, start
    if sample is None:
        remedy = "Give public rows that are like the private ones: assume=dplr.planner.Assumptions(sample=(X, y))."
        rule = "must be rows and targets where a fit is simulated, as made-up rows know nothing of its coefficients"
        raise ValueError(sentence("public", rule, type(facts.public).__name__, remedy))
    public: Any = facts.public
    return bounds, sample, (public.coef_, public.intercept_) if hasattr(public, "coef_") else public


def _is_data(facts: PublicFacts) -> bool:
    from dplr.fitting.pretraining import PublicData

    return isinstance(facts.start, PublicData)
