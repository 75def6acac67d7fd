"""What the models of numbers share: targets and predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.base import RegressorMixin

from dplr._validation import sentence
from dplr.estimators._base import PrivateLinearModel
from dplr.problem.losses import model_of
from dplr.rows import NUMERIC, OBJECTS, Target


class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A linear model of numbers."""

    _plain = linear_model.LinearRegression

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, person: Any = None, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : (n_rows, n_features) array, or table of pandas, polars or Arrow; or rows that are streamed: the path of a
            Parquet file, a list of paths, a folder, a pattern such as "people/*.parquet", a lazy table, or a
            `dplr.Stream`.
        y : (n_rows,) numbers; or the name of a column of X, as it must be where rows are streamed.
        sample_weight : (n_rows,) weights, or the name of a column of X; clipped to `weight_bounds`, which they require.
        person : (n_rows,) ids, an array or a Series, or the name of a column of X; rows with one id are one person's.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule. No noise was drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay for the fit. No row was read, and nothing was spent.
        """
        return self._fit_model(X, y, sample_weight, person, refused)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """(n,) predictions, clipped to the declared bounds of the target."""
        margins = self._margins(X)
        return self._record.prep.predicted(margins)

    def _set_coef(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        self.coef_ = coef[0]
        self.intercept_ = float(intercept[0])

    def _check_target(self, y: Target) -> Target:
        if y.numeric:
            return y
        if y.kind != OBJECTS or any(isinstance(value, (str, bytes)) for value in y.values):
            got = "text among the values" if y.kind == OBJECTS else y.type_name
            raise ValueError(sentence("y", f'must be numeric with model="{model_of(self._loss())}"', got))
        return Target(NUMERIC, y.as_float(), y.type_name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
