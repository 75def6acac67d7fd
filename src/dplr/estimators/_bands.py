"""Intervals of predictions, and numbers about columns, of a fitted model: post-processing of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dplr._kit.validation import check_choice, real_number
from dplr.inference.intervals import check_level
from dplr.summary.bands import MEAN, ROW, bands

if TYPE_CHECKING:
    from dplr.summary.column_statistics import ColumnStatistics


class Banded:
    """Intervals of predictions and numbers about columns, of whatever makes a `Subject` and counts rows."""

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
            new row: the residual deviation is added, as of normal residuals with equal variances, as its `note` says.
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns, as in `summary`.

        Returns
        -------
        PredictionIntervals or dict
            With `estimate`, `low`, `high`, `note` and `to_frame`. The estimate is without ridge, so not that of
            `predict`, which has a smaller error. With more than two classes, a dictionary by label: each against all
            others.

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

    def marginal_effects(self, *, level: float = 0.95, effect_bound: float | None = None) -> ColumnStatistics:
        """Compute average marginal effects: the change of the mean, or of the probability, per unit of each column.

        For log odds it is the derivative averaged over rows, the coefficient times the mean of p(1 - p), which comes
        from the released Hessian; also for flags and levels, as Stata's ``dydx`` of a number. For linear models it is
        the coefficient.

        Parameters
        ----------
        level : float, default=0.95
            Probability of each interval, in [0.5, 1).
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns, as in `summary`.

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `label`, `estimate`, `low` and `high`; nan where the released numbers cannot say,
            and `obstacle` says why where that is so for all of them. A product is a column of its own; the intercept,
            and the line and knots of a curve, which change together, have none.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals, or a level is out of range.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/slope.py.

        See Also
        --------
        dplr.results.Summary : `odds_ratios` of it are the other way to read log odds.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 1, (50_000, 1))
        >>> y = rng.random(50_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
        >>> est = dplr.fit(X, y, eps=3.0, bounds=dplr.Bounds([(0, 1)]), aim="coefficients")
        >>> (effect,) = est.marginal_effects().lines
        >>> effect.low < 0.37 < effect.high
        True
        """
        from dplr.summary.column_statistics import marginal_effects

        model: Any = self
        return marginal_effects(model._own_subject(), real_number("level", level), effect_bound)

    def standardised_coefficients(self, *, level: float = 0.95, effect_bound: float | None = None) -> ColumnStatistics:
        """Compute coefficients in standard deviations of their column and of the target, each with its interval.

        Parameters
        ----------
        level : float, default=0.95
            Probability of each interval, in [0.5, 1).
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns, as in `summary`.

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `label`, `estimate`, `low` and `high`; nan where the released numbers cannot say.
            Releases of log odds do not tell the variances of columns: `obstacle` says so.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals, or a level is out of range.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/determination.py.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> first, second = est.standardised_coefficients().lines
        >>> second.low < -0.53 < second.high < 0 < first.low < 0.8 < first.high
        True
        """
        from dplr.summary.column_statistics import standardised_coefficients

        model: Any = self
        return standardised_coefficients(model._own_subject(), real_number("level", level), effect_bound)

    def variance_inflation(self, *, level: float = 0.95) -> ColumnStatistics:
        """Compute the variance inflation factor of each column, 1/(1 - R^2) on all others, with its interval.

        Parameters
        ----------
        level : float, default=0.95
            Probability of each interval, in [0.5, 1).

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `estimate`, `low` and `high`; nan where the released numbers cannot say. Releases
            of log odds do not tell the variances of columns: `obstacle` says so.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals, or a level is out of range.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/determination.py.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> [1 <= line.estimate < 1.05 for line in est.variance_inflation().lines]
        [True, True]
        """
        from dplr.summary.column_statistics import variance_inflation

        model: Any = self
        return variance_inflation(model._own_subject(), real_number("level", level))
