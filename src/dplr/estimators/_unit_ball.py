"""The unit ball as a step of a pipeline: scikit-learn has none that leaves the rows inside as they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr.bounds.scaling import in_unit_ball
from dplr.estimators._html import TransformerView
from dplr.estimators._values import named


class UnitBall(TransformerView, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Project rows onto the unit ball, as a fit without bounds counts them.

    It is the first step of `to_sklearn()` where no bounds are declared. It learns the names of the columns and nothing
    else.

    Privacy
    -------
    Each row is projected by itself.

    See Also
    --------
    dplr.preprocessing.BoundsEncoder : Encode and clip rows as bounds say.

    Examples
    --------
    >>> import dplr
    >>> dplr.preprocessing.UnitBall().fit_transform([[3.0, 4.0], [0.3, 0.4]])
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the number and the names of the columns.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of numbers.
        y : None, default=None
            Not used.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError
            X is not two-dimensional, or not of finite numbers.

        Privacy
        -------
        No value of a row is kept.
        """
        named("X", validate_data, self, X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Project rows; those inside the ball stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of numbers.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Rows of norm at most 1.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            X has other columns, or a value is missing or infinite.

        Privacy
        -------
        The result is as private as its rows.
        """
        check_is_fitted(self)
        return in_unit_ball(named("X", validate_data, self, X, reset=False, dtype=np.float64))
