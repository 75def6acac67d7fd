"""The base of the classifiers: labels, margins and predictions."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from dplr._kit.validation import sentence
from dplr.bounds.declared import Bounds, as_bounds, codebook_of
from dplr.estimators._base import PrivateLinearModel
from dplr.fitting.options import LabelOptions, estimator
from dplr.fitting.release import FitInput
from dplr.rows import FROM_DATA, LabelRule, declared_classes


@estimator
class PrivateClassifier(ClassifierMixin, LabelOptions, PrivateLinearModel):  # type: ignore[misc]
    """A linear classifier of two labels, or of more, one against the rest.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients in the units of the user's columns. With two classes there is one row.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted, as scikit-learn has them: columns of predictions are in this order.
    outcome_ : object
        With two labels the one that `coef_`, tables and ratios are about, the second as declared; None with more.
    """

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, person: Any = None, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : array-like, table, path-like or Stream
            Array of shape (n_rows, n_features), or a table of pandas, polars or Arrow. Or rows that are streamed: the
            path of a Parquet file, a list of paths, a folder, a pattern such as ``"people/*.parquet"``, a lazy table,
            or a `dplr.Stream`.
        y : array-like of shape (n_rows,), or str
            Labels, or numbers if the bounds have a threshold. Or the name of a column of X, as it must be where rows
            are streamed.
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

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the margins of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected
            onto the unit ball.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Margins, positive for ``classes_[1]``, so those of `coef_` with the other sign where `outcome_` is
            ``classes_[0]``. With more than two classes there is one column per class.

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
        return -margins if self._turned else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected
            onto the unit ball.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels: for each row the one with the largest margin.

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
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _name_target(self, ready: FitInput) -> None:
        self.target_name_: str | None = ready.name
        if ready.intake.labels:
            self._set_labels(ready.intake.labels.classes)

    def _set_labels(self, classes: NDArray[Any]) -> None:
        """The labels: two of them in the order in which they were declared."""
        self.classes_: NDArray[Any] = np.sort(classes)  # which scikit-learn's scorers take for granted
        self.outcome_: Any = classes[1].item() if len(classes) == 2 else None

    @property
    def _turned(self) -> bool:
        """Whether `coef_` is about the first of the sorted labels."""
        return len(self.classes_) == 2 and bool(self.outcome_ == self.classes_[0])

    @property
    def _decision(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients and intercepts of `decision_function`."""
        return (-self.coef_, -self.intercept_) if self._turned else (self.coef_, self.intercept_)

    @property
    def _labels(self) -> NDArray[Any]:
        """The labels in the order of the fit: two as declared."""
        return self.classes_[::-1] if self._turned else self.classes_

    def _set_coef(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        self.coef_ = coef
        self.intercept_ = intercept

    def _label_rule(self, bounds: Bounds | None) -> LabelRule:
        in_bounds = bounds.target_classes() if bounds is not None else None
        if self.classes is not None and in_bounds is not None:
            own = self.classes if self._reads else declared_classes(self.classes).tolist()
            declared = declared_classes(in_bounds).tolist()
            if own != declared:
                order = "The second of two is what the model is about: declare them once, or in one order."
                remedy = order if not self._reads and set(own) == set(declared) else ""
                raise ValueError(sentence("classes", f"must agree with the bounds, {in_bounds}", self.classes, remedy))
        if bounds is not None and bounds.threshold is not None:
            return LabelRule(threshold=bounds.threshold)
        return LabelRule(in_bounds if self.classes is None else self.classes)

    @property
    def _reads(self) -> bool:
        """Whether the labels are to be taken from the data."""
        return isinstance(self.classes, str) and self.classes == FROM_DATA

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        declared: Any = self.classes
        in_file = isinstance(self.bounds, str | os.PathLike)  # which only a fit reads
        if declared is None and not in_file and (bounds := codebook_of(as_bounds(self.bounds))) is not None:
            declared = bounds.target_classes()
        tags.classifier_tags.multi_class = in_file or np.size(declared) > 2  # more than two must be declared
        tags.classifier_tags.poor_score = True
        return tags
