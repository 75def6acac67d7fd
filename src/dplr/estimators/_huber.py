"""Linear regression with the Huber loss of residuals."""

from __future__ import annotations

from typing import ClassVar

from dplr.estimators._regressor import PrivateRegressor
from dplr.fitting.options import Within, estimator, limits_of, option
from dplr.problem.losses import Loss, huber_residual


@estimator
class HuberRegressor(PrivateRegressor):
    """Differentially private linear regression that is robust to outliers.

    Its loss is linear far from the target.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` and `"score"`, which has confidence intervals, need delta > 0.
        The functional mechanism has no expansion of this loss.
    width : float, default=0.5
        Residual at which the loss changes from quadratic to linear, in [0.01, 2], in units of half the distance between
        the bounds of the target. Noise is proportional to it.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is ``(lower, upper)`` of y, and required. None
        assumes that rows lie in the unit ball, and y in [-1, 1].

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The slope of the loss is at most `width`, its second
    derivative at most 1, so output.md, theorem 1, objective.md, theorem 1, noisy_gd.md, and score.md, lemma 4, cover
    it, beside the mechanisms.

    See Also
    --------
    dplr.LinearRegression : Fit with the squared loss.
    dplr.losses.residual_loss : Make a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.HuberRegressor(eps=1.0, width=0.2, mechanism="output", bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

    _kind: ClassVar[str] = "huber"
    width: float = option(default=0.5, rule=Within("width", 0.01, 2.0))

    def _loss(self) -> Loss:
        return huber_residual(limits_of(self)["width"](self.width))
