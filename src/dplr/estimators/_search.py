"""A private search over the parameters of a model."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplr._kit.keywords import suggests
from dplr._kit.progress import silent
from dplr._kit.validation import check_choice, check_eps, check_list, sentence
from dplr._kit.warnings import muted
from dplr.bounds.declared import as_bounds
from dplr.estimators._base import PrivateLinearModel
from dplr.estimators._columns import named, rows_to_predict
from dplr.estimators._html import NotebookView
from dplr.fitting.data import refuse_units
from dplr.fitting.options import FitFacts, declared, documented
from dplr.fitting.planning import check_promise
from dplr.fitting.pretraining import DISJOINT, check_other_rows
from dplr.fitting.run import FitInput, check_values, release, spending, warn_of_noise
from dplr.fitting.search import METHODS, PARTITION, PUBLIC, SearchPlan, plan_partition, shares
from dplr.ledger.budget import Budget, NullLedger
from dplr.ledger.handle import as_ledger
from dplr.mechanisms import as_mechanism
from dplr.mechanisms.automatic import AUTO
from dplr.noise import Source
from dplr.noise.splits import secret_parts
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.selection import choose
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.plan import Plan
from dplr.rows import Table
from dplr.rows.scores import errors, linear, rates, squared_errors

# What a candidate may not change: it belongs to the promise, to the data or to the budget of the whole search.
_FIXED = sorted({each.name for each in declared()} - {*FitFacts.__annotations__} | {"neighbouring"})
_FOLDS, _FOLDS_SEED = 5, 0  # of public rows
_ROWS = {
    "X": """X : array-like of shape (n_rows, n_features), or table
    Rows with the columns that the chosen model saw."""
}
_OF_BEST = {
    "Raises": """NotFittedError
    `fit` was not called.
AttributeError
    The chosen model has no such method.""",
    "Privacy": "A prediction is a function of the released model and of its own row. It is as private as that row.",
}


def _of_best(method: Callable[..., Any]) -> Any:
    """A method that a search has where its model has one of this name."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method.__name__)
        return True

    return available_if(check)(documented(method, _ROWS, _OF_BEST))


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """The model of a candidate, not fitted, and the rows that its search was given."""

    model: Any
    ready: FitInput

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, eps: float) -> Trial:
        """Check shapes, types and parameters; no value is looked at."""
        ready = model._prepared(X, y, as_bounds(model.bounds), [eps])
        model._name_columns(ready.facts)
        return cls(model, ready)

    def fit(self, ready: FitInput, planned: Plan, source: Source) -> Any:
        """The model, fitted to these rows: its release is paid for by the search."""
        (done,) = release(ready, [planned], NullLedger(), source, silent)
        fitted = copy.copy(self.model)
        fitted._name_target(ready)
        return fitted._take(done)


class PrivateSearch(NotebookView, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose among parameters of a private model, at a stated cost for all of it.

    The defaults need no search, which costs more than it gains over ridges (docs/use/tuning.md). It pays for choices
    that change what a model can say: bounds with other bins, products or transforms; losses; mechanisms.

    Parameters
    ----------
    estimator : estimator of dplr
        Model to be fitted. Its `eps`, `delta`, `ledger` and `rng` are those of the whole search. It must not have
        persons or weights.
    candidates : mapping of str to sequence, or sequence of mappings
        Parameters to try, from public knowledge: lists as of `GridSearchCV`, or sets such as
        ``list(ParameterSampler(..., random_state=0))``. A candidate may change anything except eps, delta,
        neighbouring, n_rows, classes, class_weight, person, ledger, rng and progress. Bounds must keep their target.
    method : {"partition", "public"}, default="partition"
        How a candidate is chosen.

        - `"partition"`: each candidate is fitted to a part of the rows of its own at the whole eps. One is taken by the
          permute-and-flip on a last part (McKenna and Sheldon 2020). Which row is in which part is secret.
        - `"public"`: candidates are compared on public rows, and only the best is fitted to the private ones.
    scoring : {"errors", "squared_error"} or None, default=None
        None takes the score of the model: `"errors"`, the share of wrong labels, or `"squared_error"`, over the square
        of the width of the target's declared range. There is no other: a score must be bounded and private.
    public : tuple of (X, y) or None, default=None
        Rows for `"public"` that are disjoint from the private data and were not selected using it.

    Attributes
    ----------
    best_estimator_ : estimator
        The model that was chosen. Its statement is that of the whole search.
    best_params_ : dict
        Its parameters.
    best_index_ : int
        Their position among the candidates.
    privacy_ : PrivacyStatement
        What is promised for the whole search.
    naive_cost_ : tuple of (float, float)
        Eps and delta of one such fit of each candidate, released one after the other: what a grid search costs, its
        scores not yet private.

    Privacy
    -------
    All that is set by `fit` has together at most the loss that `privacy_` states (tuning.md). There is no
    `cv_results_`: a score or a model of every candidate would be a release of its own.

    See Also
    --------
    dplr.fit : Fit one model, which the defaults are made for.
    dplr.LinearRegression.refit : Try other ridges on one release, at no cost.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 2))
    >>> est = dplr.LogisticRegression(eps=1.0, mechanism="fm")
    >>> search = dplr.PrivateSearch(est, {"l2": [0.001, 1.0], "fit_intercept": [True, False]})
    >>> search = search.fit(X, X[:, 0] > 0)
    >>> search.privacy_.guarantee, search.naive_cost_
    (Pure(eps=1.0), (4.0, 0.0))
    """

    @suggests
    def __init__(
        self,
        estimator: Any,
        candidates: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
        *,
        method: str = PARTITION,
        scoring: str | None = None,
        public: Any = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.method = method
        self.scoring = scoring
        self.public = public

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Search, and keep the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Array, or table of pandas, polars or Arrow.
        y : array-like of shape (n_rows,)
            Labels or numbers.
        **refused : object
            Nothing else is taken: the error says so.

        Returns
        -------
        self
            The search, with the chosen model.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule. No noise was drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay for the search. No row was read, and nothing was spent.

        Privacy
        -------
        Every call is a search of its own, and spends eps and delta anew. The Privacy section of the class says what is
        released.
        """
        if refused:
            remedy = "A private search protects records that count alike."
            raise TypeError(f"`fit` does not take {', '.join(refused)}; it takes X and y. {remedy}")
        self._check()
        candidates = self._models()  # clones, which refuse the clients that break the promise
        if self.method == PUBLIC:
            return self._fit_public(X, y, candidates)
        return self._fit_private(X, y, candidates, as_ledger(self.estimator.ledger))

    @_of_best
    def predict(self, X: Any) -> Any:
        """Predict with the chosen model.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels or numbers.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_of_best
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities with the chosen model.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @_of_best
    def decision_function(self, X: Any) -> Any:
        """Compute the margins of the chosen model.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Margins, positive for ``classes_[1]``. With more than two classes there is one column per class.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Compute the accuracy or R^2 of the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that the chosen model saw.
        y : array-like of shape (n_rows,)
            Their labels or numbers.

        Returns
        -------
        float
            Share of right labels, or R^2.

        Raises
        ------
        NotFittedError
            `fit` was not called.

        Privacy
        -------
        Nothing protects the score: on private rows it is not private.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    @property
    def cv_results_(self) -> NoReturn:
        """There are none: a score of every candidate would be a release of its own.

        Raises
        ------
        AttributeError
            Always; the message says what was released instead.

        Privacy
        -------
        The scores or models of all candidates would each cost privacy.
        """
        raise AttributeError(
            "a private search has no `cv_results_`: the scores or models of all candidates would each cost privacy. "
            "What was released is `best_estimator_`, `best_params_` and `privacy_`."
        )

    @property
    def classes_(self) -> Any:
        """Labels of the chosen model.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        """
        check_is_fitted(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the chosen model sees.

        Raises
        ------
        AttributeError
            `fit` was not called.
        """
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("a search has `n_features_in_` after its fit")
        return int(self.best_estimator_.n_features_in_)

    def _fit_private(self, X: Any, y: Any, candidates: list[tuple[Any, Any]], ledger: Budget) -> Self:
        """Plan, reserve all of it, check the values, then search."""
        eps = self.estimator.eps
        # curves="auto" looks at n eps, n of a part
        trials = [Trial.of(model, X, y, eps / (len(candidates) + 1)) for model, _ in candidates]
        check_same_target(trials)
        facts = [trial.ready.facts for trial in trials]
        check_promise([eps], facts[0])
        if facts[0].neighbouring == Neighbouring.REPLACE_ONE:  # a private number of rows refuses nothing
            self._enough(len(trials[0].ready.data.y), len(trials))
        plan = plan_partition(facts, eps, self.estimator.rng is not None)
        warn_of_noise(trial_plan.outlook for trial_plan in plan.planned)
        source = self.estimator._source()
        with spending(ledger, [plan.statement], source) as reservation:
            check_all_values(trials, plan)
            with muted(Warning):  # which candidates warn would tell of rows that lie in one part
                place, model = _partition(trials, plan, eps, source)
            reservation.commit(None)
        model.privacy_, model._searched = plan.of_choice(model.privacy_), True
        return self._take(place, candidates, model, plan.naive)

    def _fit_public(self, X: Any, y: Any, candidates: list[tuple[Any, Any]]) -> Self:
        """Compare the candidates on public rows, at the noise that they will have, then fit the best one."""
        if not isinstance(self.public, tuple) or len(self.public) != 2:
            remedy = "They must be disjoint from the private data, and not selected using it."
            raise ValueError(sentence("public", 'must be public rows (X, y) with method="public"', self.public, remedy))
        check_other_rows(self.public, X)
        eps, n_rows, fixed = self.estimator.eps, self.estimator.n_rows, self.estimator.neighbouring == "replace_one"
        if n_rows is None and fixed and hasattr(X, "__len__"):
            n_rows = len(X)
        with muted(Warning):  # eps of fits to public rows promises nothing, and need not
            rows = len(Trial.of(candidates[0][0], *self.public, eps).ready.data.y)
            counted = fixed and n_rows is not None
            level = eps * n_rows / rows if counted else eps  # where curves="auto" takes those of the private rows
            trials = [Trial.of(model, *self.public, level) for model, _ in candidates]
            check_same_target(trials)
            check_same_columns(trials[0], Trial.of(candidates[0][0], X, y, eps))
            place = self._best_on_public(trials, eps, n_rows)
        candidate, params = candidates[place]
        model = clone(candidate)
        rows = len(trials[0].ready.data.y)
        comparison = f"{len(trials)} candidates, compared on {rows} public rows: they are {DISJOINT}"
        words = ", ".join(f"{name} = {value!r}" for name, value in params.items())
        model._facts = (f"parameters {words} were chosen among {comparison}",)
        model.fit(X, y)
        naive = len(trials) * model.privacy_.eps, len(trials) * model.privacy_.delta
        return self._take(place, candidates, model, naive)

    def _best_on_public(self, trials: list[Trial], eps: float, n_rows: int | None) -> int:
        """The candidate with the fewest errors over folds, each fit at the n eps of the private one."""
        rows = len(trials[0].ready.data.y)
        self._enough(rows, _FOLDS)
        folds = np.array_split(np.random.default_rng(_FOLDS_SEED).permutation(rows), _FOLDS)
        source, totals = Source(_FOLDS_SEED), [0] * len(trials)
        for fold in folds:
            training = np.setdiff1d(np.concatenate(folds), fold)
            scale = 1.0 if n_rows is None else n_rows / len(training)
            for place, trial in enumerate(trials):
                size = None if trial.ready.facts.n_rows is None else len(training)
                ready = trial.ready.take(training, size)
                planned = ready.facts.planned(eps * scale)
                with trial.ready.explaining():
                    fitted = trial.fit(ready, planned, source)
                totals[place] += cost(fitted, trial.ready.take(fold, size))
        return int(np.argmin(totals))

    def _enough(self, rows: int, parts: int) -> None:
        if rows < 2 * (parts + 1):
            raise ValueError(sentence("X", f"must have at least {2 * (parts + 1)} rows to be cut into parts", rows))

    def _take(self, place: int, candidates: Any, model: Any, naive: tuple[float, float]) -> Self:
        self.best_estimator_: Any = model
        self.best_index_: int = place
        self.best_params_: dict[str, Any] = dict(candidates[place][1])
        self.privacy_: PrivacyStatement = model.privacy_
        self.naive_cost_: tuple[float, float] = naive
        return self

    def _check(self) -> None:
        """Refuse parameters that break a rule."""
        estimator = self.estimator
        if not isinstance(estimator, PrivateLinearModel):
            remedy = "Give an estimator of dplr, such as dplr.LogisticRegression, not fitted."
            raise TypeError(sentence("estimator", "must be an estimator of dplr", type(estimator).__name__, remedy))
        check_choice("method", self.method, METHODS)
        if math.isinf(check_eps(estimator.eps)):
            remedy = "Without privacy take sklearn.model_selection.GridSearchCV."
            raise ValueError(sentence("eps", "must be finite in a private search", estimator.eps, remedy))
        score = "errors" if hasattr(estimator, "classes") else "squared_error"
        if self.scoring is not None and not (isinstance(self.scoring, str) and self.scoring == score):
            remedy = "A score must be bounded for each record, and released with noise: no other one is."
            raise ValueError(sentence("scoring", f"must be None or {score!r} with this model", self.scoring, remedy))
        if self.public is not None and self.method != PUBLIC:
            remedy = 'Give method="public"; where a fit starts is a parameter of the estimator.'
            raise ValueError(sentence("public", f"must be None with method={self.method!r}", "rows", remedy))

    def _models(self) -> list[tuple[Any, Mapping[str, Any]]]:
        """A model that is not fitted for each candidate, and its parameters."""
        from sklearn.model_selection import ParameterGrid  # a fit alone has no need of it

        candidates = self.candidates
        if isinstance(candidates, Mapping):
            candidates = named("candidates", ParameterGrid, candidates)
        listed = check_list("candidates", candidates)
        if len(listed) < 2 or not all(isinstance(params, Mapping) for params in listed):
            remedy = "Give a mapping of lists, or a sequence of mappings. For one candidate no search is needed."
            raise ValueError(sentence("candidates", "must be at least two sets of parameters", candidates, remedy))
        return [(self._model(params), params) for params in listed]

    def _model(self, params: Mapping[str, Any]) -> Any:
        for name in _FIXED:
            if name in params:
                remedy = "It belongs to the whole search: set it on the estimator."
                raise ValueError(sentence("candidates", f"must not change {name!r}", params[name], remedy))
        model = clone(self.estimator).set_params(**params)
        # Parts and scores count records, each alike: neither knows persons or weights.
        refuse_units(as_bounds(model.bounds), "in a private search")
        for name in ("person", "class_weight"):
            if (value := getattr(model, name, None)) is not None:
                remedy = "A search protects one record, and every record counts alike in its scores."
                raise ValueError(sentence(name, "must be None in a private search", value, remedy))
        if model.mechanism != AUTO and not as_mechanism(model.mechanism).about.private:
            remedy = "Such a fit has no noise, and no search can give it any."
            raise ValueError(sentence("mechanism", "must be private in a private search", model.mechanism, remedy))
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, model_tags = super().__sklearn_tags__(), get_tags(getattr(self, "best_estimator_", self.estimator))
        for name in ("estimator_type", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(model_tags, name))
        tags.non_deterministic, tags.input_tags.sparse = True, False
        return tags


def _partition(trials: Sequence[Trial], plan: SearchPlan, eps: float, source: Source) -> tuple[int, Any]:
    """Fit each candidate to its part, and choose on the last one (theorem 1): the position taken, and its model."""
    first = trials[0].ready
    parts = secret_parts(source, len(first.data.y), shares(len(trials)), first.facts.neighbouring)
    models = []
    for trial, planned, part, size in zip(trials, plan.planned, parts, plan.sizes, strict=False):
        models.append(trial.fit(trial.ready.take(part, size), planned, source))
    losses = [
        cost(model, trial.ready.take(parts[-1], plan.sizes[-1])) for model, trial in zip(models, trials, strict=True)
    ]
    place = choose(losses, eps, source)
    return place, models[place]


def cost(fitted: Any, ready: FitInput) -> int:
    """The loss of a fitted model on rows, in units: errors, or squared errors within the target's range."""
    if not len(ready.data.y):  # under add_remove a part may have no row
        return 0
    prep = fitted._record.prep
    X = ready.data.X.native if isinstance(ready.data.X, Table) else ready.data.X
    rows = prep.counted(np.ascontiguousarray(rows_to_predict(fitted, X, prep.layout)))
    values = linear(rows, np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_))
    if ready.data.labels is not None:
        return errors(values, ready.data.labels)
    target = prep.target or (-1.0, 1.0)
    if prep.link == "log":
        values = rates(values, target[1])
    return squared_errors(values, ready.data.y.as_float(), target)


def check_same_target(trials: Sequence[Trial]) -> None:
    """Refuse candidates with other labels, or another range of a numeric target: their scores are compared."""
    targets = [
        (
            facts.prep.target,
            facts.label_codes,
            None if facts.bounds is None else facts.bounds.threshold,
            facts.classes or [],
        )
        for facts in (trial.ready.facts for trial in trials)
    ]
    if any(target != targets[0] for target in targets):
        remedy = "Their scores could not be compared."
        raise ValueError(sentence("candidates", "must not change the target", "bounds with another one", remedy))


def check_same_columns(public: Trial, private: Trial) -> None:
    """Refuse public rows with other columns than the private ones: candidates are compared on them."""
    looks = [(trial.ready.facts.n_features, trial.ready.facts.features) for trial in (public, private)]
    if looks[0] != looks[1]:
        rule = "must have the columns of the private rows, made by the same features"
        raise ValueError(sentence("public", rule, f"{looks[0][0]} columns, and {looks[1][0]} private ones"))


def check_all_values(trials: Sequence[Trial], plan: SearchPlan) -> None:
    """Raise for whatever a fit would refuse of the rows; candidates that read them alike are looked at once."""
    readings: list[tuple[Any, ...]] = []
    for trial, planned in zip(trials, plan.planned, strict=True):
        read = trial.ready.facts.bounds, trial.ready.facts.fit_intercept, planned.mechanism
        if read not in readings:
            with trial.ready.explaining():
                check_values(trial.ready, planned)
            readings.append(read)
