"""What every fitted model offers to other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dplr.estimators.export import steps


class Exports:
    """A released model for scikit-learn, SQL and ONNX: post-processing."""

    def to_sklearn(self) -> Any:
        """A pipeline of scikit-learn with the same predictions, for use where dplr is not installed.

        Returns
        -------
        sklearn.pipeline.Pipeline
            Step `columns` encodes and clips as the bounds say, in steps of scikit-learn and functions of NumPy: it
            finds the columns of a data frame (pandas, polars) by name where the bounds name them. Without bounds it is
            `dplr.estimators.UnitBall`, for which dplr must be installed.

            Step `model` is `LogisticRegression`, `LinearSVC`, or `LinearRegression` inside a
            `TransformedTargetRegressor` that clips to the bounds of the target, with the same `coef_`, `intercept_` and
            `classes_` in the user's units. With more than two classes, logistic regression becomes a
            `OneVsRestClassifier` of `LogisticRegression`.

        Raises
        ------
        NotFittedError
            Call `fit` first.
        ValueError
            The bounds describe a column in a way that no step expresses.
        ModuleNotFoundError
            Columns have names, and neither pandas nor polars is installed.

        Privacy
        -------
        Holds released numbers only. The statement does not come along: publish ``est.privacy_`` beside the model.

        Notes
        -----
        Predictions are the same up to the rounding of sums and logarithms. Infinite and missing values that dplr
        refuses are refused. Missing text is None or NaN; ``pandas.NA`` in text raises a TypeError.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(-0.5, 1.5, (1000, 2))
        >>> est = dplr.fit(X, X[:, 0] > 0.5, eps=1.0, bounds=dplr.Bounds([(0, 1), (0, 1)]))
        >>> bool((est.to_sklearn().predict(X) == est.predict(X)).all())
        True
        """
        check_is_fitted(self)
        return steps.pipeline_of(self)
