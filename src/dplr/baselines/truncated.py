"""Truncated: the minimiser of FM12's polynomial, without noise."""

from __future__ import annotations

from typing import Any

from dplr.bounds.declared import BoundsLike
from dplr.estimators import fit
from dplr.mechanisms import FunctionalMechanism


def truncated(
    X: Any,
    y: Any,
    *,
    model: str = "logistic",
    bounds: BoundsLike = None,
    classes: Any = None,
    fit_intercept: bool = True,
) -> Any:
    """Minimise FM12's polynomial of the loss without noise: what truncation alone costs.

    The functional mechanism at eps = inf with ``FunctionalMechanism(approximation="taylor")``: the logistic loss is cut
    after its second derivative at 0 (FM12 section 5.1). The squared loss is a polynomial, so ``model="linear"`` gives
    least squares.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features) or table
        Rows, as in `dplr.fit`.
    y : array-like of shape (n_rows,)
        Targets, as in `dplr.fit`.
    model : {"logistic", "linear"}, default="logistic"
        The model.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Public bounds and levels of the columns, as in `dplr.fit`.
    classes : sequence or None, default=None
        The two labels, as in `dplr.LogisticRegression`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.

    Returns
    -------
    dplr.LogisticRegression or dplr.LinearRegression
        The fitted model.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule, as in `dplr.fit`.

    Privacy
    -------
    None: nothing is noisy, and a ledger would refuse it.

    See Also
    --------
    dplr.FunctionalMechanism : The private algorithm.
    dplr.NoPrivacy : Without truncation.

    References
    ----------
    Zhang, Zhang, Xiao, Yang and Winslett 2012 (FM12), section 5.1.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import baselines
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> est = baselines.truncated(X, X[:, 0] > 0, fit_intercept=False)
    >>> est.privacy_.guarantee
    Pure(eps=inf)
    """
    mechanism = FunctionalMechanism(approximation="taylor")
    return fit(
        X,
        y,
        eps=float("inf"),
        mechanism=mechanism,
        model=model,
        bounds=bounds,
        classes=classes,
        fit_intercept=fit_intercept,
    )
