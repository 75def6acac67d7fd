"""The unit ball as a step of a pipeline: scikit-learn has none that leaves the rows inside as they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr.bounds.scaling import in_unit_ball
from dplr.estimators._html import Drawn


class UnitBall(Drawn, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows projected onto the unit ball, as a fit without bounds counts them.

    The first step of `to_sklearn()` where no bounds are declared. It learns the names of the columns and nothing else.

    Privacy
    -------
    Each row is projected by itself.

    Examples
    --------
    >>> from dplr.estimators import UnitBall
    >>> UnitBall().fit_transform([[3.0, 4.0], [0.3, 0.4]])
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the names of the columns."""
        validate_data(self, X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """(n_rows, n_features) rows of norm at most 1; those inside the ball stay as they are."""
        check_is_fitted(self)
        return in_unit_ball(validate_data(self, X, reset=False, dtype=np.float64))
