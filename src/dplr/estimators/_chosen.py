"""The methods of a search that ask the best model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _best_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Whether the models of the search have a method."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    decorator: Callable[[Callable[..., Any]], Any] = available_if(check)
    return decorator


class ChosenModel:
    """The methods of a search that are those of its chosen model, each where that model has it."""

    best_estimator_: Any

    @property
    def cv_results_(self) -> NoReturn:
        """There are none: a score of every candidate would be a release of its own.

        Raises
        ------
        AttributeError
            Always; the message says what was released instead.

        Privacy
        -------
        The scores or models of all candidates would each cost privacy.
        """
        raise AttributeError(
            "a private search has no `cv_results_`: the scores or models of all candidates would each cost privacy. "
            "What was released is `best_estimator_`, `best_params_` and `privacy_`."
        )

    @property
    def classes_(self) -> Any:
        """Labels of the chosen model.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        """
        check_is_fitted(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the chosen model sees.

        Raises
        ------
        AttributeError
            `fit` was not called.
        """
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("a search has `n_features_in_` after its fit")
        return int(self.best_estimator_.n_features_in_)

    @_best_has("predict")
    def predict(self, X: Any) -> Any:
        """Predict with the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that the chosen model saw.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels or numbers.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        AttributeError
            The chosen model has no such method.

        Privacy
        -------
        A prediction is a function of the released model and of its own row. It is as private as that row.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_best_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities with the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that the chosen model saw.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, columns in the order of ``classes_``.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        AttributeError
            The chosen model has no such method.

        Privacy
        -------
        A prediction is a function of the released model and of its own row. It is as private as that row.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @_best_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Compute the margins of the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that the chosen model saw.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Margins, positive for ``classes_[1]``. With more than two classes there is one column per class.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        AttributeError
            The chosen model has no such method.

        Privacy
        -------
        A prediction is a function of the released model and of its own row. It is as private as that row.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Compute the accuracy or R^2 of the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that the chosen model saw.
        y : array-like of shape (n_rows,)
            Their labels or numbers.

        Returns
        -------
        float
            Share of right labels, or R^2.

        Raises
        ------
        NotFittedError
            `fit` was not called.

        Privacy
        -------
        Nothing protects the score: on private rows it is not private.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))
