"""scikit-learn estimators and dplr.fit: the only part of dplr that imports scikit-learn. Private.

`_base.py` turns a user's parameters and rows into a fit, and its release into a fitted model; classifiers and
regressors add labels and predictions, and a file for each model adds its loss. `_clients.py`, `_callers.py`,
`_learners.py`, `_pipelines.py` and `_uncovered.py` examine the callers of a fit, since some tools of scikit-learn break
the promise of the model inside them. Tables, refits, exports and the notebook view are post-processing of a release.

>>> import dplr
>>> dplr.LogisticRegression(eps=0.5).get_params()["eps"]
0.5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack, overload

from dplr._kit.keywords import suggests
from dplr._kit.options import documented
from dplr._kit.validation import check_choice, check_count, check_list, sentence
from dplr.bounds.declared import BoundsLike
from dplr.bounds.formulas import Formula
from dplr.estimators._classifier import PrivateClassifier
from dplr.estimators._formulas import is_formula
from dplr.estimators._huber import HuberRegressor
from dplr.estimators._linear import LinearRegression
from dplr.estimators._logistic import LogisticRegression
from dplr.estimators._margin import MarginClassifier
from dplr.estimators._options import FitOptions, ManyOptions
from dplr.estimators._poisson import PoissonRegressor
from dplr.estimators._regressor import PrivateRegressor
from dplr.estimators._residual import ResidualRegressor
from dplr.estimators._search import PrivateSearch
from dplr.estimators._svm import HuberSVC
from dplr.estimators._transformers import BoundsEncoder, RandomFourierFeatures, UnitBall
from dplr.fitting.pretraining import PublicLike
from dplr.ledger.handle import LedgerLike
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.protocol import MechanismLike
from dplr.problem.losses import Loss, model_of, own_form

__all__ = [
    "BoundsEncoder", "HuberRegressor", "HuberSVC", "LinearRegression", "LogisticRegression",
    "MarginClassifier", "PoissonRegressor", "PrivateSearch", "RandomFourierFeatures", "ResidualRegressor", "UnitBall",
    "fit", "fit_many",
]  # fmt: skip

Estimator: TypeAlias = PrivateClassifier | PrivateRegressor
# The class of every public model of `dplr.problem.losses.LOSSES`.
ESTIMATORS: dict[str, Any] = {
    "logistic": LogisticRegression,
    "linear": LinearRegression,
    "svm": HuberSVC,
    "huber": HuberRegressor,
    "poisson": PoissonRegressor,
}
# The class for a loss of a user's own, by its form.
OWN: dict[str, Any] = {"margin": MarginClassifier, "residual": ResidualRegressor}


@overload
def fit(X: Any, y: Any, *, model: Literal["logistic"] = ..., **options: Unpack[FitOptions]) -> LogisticRegression: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["linear"], **options: Unpack[FitOptions]) -> LinearRegression: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["svm"], **options: Unpack[FitOptions]) -> HuberSVC: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["huber"], **options: Unpack[FitOptions]) -> HuberRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: Literal["poisson"], **options: Unpack[FitOptions]) -> PoissonRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: Loss, **options: Unpack[FitOptions]) -> MarginClassifier | ResidualRegressor: ...
@overload
def fit(X: Any, y: Any, *, model: str | Loss, **options: Unpack[FitOptions]) -> Estimator: ...
@suggests
def fit(
    X: Any,
    y: Any,
    *,
    eps: float,
    mechanism: MechanismLike = AUTO,
    delta: float = 0.0,
    model: str | Loss = "logistic",
    bounds: BoundsLike = None,
    classes: Any = None,
    fit_intercept: bool = True,
    l2: float | str = "auto",
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
    person: Any = None,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | None = None,
    public: PublicLike = None,
    curves: int | str | None = None,
    aim: str = "prediction",
    ledger: LedgerLike = None,
    rng: int | None = None,
    progress: bool = False,
    holdout: float | None = None,
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
    eps : float
        Privacy loss, positive. ``float("inf")`` fits without noise and without privacy.
    mechanism : {"auto", "fm", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` takes the one that was best on the project's tables, a function of public facts. `"ngd"` and `"score"`
        need delta > 0. A spec sets options.
    delta : float, default=0.0
        The delta of (eps, delta)-differential privacy, in [0, 1). 0 requests pure eps-DP.
    model : str or Loss, default="logistic"
        `"logistic"`, `"linear"`, `"svm"` (Huber hinge), `"huber"` (robust regression of numbers), `"poisson"` (counts),
        or a loss of `margin_loss`, `residual_loss` or `smoothed_hinge`.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and of y. Numbers as y require a target in it. None assumes that rows lie in the
        unit ball, and projects those outside onto it. A formula chooses among the columns of bounds by name.
    classes : sequence, "from_data" or None, default=None
        Labels, from public knowledge. None suits booleans, 0 and 1, and bounds that name the labels. More than two
        labels are fitted one against the rest.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    l2 : float or "auto", default="auto"
        Ridge: factor of ||w||^2 / 2 in the mean objective of the scaled problem, at least 0. ``"auto"`` is a function
        of public facts.
    neighbouring : {"replace_one", "add_remove"}, default="replace_one"
        Whether a neighbouring data set has one record replaced, or one record more or less.
    n_rows : int or None, default=None
        Public number of rows, or of persons. Under replace_one it is what X holds. Under add_remove it is a
        declared reference, or None.
    person : array-like of shape (n_rows,), str or None, default=None
        Ids, which may be a Series, or the name of a column of X. Rows with one id are one person's, and the guarantee
        protects a person with all their rows. None protects each row alone.
    sample_weight : array-like of shape (n_rows,), str or None, default=None
        Weights, or the name of a column of X. They require a `weight_max` of the bounds.
    class_weight : mapping of label to float, or None, default=None
        Public factor of every label, for classifiers. None counts all rows alike.
    public : tuple, fitted model, array-like or None, default=None
        Where the fit starts and towards which its ridge pulls, as in `LogisticRegression`: public rows ``(X, y)``, a
        fitted model or ``(coef, intercept)``.
    curves : int, "auto" or None, default=None
        Number of knots of a curve beside each declared number that measures something, as in `LogisticRegression`.
        `"auto"` takes some where they pay, a function of public facts. None fits lines.
    aim : {"prediction", "coefficients"}, default="prediction"
        Whether the model is for predictions, or for a table of coefficients with intervals, as in
        `LogisticRegression`.
    ledger : Ledger, path-like or None, default=None
        Budget that pays for every fit. None counts nothing.
    rng : int or None, default=None
        None takes the operating system's entropy. An int makes the noise reproducible: such a fit is not private.
    progress : bool, default=False
        Whether a bar (extra `progress`) shows the progress of a long fit.
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
    if isinstance(X, str) and is_formula(X, y):
        formula = Formula(X, bounds)
        X, y, bounds, fit_intercept = y, formula.target, formula.bounds, fit_intercept and formula.fit_intercept
    estimator = estimator_of(
        model, classes, class_weight, eps=eps, delta=delta, mechanism=mechanism, bounds=bounds,
        fit_intercept=fit_intercept, l2=l2, neighbouring=neighbouring, n_rows=n_rows,
        person=person if isinstance(person, str) else None, public=public, curves=curves, aim=aim,
        ledger=ledger, rng=rng, progress=progress,
    )  # fmt: skip
    ids = None if isinstance(person, str) else person
    if holdout is not None:
        return _held_out(estimator, X, y, sample_weight, ids, holdout)
    return estimator.fit(X, y, sample_weight=sample_weight, person=ids)


def _held_out(estimator: Estimator, X: Any, y: Any, sample_weight: Any, ids: Any, holdout: float) -> Estimator:
    """The estimator, fitted to the rows that are not held out, and evaluated on the others."""
    from dplr.estimators._holdout import fit_and_evaluate

    evaluated: Estimator = fit_and_evaluate(estimator, X, y, sample_weight, ids, holdout)
    return evaluated


@overload
def fit_many(
    X: Any, y: Any, *, model: Literal["logistic"] = ..., **options: Unpack[ManyOptions]
) -> list[LogisticRegression]: ...
@overload
def fit_many(X: Any, y: Any, *, model: Literal["linear"], **options: Unpack[ManyOptions]) -> list[LinearRegression]: ...
@overload
def fit_many(X: Any, y: Any, *, model: Literal["svm"], **options: Unpack[ManyOptions]) -> list[HuberSVC]: ...
@overload
def fit_many(X: Any, y: Any, *, model: Literal["huber"], **options: Unpack[ManyOptions]) -> list[HuberRegressor]: ...
@overload
def fit_many(
    X: Any, y: Any, *, model: Literal["poisson"], **options: Unpack[ManyOptions]
) -> list[PoissonRegressor]: ...
@overload
def fit_many(
    X: Any, y: Any, *, model: Loss, **options: Unpack[ManyOptions]
) -> list[MarginClassifier | ResidualRegressor]: ...
@overload
def fit_many(X: Any, y: Any, *, model: str | Loss, **options: Unpack[ManyOptions]) -> list[Estimator]: ...
@documented
def fit_many(
    X: Any,
    y: Any,
    *,
    eps: Sequence[float],
    repeats: int = 1,
    model: str | Loss = "logistic",
    classes: Any = None,
    person: Any = None,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | None = None,
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
    if isinstance(X, str) and is_formula(X, y):
        formula = Formula(X, options.get("bounds"))
        intercept = options.get("fit_intercept", True) and formula.fit_intercept
        options |= {"bounds": formula.bounds, "fit_intercept": intercept}
        X, y = y, formula.target
    each = range(check_count("repeats", repeats))
    levels = [level for level in check_list("eps", eps, "must be a list of privacy losses") for _ in each]
    if not levels:
        raise ValueError(sentence("eps", "must hold at least one privacy loss", eps))
    column, ids = (person, None) if isinstance(person, str) else (None, person)
    estimator = estimator_of(model, classes, class_weight, eps=levels[0], person=column, **options)
    return estimator._fit_many(X, y, levels, sample_weight, ids)


def estimator_of(
    model: str | Loss, classes: Any, class_weight: Mapping[Any, float] | None, **options: Any
) -> Estimator:
    """The estimator of a model with these options, before a fit. Private."""
    kind = _kind_of(model)
    if isinstance(model, Loss):
        options["loss"] = model
    remedies = {"classes": "The bounds name y's range.", "class_weight": "Numbers have no classes: use sample_weight."}
    for name, value in (("classes", classes), ("class_weight", class_weight)):
        if value is None:
            continue
        if not issubclass(kind, PrivateClassifier):
            called = model_of(model) if isinstance(model, Loss) else model
            raise ValueError(sentence(name, f'must be None with model="{called}"', value, remedies[name]))
        options[name] = value
    est: Estimator = kind(**options)
    return est


def _kind_of(model: str | Loss) -> Any:
    if not isinstance(model, Loss):
        return ESTIMATORS[check_choice("model", model, ESTIMATORS)]
    return OWN[own_form(model)]
