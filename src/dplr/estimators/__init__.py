"""scikit-learn estimators and dplr.fit: the only part of dplr that imports scikit-learn. Private.

`_base.py` turns a user's parameters and rows into a fit, and its release into a fitted model; `_models.py` has the
models, which add losses, labels and predictions. `_callers.py`
and `_learners.py` examine the callers of a fit, since some tools of scikit-learn break the promise of the model inside
them. Tables, refits, exports and the notebook view are post-processing of a release.

>>> import dplr
>>> dplr.LogisticRegression(eps=0.5).get_params()["eps"]
0.5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack, overload

from dplr._kit.validation import check_choice, check_count, check_list, sentence
from dplr.bounds.formulas import Formula
from dplr.estimators._formulas import is_formula
from dplr.estimators._models import (
    ESTIMATORS,
    OWN,
    HuberRegressor,
    HuberSVC,
    LinearRegression,
    LogisticRegression,
    MarginClassifier,
    PoissonRegressor,
    PrivateClassifier,
    PrivateRegressor,
    ResidualRegressor,
)
from dplr.estimators._search import PrivateSearch
from dplr.estimators._transformers import BoundsEncoder, RandomFourierFeatures, UnitBall
from dplr.fitting.options import FitKeywords, ManyKeywords, declared, takes
from dplr.problem.losses import Loss, model_of, own_form

__all__ = [
    "BoundsEncoder", "HuberRegressor", "HuberSVC", "LinearRegression", "LogisticRegression",
    "MarginClassifier", "PoissonRegressor", "PrivateSearch", "RandomFourierFeatures", "ResidualRegressor", "UnitBall",
    "fit", "fit_many",
]  # fmt: skip

Estimator: TypeAlias = PrivateClassifier | PrivateRegressor


@overload
def fit(X: Any, y: Any, *, model: Literal["logistic"] = ..., **options: Unpack[FitKeywords]) -> LogisticRegression: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["linear"], **options: Unpack[FitKeywords]) -> LinearRegression: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["svm"], **options: Unpack[FitKeywords]) -> HuberSVC: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["huber"], **options: Unpack[FitKeywords]) -> HuberRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["poisson"], **options: Unpack[FitKeywords]) -> PoissonRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: Loss, **options: Unpack[FitKeywords]) -> MarginClassifier | ResidualRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: str | Loss, **options: Unpack[FitKeywords]) -> Estimator: ...
@takes(declared())
def fit(
    X: Any,
    y: Any,
    *,
    eps: float,
    model: str | Loss = "logistic",
    person: Any = None,
    sample_weight: Any = None,
    holdout: float | None = None,
    **options: Any,
) -> Estimator:
    """Fit a differentially private model and return the fitted estimator.

    Parameters
    ----------
    X : array-like, table, path-like, Stream or str
        Array of shape (n_rows, n_features), or a table of pandas, polars or Arrow. Or rows that are streamed: the path
        of a Parquet file, a list of paths, a folder, a pattern such as ``"people/*.parquet"``, a lazy table, or a
        `dplr.Stream`. Or a formula such as "income ~ age + C(town) + age:sex", of which `Formula` has the grammar;
        then y are the rows.
    y : array-like of shape (n_rows,), str, or table, path-like or Stream
        Labels or numbers. Or the name of a column of X, as it must be where rows are streamed. With a formula, a table
        or the rows that are streamed.
    model : str or Loss, default="logistic"
        `"logistic"`, `"linear"`, `"svm"` (Huber hinge), `"huber"` (robust regression of numbers), `"poisson"` (counts),
        or a loss of `margin_loss`, `residual_loss` or `smoothed_hinge`.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and of y. Numbers as y require a target in it. None assumes that rows lie in the
        unit ball, and projects those outside onto it. A formula chooses among the columns of bounds by name.
    person : array-like of shape (n_rows,), str or None, default=None
        Ids, which may be a Series, or the name of a column of X. Rows with one id are one person's, and the guarantee
        protects a person with all their rows. None protects each row alone.
    sample_weight : array-like of shape (n_rows,), str or None, default=None
        Weights, or the name of a column of X. They require a `weight_max` of the bounds.
    holdout : float or None, default=None
        Share of the rows, by a secret split, that the fit does not see: the model is evaluated on them, as by
        `dplr.evaluate`, for no further eps. Not with persons or streams.

    Returns
    -------
    estimator
        A fitted `LogisticRegression`, `LinearRegression`, `HuberSVC`, `HuberRegressor`, `PoissonRegressor`,
        `MarginClassifier` or `ResidualRegressor`. ``est.coef_`` and ``est.intercept_`` are in the user's units;
        ``est.privacy_`` is the privacy statement. With `holdout`, ``est.evaluation_`` is the evaluation.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay for the fit. No row was read, and nothing was spent.
    ModuleNotFoundError
        X is a formula, and formulaic is not installed (extra `formulas`).

    Privacy
    -------
    Protects one record, or one person, as the Privacy section of `LogisticRegression` says.

    See Also
    --------
    dplr.LogisticRegression : Explain each of these parameters at length.
    dplr.plan : Show the statement before any data is touched.
    dplr.evaluate : How good a model is, in a release of its own.
    dplr.check : Compare data with what is declared of them, before a fit.
    dplr.Formula : The grammar of formulas, and the bounds that one makes.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.array([[0.6, 0.8], [-0.6, 0.8], [0.6, -0.8], [-0.6, -0.8]] * 500)
    >>> y = X[:, 0] > 0
    >>> est = dplr.fit(X, y, mechanism="fm", eps=0.8)
    >>> est.predict(X[:2])
    array([ True, False])
    >>> visits = dplr.fit(X, y, mechanism="fm", eps=0.8, person=np.arange(2000) // 4)  # four rows of each person
    >>> [fact for fact in visits.privacy_.assumptions if "persons" in fact]
    ['the number of persons = 500']

    A formula chooses columns and products of the bounds.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": np.arange(2000) % 60 + 20, "sex": ["f", "m"] * 1000})
    >>> people["old"] = people["age"] > 50
    >>> bounds = {"age": (18, 99), "sex": {"levels": ["f", "m"], "binary": True}, "pay": (0, 9999)}
    >>> dplr.fit("old ~ age*sex", people, bounds=bounds, eps=1.0).coef_names_
    ('age', 'sex=m', 'age*sex=m')
    """
    X, y, options = _without_formula(X, y, options)
    name, ids = (person, None) if isinstance(person, str) else (None, person)
    estimator = estimator_of(model, eps=eps, person=name, **options)
    if holdout is None:
        return estimator.fit(X, y, sample_weight=sample_weight, person=ids)
    from dplr.estimators._holdout import fit_and_evaluate

    evaluated: Estimator = fit_and_evaluate(estimator, X, y, sample_weight, ids, holdout)
    return evaluated


@overload
def fit_many(
    X: Any, y: Any, *, model: Literal["logistic"] = ..., **options: Unpack[ManyKeywords]
) -> list[LogisticRegression]: ...
@overload
def fit_many(
    X: Any, y: Any, *, model: Literal["linear"], **options: Unpack[ManyKeywords]
) -> list[LinearRegression]: ...
@overload
def fit_many(X: Any, y: Any, *, model: Literal["svm"], **options: Unpack[ManyKeywords]) -> list[HuberSVC]: ...
@overload
def fit_many(X: Any, y: Any, *, model: Literal["huber"], **options: Unpack[ManyKeywords]) -> list[HuberRegressor]: ...
@overload
def fit_many(
    X: Any, y: Any, *, model: Literal["poisson"], **options: Unpack[ManyKeywords]
) -> list[PoissonRegressor]: ...
@overload
def fit_many(
    X: Any, y: Any, *, model: Loss, **options: Unpack[ManyKeywords]
) -> list[MarginClassifier | ResidualRegressor]: ...
@overload
def fit_many(X: Any, y: Any, *, model: str | Loss, **options: Unpack[ManyKeywords]) -> list[Estimator]: ...
def fit_many(
    X: Any,
    y: Any,
    *,
    eps: Sequence[float],
    repeats: int = 1,
    model: str | Loss = "logistic",
    person: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> list[Any]:
    """Fit many private models to one data set, for studies of error against eps.

    Every eps gets `repeats` models. The rows are read once for all of them, which is much faster than one fit after
    another. Fits with ranges of their own, as many for predictions with pure eps, each read them again.

    Parameters
    ----------
    X : array-like, table, path-like, Stream or str
        Array of shape (n_rows, n_features), or a table of pandas, polars or Arrow. Or rows that are streamed: the path
        of a Parquet file, a list of paths, a folder, a pattern such as ``"people/*.parquet"``, a lazy table, or a
        `dplr.Stream`. Or a formula, as in `fit`; then y are the rows.
    y : array-like of shape (n_rows,), str, or table, path-like or Stream
        Labels or numbers. Or the name of a column of X, as it must be where rows are streamed. Or the rows themselves.
    eps : sequence of float
        Privacy losses.
    repeats : int, default=1
        Number of fits at each eps.
    model : str or Loss, default="logistic"
        `"logistic"`, `"linear"`, `"svm"` (Huber hinge), `"huber"` (robust regression of numbers), `"poisson"` (counts),
        or a loss of `margin_loss`, `residual_loss` or `smoothed_hinge`.
    person : array-like of shape (n_rows,), str or None, default=None
        Ids, which may be a Series, or the name of a column of X. Rows with one id are one person's, and the guarantee
        protects a person with all their rows. None protects each row alone.
    sample_weight : array-like of shape (n_rows,), str or None, default=None
        Weights, or the name of a column of X. They require a `weight_max` of the bounds.
    **options : object
        The other parameters of `fit`.

    Returns
    -------
    list
        Fitted estimators, ``len(eps) * repeats`` of them, in the order of `eps`.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay for all fits. No row was read, and nothing was spent.

    Privacy
    -------
    Every fit is a release of its own, with noise of its own, and spends its eps. Together they spend the sum.

    See Also
    --------
    dplr.fit : Fit one model.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> fits = dplr.fit_many(X, X[:, 0] > 0, eps=[0.5, 1.0], repeats=2, mechanism="objective")
    >>> [est.privacy_.eps for est in fits]
    [0.5, 0.5, 1.0, 1.0]
    """
    X, y, options = _without_formula(X, y, options)
    each = range(check_count("repeats", repeats))
    levels = [level for level in check_list("eps", eps, "must be a list of privacy losses") for _ in each]
    if not levels:
        raise ValueError(sentence("eps", "must hold at least one privacy loss", eps))
    name, ids = (person, None) if isinstance(person, str) else (None, person)
    estimator = estimator_of(model, eps=levels[0], person=name, **options)
    return estimator._fit_many(X, y, levels, sample_weight, ids)


def _without_formula(X: Any, y: Any, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, target and options, of which a formula may say some."""
    if not (isinstance(X, str) and is_formula(X, y)):
        return X, y, options
    formula = Formula(X, options.get("bounds"))
    facts = {"bounds": formula.bounds, "fit_intercept": formula.fit_intercept and options.get("fit_intercept", True)}
    return y, formula.target, options | facts


def estimator_of(
    model: str | Loss, *, classes: Any = None, class_weight: Mapping[Any, float] | None = None, **options: Any
) -> Estimator:
    """The estimator of a model with these options, before a fit."""
    own = {"loss": model} if isinstance(model, Loss) else {}
    kind = OWN[own_form(model)] if isinstance(model, Loss) else ESTIMATORS[check_choice("model", model, ESTIMATORS)]
    given = {name: value for name, value in (("classes", classes), ("class_weight", class_weight)) if value is not None}
    remedies = {"classes": "The bounds name y's range.", "class_weight": "Numbers have no classes: use sample_weight."}
    for name, value in () if issubclass(kind, PrivateClassifier) else given.items():
        called = model_of(model) if isinstance(model, Loss) else model
        raise ValueError(sentence(name, f'must be None with model="{called}"', value, remedies[name]))
    est: Estimator = kind(**options, **given, **own)
    return est
