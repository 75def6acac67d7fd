"""The base of the models of numbers: targets and predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dplr._kit.validation import sentence
from dplr.estimators._base import PrivateLinearModel
from dplr.problem.losses import model_of
from dplr.rows import NUMERIC, OBJECTS, Target


class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    _plain = "LinearRegression"

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, person: Any = None, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : array-like, table, path-like or Stream
            Array of shape (n_rows, n_features), or a table of pandas, polars or Arrow. Or rows that are streamed: the
            path of a Parquet file, a list of paths, a folder, a pattern such as ``"people/*.parquet"``, a lazy table,
            or a `dplr.Stream`.
        y : array-like of shape (n_rows,), or str
            Numbers, or the name of a column of X, as it must be where rows are streamed.
        sample_weight : array-like of shape (n_rows,), str or None, default=None
            Weights, or the name of a column of X. They are clipped to the `weight_max` of the bounds, which they
            require.
        person : array-like of shape (n_rows,), str or None, default=None
            Ids, or the name of a column of X. Rows with one id are one person's.
        **refused : object
            Nothing else is taken: the error says where a parameter belongs.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule. No noise was drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay for the fit. No row was read, and nothing was spent.

        Privacy
        -------
        Every call is a release of its own, and spends eps and delta anew. The Privacy section of the class says what is
        protected, what is released and what is assumed public.
        """
        return self._fit_model(X, y, sample_weight, person, refused)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected
            onto the unit ball.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions in the units of y, clipped to the declared bounds of the target.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            A column is missing, or a value is infinite, or missing without a policy.

        Privacy
        -------
        A prediction is a function of the released model and of its own row. It is as private as that row.
        """
        margins = self._margins(X)
        return self._record.prep.predicted(margins)

    def _set_coef(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        self.coef_: NDArray[np.float64] = coef[0]
        self.intercept_: float = float(intercept[0])

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
