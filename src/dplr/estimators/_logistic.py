"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from dplr.estimators._classifier import PrivateClassifier
from dplr.fitting.options import estimator
from dplr.problem.losses import LOGISTIC, Loss


@estimator
class LogisticRegression(PrivateClassifier):
    """Differentially private logistic regression, for two classes or for more, each fitted against the rest.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients in the units of the user's columns, one column per number or level: see `coef_names_`. With two
        classes there is one row.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted, as scikit-learn has them: columns of predictions are in this order.
    outcome_ : object
        With two labels the one that `coef_`, tables and ratios are about, the second as declared; None with more.

    Privacy
    -------
    Protects one record (see `neighbouring`): x, y, its weight and, under add_remove, its presence; with `person` one
    person with all their records, however many, and their id. Released are `coef_`, `intercept_` and `released_`.
    Assumed public: all parameters, the bounds, the labels, and the number of rows, or of persons, under replace_one;
    `privacy_` lists them. Warnings and errors are for the data holder and are not private. Every call of `fit` spends
    eps anew. Proofs: functional.md, objective.md, output.md and noisy_gd.md, beside the mechanisms, and unit.md about
    persons and weights.

    See Also
    --------
    dplr.fit : Fit a model in one call.
    dplr.plan : Show the statement before any data is touched.
    dplr.HuberSVC : Classify with a linear support vector machine.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> est = dplr.LogisticRegression(eps=0.8, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    >>> est.privacy_.guarantee.eps
    0.8
    >>> est = dplr.LogisticRegression(eps=0.8, mechanism="fm", bounds=dplr.Bounds([(0, 10)] * 2, weight_max=200))
    >>> est.fit(X, y, sample_weight=rng.uniform(0, 150, 5000)).privacy_.unit.rules
    ('weights are clipped to [0, 200] and divided by 200',)
    """

    _plain = "LogisticRegression"

    def _loss(self) -> Loss:
        return LOGISTIC

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities of the labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected
            onto the unit ball.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, columns in the order of ``classes_``. With more than two classes those of the models are
            normalised to a sum of 1. Where slopes of the loss were cut, or gradients clipped, margins are not log odds:
            a public map makes log odds of them (link.md). It keeps 0, so the likelier of two labels is the predicted.

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
        log_odds = self._log_odds(X)
        if log_odds.ndim == 1:
            return np.column_stack([expit(-log_odds), expit(log_odds)])
        return np.asarray(softmax(log_expit(log_odds), axis=1))  # each over their sum, also where all are tiny

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict logarithms of the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected
            onto the unit ball.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Natural logarithms of what `predict_proba` returns, without its underflow.

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
        log_odds = self._log_odds(X)
        if log_odds.ndim == 1:
            return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        return np.asarray(log_softmax(log_expit(log_odds), axis=1))

    def _log_odds(self, X: Any) -> NDArray[np.float64]:
        margins = self.decision_function(X)
        return self._record.link.log_odds(margins)
