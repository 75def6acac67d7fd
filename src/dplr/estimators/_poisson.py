"""Poisson regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import d2_tweedie_score

from dplr.estimators._regressor import PrivateRegressor
from dplr.problem.losses import POISSON, Loss


class PoissonRegressor(PrivateRegressor):
    """Differentially private Poisson regression of counts, whose logarithmic rate is a linear function.

    The likelihood is that of Poisson's law for rates up to the upper bound of the target, and linear in the log-rate
    beyond: no rate above the largest count is worth more. With an intercept the ridge pulls towards the rate that lies
    an eighth of the way from the smallest to the largest count, so that the unit of the counts does not matter.

    Parameters
    ----------
    bounds : their target is (smallest, largest) count, at least 0, and required. Counts outside are clipped.
    mechanism : `"auto"`, `"objective"`, `"output"`, `"ngd"` (needs delta > 0), `"none"`, or a spec. The functional
        mechanism has no expansion of this loss.
    eps, delta, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person, weight_bounds, public, ranges,
        large_delta, aim, ledger, rng, progress : as in `LinearRegression`.

    Attributes
    ----------
    coef_, intercept_ : of the log-rate: one unit more of a column multiplies the expected count by exp of its
        coefficient.
    privacy_, released_, history_, n_features_in_, feature_names_in_ : as in `LinearRegression`.

    Privacy
    -------
    Protects one record, as `LinearRegression` does. In units of half the distance of the target's bounds, 0 and m, the
    slope of the loss is at most 2, its second derivative too: output.md, theorem 1, objective.md, theorem 1, and
    noisy_gd.md cover it.

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
        """Share of the Poisson deviance that is explained, as in scikit-learn's own Poisson regression."""
        predicted = np.maximum(self.predict(X), np.finfo(float).tiny)
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _loss(self) -> Loss:
        return POISSON
