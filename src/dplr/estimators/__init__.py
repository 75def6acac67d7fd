"""scikit-learn estimators and dplr.fit: the only room that imports scikit-learn."""

from __future__ import annotations

from typing import Any

from dplr._validation import check_choice, sentence
from dplr.bounds import Bounds
from dplr.estimators._linear import LinearRegression
from dplr.estimators._logistic import LogisticRegression
from dplr.estimators._svm import HuberSVC

__all__ = ["HuberSVC", "LinearRegression", "LogisticRegression", "fit"]

_ESTIMATORS = {"logistic": LogisticRegression, "linear": LinearRegression, "svm": HuberSVC}


def fit(
    X: Any,
    y: Any,
    *,
    eps: float,
    mechanism: Any = "fm",
    delta: float = 0.0,
    model: str = "logistic",
    bounds: Bounds | None = None,
    classes: Any = None,
    fit_intercept: bool = True,
    l2: float | str = "auto",
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
    public: Any = None,
    rng: int | None = None,
) -> LogisticRegression | LinearRegression | HuberSVC:
    """Fit a differentially private model and return the fitted estimator.

    Parameters
    ----------
    X : (n_rows, n_features) array or data frame.
    y : (n_rows,) labels or numbers.
    eps : privacy loss, positive.
    model : `"logistic"`, `"linear"` or `"svm"` (Huber).
    mechanism, delta, bounds, classes, fit_intercept, l2, neighbouring, n_rows, public, rng : as in
        `LogisticRegression`; `classes` is for classifiers only.

    Returns
    -------
    LogisticRegression, LinearRegression or HuberSVC
        ``est.coef_`` and ``est.intercept_`` in the user's units; ``est.privacy_`` is the privacy statement.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule; no noise was drawn and nothing was spent.

    Privacy
    -------
    That of the estimator.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.array([[0.6, 0.8], [-0.6, 0.8], [0.6, -0.8], [-0.6, -0.8]] * 500)
    >>> y = X[:, 0] > 0
    >>> est = dplr.fit(X, y, mechanism="fm", eps=0.8)
    >>> est.predict(X[:2])
    array([ True, False])
    """
    options: dict[str, Any] = {} if classes is None else {"classes": classes}
    if options and model == "linear":
        raise ValueError(sentence("classes", 'must be None with model="linear"', classes, "The bounds name y's range."))
    estimator = _ESTIMATORS[check_choice("model", model, _ESTIMATORS)](
        eps=eps,
        delta=delta,
        mechanism=mechanism,
        bounds=bounds,
        fit_intercept=fit_intercept,
        l2=l2,
        neighbouring=neighbouring,
        n_rows=n_rows,
        public=public,
        rng=rng,
        **options,
    )
    return estimator.fit(X, y)
