"""Differentially private linear regression with a loss of one's own."""

from __future__ import annotations

from typing import ClassVar

from dplr._kit.validation import sentence
from dplr.estimators._regressor import PrivateRegressor
from dplr.fitting.options import estimator
from dplr.problem.losses import Loss


@estimator
class ResidualRegressor(PrivateRegressor):
    """Differentially private linear regression with a loss of one's own.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        such losses.
    loss : Loss or None, default=None
        Loss of the residual, made by `residual_loss`. It is required.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is ``(lower, upper)`` of y, and required. None
        assumes that rows lie in the unit ball, and y in [-1, 1].

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The loss is public: one that was chosen by a look at
    the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

    See Also
    --------
    dplr.losses.residual_loss : Make a loss of the residual.
    dplr.HuberRegressor : Fit with the Huber loss.
    dplr.MarginClassifier : Classify with a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 1))
    >>> def value(r):
    ...     return np.sqrt(0.01 + r**2) / 10
    >>> def slope(r):
    ...     return r / np.sqrt(0.01 + r**2) / 10
    >>> loss = dplr.losses.residual_loss(value, slope, lambda r: 0.001 * (0.01 + r**2) ** -1.5, name="pseudo Huber")
    >>> bounds = dplr.Bounds([(0, 10)], target=(0, 10))
    >>> dplr.ResidualRegressor(loss=loss, eps=1.0, bounds=bounds).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
    True
    """

    _kind: ClassVar[str] = "residual"
    loss: Loss | None = None

    def _loss(self) -> Loss:
        loss = self.loss
        if not isinstance(loss, Loss) or loss.knots is None or loss.knots.form != "residual":
            remedy = "Make one with dplr.losses.residual_loss."
            raise TypeError(sentence("loss", "must be a loss of the residual", loss, remedy))
        return loss
