"""Linear regression."""

from __future__ import annotations

from typing import ClassVar

from dplr.estimators._regressor import PrivateRegressor
from dplr.fitting.options import estimator
from dplr.problem.losses import SQUARED, Loss


@estimator
class LinearRegression(PrivateRegressor):
    """Differentially private linear regression.

    Values of y outside the bounds of the target are clipped, and so are predictions where bounds are declared.

    Parameters
    ----------
    mechanism : {"auto", "fm", "objective", "ngd", "none"} or spec, default="auto"
        `"auto"` takes the one that was best on the project's tables, a function of public facts. `"ngd"` needs delta >
        0. A spec sets options.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is ``(lower, upper)`` of y, and required. None
        assumes that rows lie in the unit ball, and y in [-1, 1].

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does; the bounds of the target are public too. Proofs:
    functional.md, theorems 1 and 4, objective.md, theorems 3 and 5, and noisy_gd.md, beside the mechanisms.

    See Also
    --------
    dplr.HuberRegressor : Fit a regression that is robust to outliers.
    dplr.release_moments : Release moments once, for many regressions.
    dplr.plan : Show the statement before any data is touched.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

    _kind: ClassVar[str] = "linear"

    def _loss(self) -> Loss:
        return SQUARED
