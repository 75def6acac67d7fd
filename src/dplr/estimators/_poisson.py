"""Poisson regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dplr.estimators._regressor import PrivateRegressor
from dplr.fitting.options import estimator
from dplr.problem.losses import POISSON, Loss


@estimator
class PoissonRegressor(PrivateRegressor):
    """Differentially private Poisson regression of counts.

    The logarithm of the rate is a linear function of the columns. The likelihood is that of Poisson's law for rates up
    to the upper bound of the target, and linear in the log-rate beyond: no rate above the largest count is worth more.
    With an intercept the ridge pulls towards the rate that lies an eighth of the way from the smallest to the largest
    count, so the unit of the counts does not matter. Over the rows of the fit predictions add up to the counts, as
    clipped and weighted, up to noise: what the default ridge of `"objective"` and `"output"` adds is taken back where
    the number of rows is public, and times eps at least 1,000. Where the sum may be off by more than about 5 %,
    `summary` says by how much.

    For rates pass counts / exposure as y and the exposure as `sample_weight`, with `Bounds(..., weight_max=)`.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` and `"score"`, which has confidence intervals, need delta > 0.
        The functional mechanism has no expansion of this loss.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is the smallest and the largest count, at least 0,
        and required. Counts outside are clipped.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients of the log-rate: one unit more of a column multiplies the expected count by exp of its coefficient.
    intercept_ : float
        Intercept of the log-rate.

    Privacy
    -------
    Protects one record, as `LinearRegression` does. In units of half the distance of the target's bounds, 0 and m, the
    slope of the loss is at most 2, its second derivative too: output.md, theorem 1, objective.md, theorem 1,
    noisy_gd.md, and score.md, lemma 5, cover it.

    See Also
    --------
    dplr.LinearRegression : Fit numbers with the squared loss.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20000, 1))
    >>> y = rng.poisson(np.exp(2 * X[:, 0]))
    >>> bounds = dplr.Bounds([(0, 1)], target=(0, 20))
    >>> est = dplr.PoissonRegressor(eps=2.0, mechanism="objective", bounds=bounds).fit(X, y)
    >>> bool(1.5 < est.coef_[0] < 2.5)
    True
    """

    _kind: ClassVar[str] = "poisson"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of the Poisson deviance that is explained.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw.
        y : array-like of shape (n_rows,)
            Their counts.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows. None counts all alike.

        Returns
        -------
        float
            D^2, as scikit-learn's own Poisson regression defines it: at most 1, and 0 for a model that predicts the
            mean.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            A column is missing, or a value is infinite, or missing without a policy.

        Privacy
        -------
        Nothing protects the score: on private rows it is not private. Compute it on public rows, or keep it to
        yourself.
        """
        predicted = np.maximum(self.predict(X), np.finfo(float).tiny)
        from sklearn.metrics import d2_tweedie_score  # a fit has no need of it

        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _loss(self) -> Loss:
        return POISSON
