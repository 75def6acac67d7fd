"""Intervals of predictions of a fitted model: post-processing of its release."""

from __future__ import annotations

from typing import Any

from dplr._kit.validation import check_choice, real_number
from dplr.inference.intervals import check_level
from dplr.summary.bands import MEAN, ROW, bands


class Banded:
    """Intervals of predictions, of whatever makes a `Subject` and counts rows."""

    def predict_interval(
        self, X: Any, *, level: float = 0.95, kind: str = "mean", effect_bound: float | None = None
    ) -> Any:
        """Compute an interval for the mean of each row, or for a new row, that counts sampling and privacy noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows as for `predict`: clipped to the bounds as in the fit.
        level : float, default=0.95
            Probability of each interval, in [0.5, 1).
        kind : {"mean", "row"}, default="mean"
            `"mean"`, the mean of all rows like this one, or the probability of its label; `"row"`, the target of one
            new row: the residual deviation is added, as of normal residuals with equal variances.
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns, as in `summary`.

        Returns
        -------
        PredictionIntervals or dict
            With `estimate`, `low`, `high` and `to_frame`. The estimate is without ridge, so not that of `predict`,
            which has a smaller error. With more than two classes, a dictionary by label: each against all others.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals, X breaks a rule, or `kind` is `"row"` and the target is a label.

        Privacy
        -------
        A function of X and of the released model: as private as X.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> mean, row = (est.predict_interval([[5.0, 5.0]], kind=kind) for kind in ("mean", "row"))
        >>> bool(row.low[0] < mean.low[0] < mean.estimate[0] < mean.high[0] < row.high[0])
        True
        """
        kind, level = check_choice("kind", kind, (MEAN, ROW)), check_level(real_number("level", level))
        model: Any = self
        subject = model._own_subject()
        rows, target = model._rows_and_target(X)
        names, _ = model._columns_of_table()
        return model._by_label(bands(subject, tuple(names), rows, kind, level, target, effect_bound))
