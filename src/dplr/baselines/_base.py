"""The base of both baselines: a noisy table of counts, and a regression of its cells."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import check_choice, check_eps, sentence
from dplr._kit.warnings import DataWarning, muted
from dplr.baselines._fitted import CellModel
from dplr.baselines.grid import Grid, grid_of
from dplr.baselines.hits import Positions
from dplr.baselines.law import TwoSided, bins_per_column, two_sided
from dplr.baselines.limits import bins_of_each, check_size, check_threshold, check_walk
from dplr.baselines.solving import fitted
from dplr.baselines.table import Counts, counted, noisy
from dplr.bounds.columns import Levels, Numeric
from dplr.bounds.declared import BoundsLike, as_bounds
from dplr.bounds.layout import Layout
from dplr.estimators import LinearRegression, LogisticRegression, _html
from dplr.estimators._callers import call_stack, remember
from dplr.estimators._html import DOCUMENTATION, NotebookView
from dplr.fitting import run as fitting
from dplr.fitting.data import refuse_units
from dplr.fitting.options import FitOptions, estimator
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.fitting.run import FitInput, accounted
from dplr.ledger.handle import LedgerLike, as_ledger
from dplr.mechanisms import NoPrivacy
from dplr.noise import Source
from dplr.privacy.guarantees import Pure
from dplr.privacy.law import Law
from dplr.privacy.sensitivity import cell_counts
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.plan import Plan
from dplr.rows import Rows, encoded
from dplr.rows.exact import Moments

MODELS = ("logistic", "linear")
Sampled = tuple[Positions, NDArray[np.float64]]


@dataclass(frozen=True, eq=False, slots=True)
class TablePlan:
    """The plan of a release, from public facts alone."""

    grid: Grid
    law: TwoSided
    theta: int
    statement: PrivacyStatement


@dataclass(frozen=True, eq=False, slots=True)
class Known:
    """All that a model may know of the rows beside what was released: public facts, the target's name, the labels."""

    facts: PublicFacts
    target_name: str | None
    classes: NDArray[Any] | None


class _Labels(LogisticRegression):
    """The part that reads rows and predicts labels. A type of its own, so no file is made of it alone."""


class _Numbers(LinearRegression):
    """The part that reads rows and predicts numbers."""


def _classifies(estimator: Any) -> bool:
    return bool(estimator.model == "logistic")


@estimator
class TableModel(NotebookView, CellModel, BaseEstimator):  # type: ignore[misc]
    """A model of the cells of a noisy table of counts."""

    _doc_link_template = DOCUMENTATION + "reference/api/dplr.baselines.{estimator_name}.html"

    _mechanism: ClassVar[str]
    _source_of: ClassVar[str]
    eps: float = 1.0
    model: str = "logistic"
    bounds: BoundsLike = None
    classes: Any = None
    fit_intercept: bool = True
    neighbouring: str = "replace_one"
    n_rows: int | None = None
    bins: int | Sequence[int | None] | None = None
    ledger: LedgerLike = None
    rng: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Spend eps on a table of the rows, and fit the model to its cells.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or table
            Rows of an array, or of a table of pandas, polars or Arrow.
        y : array-like of shape (n_rows,)
            Labels, or numbers with ``model="linear"``.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule. No noise was drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay for the fit. No row was read, and nothing was spent.

        Privacy
        -------
        Spends eps, once, under `neighbouring`. The noisy counts are released, and the model is post-processing of them.
        """
        model = self._plain_model()
        ledger, bounds = as_ledger(self.ledger), as_bounds(self.bounds)
        refuse_units(bounds, "with a table of counts")
        eps = check_eps(self.eps)
        ready = model._prepared(X, y, bounds, [eps])
        plan = self._plan(ready.facts, eps)
        check_promise([eps], ready.facts)
        source = model._source()
        plan = replace(plan, statement=replace(plan.statement, reproducible=source.reproducible))
        with ready.explaining():
            rows = _rows_of(ready)  # what is wrong with the columns is said before anything is reserved
            work = functools.partial(self._release, ready, rows, plan, source)
            released = accounted(ledger, [plan.statement], source, work)
        subject = Known(ready.facts, ready.data.name, None if ready.data.labels is None else ready.data.labels.classes)
        return self._take(model, subject, plan, released)

    def _plain_model(self) -> Any:
        """The model without privacy that reads rows and predicts: the same checks, units and conventions."""
        kind = _Labels if check_choice("model", self.model, MODELS) == "logistic" else _Numbers
        shared = [each.name for each in fields(FitOptions) if hasattr(self, each.name)]
        labels = {"classes": self.classes} if self.model == "logistic" else {}
        model: Any = kind(mechanism="none", **{name: getattr(self, name) for name in shared}, **labels)
        model._alias = type(self).__name__
        remember(model, (), self)
        return model

    def _plan(self, facts: PublicFacts, eps: float) -> TablePlan:
        """Fix the table, the noise, the threshold and the statement."""
        layout = facts.layout
        if layout is None:
            remedy = "Declare bounds=dplr.Bounds(...) of the columns of X: they say which cells there are."
            raise ValueError(sentence("bounds", "must be declared for a table of counts", self.bounds, remedy))
        if layout.products:
            raise ValueError(sentence("bounds", "must have no products with a table of counts", self.bounds))
        if facts.model_labels:
            rule = "must be two labels with a table of counts"
            raise ValueError(sentence("classes", rule, facts.model_labels, "Fit one label against the rest."))
        problem = facts.problem
        sensitivity = cell_counts(problem.neighbouring.records_changed)
        check_walk(eps, sensitivity)
        law = two_sided(eps, sensitivity)
        grid = grid_of(layout, facts.prep.target, self._bins(layout, facts))
        theta, cut = self._threshold(law, grid.cells, facts.n_rows)
        check_threshold(theta)
        check_size(law, grid, theta)
        shape = " x ".join(str(size) for size in grid.sizes)
        named = f"counts of {shape} cells, L1 sensitivity {sensitivity}; a = 1 - {law.stop} / 2^32; {cut}"
        statement = PrivacyStatement(
            mechanism=self._mechanism,
            eps=eps,
            delta=0.0,
            guarantee=Pure(eps),
            neighbouring=problem.neighbouring,
            released={"counts": _block(law, grid, sensitivity)},
            calibration=named,
            assumptions=(*problem.assumptions, *_middles(layout)),
            arithmetic="integer",
            reproducible=False,
            source=f"{self._source_of}; dplr baselines/histogram.md, theorems 1 and 2",
            uncovered=facts.uncovered,
        )
        return TablePlan(grid, law, theta, statement)

    @abstractmethod
    def _threshold(self, law: TwoSided, cells: int, n_rows: int | None) -> tuple[int, str]:
        """The least noisy count that is released, and what the statement says of it."""

    def _sampled(self, positions: Positions, counts: Counts, rows: int | None, source: Source) -> Sampled:
        """Positions and weights of the cells, from the noisy counts."""
        return positions, counts.astype(np.float64)

    def _bins(self, layout: Layout, facts: PublicFacts) -> list[int]:
        """Bins of each column and of the target; they count for numbers with bounds."""
        numeric = [isinstance(column, Numeric) for column in layout.columns] + [facts.prep.target is not None]
        bins = bins_of_each(self.bins, len(numeric))
        if any(count is None and counts for count, counts in zip(bins, numeric, strict=True)):
            if facts.n_rows is None:
                remedy = "The usual number of bins depends on it. Or give `bins`."
                raise ValueError(sentence("n_rows", "must be declared under add_remove", None, remedy))
            default = bins_per_column(facts.n_rows, len(numeric))
            bins = [default if count is None else count for count in bins]
        return [1 if count is None else count for count in bins]

    def _release(self, ready: FitInput, rows: Rows, plan: TablePlan, source: Source) -> Sampled:
        """Check every value, count the rows of each cell, add noise."""
        facts, labels = ready.facts, ready.data.labels
        rows.total(Moments(rows.geometry.d, rows.geometry.intercept > 0))  # raises for faulty rows
        assert facts.layout is not None
        if labels is None:
            target = ready.data.y.as_float()
        else:
            target = np.asarray(np.asarray(labels.y, np.float64) == labels.codes[1], np.float64)
        with muted(DataWarning):  # the sum above warned
            matrix = encoded(ready.data.X, facts.layout)
        codes = plan.grid.codes(matrix, target[:, None])
        positions, counts = counted(codes, plan.grid.sizes)
        cells = noisy(positions, counts, plan.grid.cells, plan.law, plan.theta, source)
        return self._sampled(*cells, facts.n_rows, source)

    def _take(self, model: Any, public: Known, plan: TablePlan, released: Sampled) -> Self:
        """Fit the model to what was released, and become it: no row, count or label of a row is at hand here."""
        (positions, weights), facts = released, public.facts
        coef, intercept = facts.prep.to_user_units(fitted(facts, plan.grid, positions, weights))
        model._name_columns(facts)
        model.target_name_ = public.target_name
        if public.classes is not None:
            model._set_labels(public.classes)
        model._set_coef(np.array([coef]), np.array([intercept]))
        exact = Plan(NoPrivacy(), facts.problem, plan.statement)
        model._record = fitting.Release(exact, plan.statement, facts.prep, [{}], {}, facts.bounds)
        self._model, self._grid = model, plan.grid
        self.privacy_: PrivacyStatement = plan.statement
        model.privacy_ = plan.statement
        self.released_: dict[str, NDArray[Any]] = {"cells": positions, "counts": weights}
        names = ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "target_name_", "classes_", "outcome_")
        for name in names:
            self.__dict__.pop(name, None)
            if name in model.__dict__:
                setattr(self, name, getattr(model, name))
        return self

    def points(self) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """The released cells as points: rows in the columns of `coef_`, targets, and weights.

        Returns
        -------
        rows : ndarray of shape (cells, n_coefs)
            Middles of the cells, in the columns of `coef_`.
        targets : ndarray of shape (cells,)
            Middles of the cells of a number, or labels.
        weights : ndarray of shape (cells,)
            Noisy counts; with `FilterPriority` weights of the sample.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.

        Privacy
        -------
        A function of `released_` and of public facts.
        """
        check_is_fitted(self)
        rows, targets = self._grid.points(self.released_["cells"])
        if _classifies(self):
            targets = self._model._labels[targets.astype(np.intp)]
        return rows, targets, self.released_["counts"]

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """Names of the entries of `coef_`, a tuple of str.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.
        """
        check_is_fitted(self)
        names: tuple[str, ...] = self._model.coef_names_
        return names

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; or numbers, clipped to the declared bounds of the target.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or table
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Predictions.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.
        ValueError
            X has other columns than the rows of the fit.

        Privacy
        -------
        A function of X and of the released model: as private as X.
        """
        check_is_fitted(self)
        return np.asarray(self._model.predict(X))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or table
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, 2)
            Probabilities, columns in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.
        ValueError
            X has other columns than the rows of the fit.

        Privacy
        -------
        A function of X and of the released model: as private as X.
        """
        check_is_fitted(self)
        return np.asarray(self._model.predict_proba(X))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Predict the margin, positive for the second of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or table
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Margins.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.
        ValueError
            X has other columns than the rows of the fit.

        Privacy
        -------
        A function of X and of the released model: as private as X.
        """
        check_is_fitted(self)
        return np.asarray(self._model.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Measure the share of right labels, or R^2 for numbers.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or table
            Rows with the columns of the fit.
        y : array-like of shape (n,)
            Their targets.

        Returns
        -------
        float
            The score, at most 1.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model is not fitted.
        ValueError
            X has other columns than the rows of the fit, or y has another length.

        Privacy
        -------
        A function of X and y, without noise: as private as they are.
        """
        check_is_fitted(self)
        return float(self._model.score(X, y))

    def _html_repr(self) -> str:
        return super()._html_repr() + _html.privacy_note(self)

    def __sklearn_clone__(self) -> Self:
        # A copy that is not fitted, unless a client asks for it that would break the promise.
        self._plain_model().__sklearn_clone__()  # it looks at who asks
        copied: Self = super().__sklearn_clone__()
        remember(copied, call_stack(), self)
        return copied

    def __sklearn_tags__(self) -> Any:
        tags, model = super().__sklearn_tags__(), self._plain_model()
        if "privacy_" in self.__dict__:
            model.privacy_ = self.privacy_  # a client of a fitted model is warned: its rows may be public
        else:
            remember(self, call_stack())
        model_tags = model.__sklearn_tags__()  # it looks at who asks
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(model_tags, name))
        tags.non_deterministic = True
        return tags


def _rows_of(ready: FitInput) -> Rows:
    """The rows, of which no value has been looked at."""
    return ready.data.rows(ready.facts.prep)


def _middles(layout: Layout) -> tuple[str, ...]:
    """The statement's sentence on values that are no levels and have no cell: 0, 1, ... are numbers."""
    named = zip(layout.features, layout.columns, strict=True)
    names = [name for name, column in named if isinstance(column, Levels) and column.number is not None]
    if not names:
        return ()
    cell = "in the cell of the middle level, the later one of two"
    return (f"in the table, a value of {', '.join(names)} that is none of the levels lies {cell}",)


def _block(law: TwoSided, grid: Grid, sensitivity: int) -> Release:
    name = Law.DISCRETE_LAPLACE if law.scale else Law.NONE
    return Release((grid.cells,), float(sensitivity), name, law.scale, 1.0 if law.scale else 0.0)
