"""Linear regression."""

from __future__ import annotations

from typing import ClassVar

from dplr.estimators._regressor import PrivateRegressor
from dplr.problem.losses import SQUARED, Loss


class LinearRegression(PrivateRegressor):
    """Differentially private linear regression.

    Parameters
    ----------
    eps, delta, mechanism, bounds, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person, weight_bounds,
        public, ranges, large_delta, aim, ledger, rng, progress : as in `LogisticRegression`; the mechanism is `"auto"`,
        `"fm"`, `"objective"`, `"ngd"` or a spec of theirs. The target of the bounds is ``(lower, upper)`` of y, and
        required; without bounds y is assumed to lie in [-1, 1]. Values outside are clipped, and so are predictions
        where bounds are declared.

    Attributes
    ----------
    coef_ : (n_columns,) in the units of the user's columns and target.
    intercept_ : float.
    coef_names_, named_coef_, ranges_, privacy_, released_, history_, n_features_in_, feature_names_in_ : as in
        `LogisticRegression`.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does; the bounds of the target are public too. Proofs:
    functional.md, theorems 1 and 4, objective.md, theorems 3 and 5, and noisy_gd.md, beside the mechanisms.

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
