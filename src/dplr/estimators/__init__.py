"""scikit-learn estimators and dplr.fit: the only room that imports scikit-learn. Private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from dplr._keywords import suggests
from dplr._validation import check_choice, check_count, sentence
from dplr.estimators._classifier import PrivateClassifier
from dplr.estimators._encoder import BoundsEncoder
from dplr.estimators._fourier import RandomFourierFeatures
from dplr.estimators._huber import HuberRegressor
from dplr.estimators._inference import Comparison, compare
from dplr.estimators._linear import LinearRegression
from dplr.estimators._logistic import LogisticRegression
from dplr.estimators._margin import MarginClassifier
from dplr.estimators._poisson import PoissonRegressor
from dplr.estimators._regressor import PrivateRegressor
from dplr.estimators._residual import ResidualRegressor
from dplr.estimators._search import PrivateSearch
from dplr.estimators._svm import HuberSVC
from dplr.estimators._unit_ball import UnitBall
from dplr.mechanisms.automatic import AUTO
from dplr.problem.losses import Loss, model_of, own_form
from dplr.typing import BoundsLike, LedgerLike, MechanismLike, PublicLike

__all__ = [
    "BoundsEncoder", "Comparison", "HuberRegressor", "HuberSVC", "LinearRegression", "LogisticRegression",
    "MarginClassifier", "PoissonRegressor", "PrivateSearch", "RandomFourierFeatures", "ResidualRegressor", "UnitBall",
    "compare", "fit", "fit_many",
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
    rows_per_person: int = 1,
    sample_weight: Any = None,
    weight_bounds: tuple[float, float] | None = None,
    class_weight: Mapping[Any, float] | None = None,
    public: PublicLike = None,
    ranges: str = "auto",
    large_delta: bool = False,
    aim: str = "prediction",
    ledger: LedgerLike = None,
    rng: int | None = None,
    progress: bool = False,
) -> Estimator:
    """Fit a differentially private model and return the fitted estimator.

    Parameters
    ----------
    X : (n_rows, n_features) array, or table of pandas, polars or Arrow; or rows that are streamed: the path of a
        Parquet file, a list of paths, a folder, a pattern such as "people/*.parquet", a lazy table, or a `dplr.Stream`.
    y : (n_rows,) labels or numbers; or the name of a column of X, as it must be where rows are streamed.
    eps : privacy loss, positive.
    model : `"logistic"`, `"linear"`, `"svm"` (Huber hinge), `"huber"` (robust regression of numbers), `"poisson"`
        (counts), or a loss of `margin_loss`, `residual_loss` or `smoothed_hinge`.
    person : the name of a column of X, or (n_rows,) ids, which may be a Series: rows with one id are one person's, and
        the guarantee protects a person with all their rows.
    sample_weight : (n_rows,) weights, or the name of a column of X; they require `weight_bounds`.
    mechanism, delta, bounds, classes, fit_intercept, l2, neighbouring, n_rows, rows_per_person, weight_bounds,
        class_weight, public, ranges, large_delta, aim, ledger, rng, progress : as in `LogisticRegression`; `classes`
        and `class_weight` are for classifiers only.

    Returns
    -------
    LogisticRegression, LinearRegression, HuberSVC, HuberRegressor, PoissonRegressor, ...
        ``est.coef_`` and ``est.intercept_`` in the user's units; ``est.privacy_`` is the privacy statement.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay for the fit. No row was read, and nothing was spent.

    Privacy
    -------
    Protects one record, or one person, as the Privacy section of `LogisticRegression` says.

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
    """
    estimator = _estimator(
        model,
        classes,
        class_weight,
        eps=eps,
        delta=delta,
        mechanism=mechanism,
        bounds=bounds,
        fit_intercept=fit_intercept,
        l2=l2,
        neighbouring=neighbouring,
        n_rows=n_rows,
        person=person if isinstance(person, str) else None,
        rows_per_person=rows_per_person,
        weight_bounds=weight_bounds,
        public=public,
        ranges=ranges,
        large_delta=large_delta,
        aim=aim,
        ledger=ledger,
        rng=rng,
        progress=progress,
    )
    ids = None if isinstance(person, str) else person
    fitted: Estimator = estimator.fit(X, y, sample_weight=sample_weight, person=ids)
    return fitted


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
) -> list[Estimator]:
    """Fit many private models to one data set, `repeats` of them for each eps: for studies of error against eps.

    The rows are read once for all of them, which is much faster than one fit after another; fits with ranges of their
    own, as those of numeric targets with pure eps, each read them again.

    Parameters
    ----------
    X, y, model, classes, person, sample_weight, class_weight : as in `fit`.
    eps : privacy losses.
    repeats : number of fits at each eps.
    options : the other parameters of `fit`.

    Returns
    -------
    list
        ``len(eps) * repeats`` fitted estimators, in the order of `eps`.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay for all fits. No row was read, and nothing was spent.

    Privacy
    -------
    Every fit is a release of its own, with noise of its own, and spends its eps. Together they spend the sum.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> fits = dplr.fit_many(X, X[:, 0] > 0, eps=[0.5, 1.0], repeats=2, mechanism="objective")
    >>> [est.privacy_.eps for est in fits]
    [0.5, 0.5, 1.0, 1.0]
    """
    levels = [level for level in eps for _ in range(check_count("repeats", repeats))]
    if not levels:
        raise ValueError(sentence("eps", "must hold at least one privacy loss", eps))
    column, ids = (person, None) if isinstance(person, str) else (None, person)
    estimator = _estimator(model, classes, class_weight, eps=levels[0], person=column, **options)
    return estimator._fit_many(X, y, levels, sample_weight, ids)


def _estimator(model: str | Loss, classes: Any, class_weight: Mapping[Any, float] | None, **options: Any) -> Estimator:
    kind = _kind_of(model)
    if isinstance(model, Loss):
        options["loss"] = model
    remedies = {"classes": "The bounds name y's range.", "class_weight": "Numbers have no classes: use sample_weight."}
    for name, given in (("classes", classes), ("class_weight", class_weight)):
        if given is None:
            continue
        if not issubclass(kind, PrivateClassifier):
            called = model_of(model) if isinstance(model, Loss) else model
            raise ValueError(sentence(name, f'must be None with model="{called}"', given, remedies[name]))
        options[name] = given
    est: Estimator = kind(**options)
    return est


def _kind_of(model: str | Loss) -> Any:
    if not isinstance(model, Loss):
        return ESTIMATORS[check_choice("model", model, ESTIMATORS)]
    return OWN[own_form(model)]
