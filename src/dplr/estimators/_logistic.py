"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from dplr.estimators._classifier import PrivateClassifier
from dplr.estimators._declared import estimator
from dplr.problem.losses import LOGISTIC, Loss


@estimator
class LogisticRegression(PrivateClassifier):
    """Differentially private logistic regression, for two classes or for more, each fitted against the rest.

    Parameters
    ----------
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). 0 asks for pure eps-DP; `"objective"`
        then states 2^-64.
    mechanism : {"auto", "fm", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` takes the one that was best on the project's tables. It is a function of public facts, and the
        statement says which one it took and why. `"ngd"` and `"score"` need delta > 0. A spec sets options, such as
        ``FunctionalMechanism(calibration="paper")``.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns: a `Bounds`, the mapping that makes one, or the path of a bounds file. With bounds
        by name, columns that they do not name are ignored. None assumes that rows lie in the unit ball, and projects
        those outside onto it, as ``Bounds(None)`` does. Predictions count rows in the same way. Bounds also say how
        many rows of a person count, `rows_per_person`, and to what weights are clipped, `weight_max`.
    classes : sequence, "from_data" or None, default=None
        Labels, from public knowledge. None suits booleans, 0 and 1, and bounds that name the labels. More than two
        labels are fitted one against the rest, each with a share of eps and delta (one_vs_rest.md). `"from_data"` reads
        two labels from the data, which no noise covers: a PrivacyWarning says so, and the statement too.
    class_weight : mapping of label to float, or None, default=None
        Public factor of every label: a row counts its label's factor over the largest one. None counts all rows alike.
        `"balanced"` is refused, because it would be taken from the private labels.
    person : str or None, default=None
        Name of the column of the ids of persons in the table X. Rows with one id are one person's, and the guarantee
        protects one person with all their rows. Ids are compared as they are written. The column is not a feature, and
        predictions ignore it. Where ids are given to `fit` instead, this is what the statement calls them. None
        protects each row alone: a person with k rows has the protection of k eps.
    public : tuple, fitted model, array-like or None, default=None
        Where the fit starts and towards which its ridge pulls. It must be disjoint from the private data, and not
        selected using it. Everything is in the units that the estimator sees. One of

        - ``(X, y)``: at least two public rows and their targets, with both labels. An array has the columns of X in
          their order; a frame has the same columns in any order. The start is the exact minimiser of the same loss
          under the same bounds, with the ridge of ``mechanism="none"``. Every `fit` computes it anew.
        - a fitted model with `coef_` and `intercept_`. `sklearn.clone` would unfit it: in cross-validation give
        - ``(coef, intercept)``; or
        - a vector, the intercept last; without it where ``fit_intercept=False``.
    curves : int, "auto" or None, default=None
        A number of knots makes each declared number that measures something a curve (`Bounds.with_curves`): piecewise
        linear between that many even knots, beside its line. `"auto"` takes 8 to 24 where they pay, a function of n,
        eps, delta and columns, and says so in the statement. None fits lines.
    aim : {"prediction", "coefficients"}, default="prediction"
        `"coefficients"` makes a release that has a table of coefficients with intervals, or is refused before anything
        is spent. `mechanism="auto"` then takes the mechanism whose table is expected to be the best, and one that was
        asked for takes the options with which it has a table, where you have not set others: `"fm"` no ridge, fewer
        dropped directions, and intervals for unequal variances; `"objective"` its Hessian, and no cut. No numbers are
        clipped to private ranges. Predictions are noisier. A `UtilityWarning` names lines of the table that may say
        nothing, before anything is spent.
    ledger : Ledger, path-like or None, default=None
        Budget that pays: a `Ledger`, or the path of one that exists. None counts nothing. If the budget cannot pay for
        a fit, `BudgetExceeded` is raised before any row is read. Copies, folds and workers all spend from it.

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
