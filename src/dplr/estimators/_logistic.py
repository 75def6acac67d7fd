"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn import linear_model

from dplr.estimators._classifier import PrivateClassifier
from dplr.problem.losses import LOGISTIC, Loss


class LogisticRegression(PrivateClassifier):
    """Differentially private logistic regression, for two classes or for more, each fitted against the rest.

    Parameters
    ----------
    eps : privacy loss, positive; ``float("inf")`` fits the same mechanism without noise and without privacy.
    delta : failure probability in [0, 1); 0 for pure eps-DP (`"objective"` then states 2^-64).
    mechanism : `"auto"` takes the one that was best on the project's tables, a function of public facts, and the
        statement says which and why. Or `"fm"`, `"objective"`, `"output"`, `"ngd"` and `"score"` (both need
        delta > 0), `"none"`, or a spec such as ``FunctionalMechanism(calibration="paper")``.
    bounds : `Bounds` of the columns from public knowledge, the mapping that makes them, or the path of a bounds file.
        None assumes that rows lie in the unit ball, and projects those outside onto it. Predictions count rows in the
        same way. With bounds by name, columns that they do not name are ignored.
    classes : the labels; may be left out for booleans, for 0 and 1, and where the bounds name them. More than two are
        fitted one against the rest, each with a share of eps and delta (one_vs_rest.md). `"from_data"` reads two labels
        from the data, which no noise covers: a PrivacyWarning says so, and the statement too.
    class_weight : label -> public factor, of every label: a row counts its label's factor over the largest one. None:
        all count alike. `"balanced"` is refused: it would be taken from the private labels.
    fit_intercept : whether the model has an intercept.
    l2 : factor of ||w||^2 / 2 in the mean objective of the scaled problem, or `"auto"`, a function of public facts.
    neighbouring : `"replace_one"` or `"add_remove"`.
    n_rows : public number of rows, or of persons; what X holds under replace_one, a declared reference (or None) under
        add_remove.
    person : the column of the ids of persons in the table X: rows with one id are one person's, and what is protected
        is one person with all their rows. Ids are compared as they are written. It is no feature, and predictions
        ignore it. Where ids are given to `fit` instead, this is what the statement calls them. None: every row is
        protected alone, and a person with k rows has the protection of k eps.
    rows_per_person : k. Each row of a person with m rows counts min(1, k / m) / k. With 1, everybody counts alike, and
        the number of rows is hidden at no cost; with more, persons with more rows count more, for more noise.
    weight_bounds : (0, W), which weights given to `fit` are clipped to and divided by; required with them. From public
        knowledge: the noise is that of rows of weight W, so W far above the mean weight costs accuracy. About twice
        the population over the sample is usual.
    public : where the fit starts and towards which its ridge pulls, from knowledge that is disjoint from the private
        data and was not selected using it; everything in the units that the estimator sees. One of

        - ``(X, y)``: public rows (at least two) and their targets, with both labels. An array has the columns of X in
          their order; a frame has the same columns in any order. The start is the exact minimiser of the same loss
          under the same bounds, with the ridge of ``mechanism="none"``. Every `fit` computes it anew.
        - a fitted model with `coef_` and `intercept_`. `sklearn.clone` would unfit it: in cross-validation give
        - ``(coef, intercept)``; or
        - a vector, the intercept last; without it where ``fit_intercept=False``.
    ranges : whether numbers are clipped to narrower ranges than the bounds, in the fit and in predictions: mean and
        three deviations to both sides, from sums that are released first, for at most 15 % of eps. `"on"`, `"off"`, or
        `"auto"`, which does so for numeric targets with delta = 0 under replace_one where the noise of a mean is at
        most a fifth of its half-width (ranges.md). Needs bounds, an intercept and n_rows, and no `public`. With
        delta > 0, `"auto"` lets standardised `"ngd"` clip numbers of a regression to ranges made of its own sums, for
        no further eps (noisy_gd.md, section 7).
    large_delta : True says that a `delta` of 1/n or more is meant, which is refused otherwise: such a guarantee allows
        a mechanism to publish a record whole.
    aim : `"prediction"`, or `"coefficients"` for options that bias coefficients less and make them noisier. Only `"fm"`
        has such: no ridge, directions dropped only where the noise is half of them, logistic with lengths after Stein.
        Those of the other mechanisms are best for both (decision record 26).
    ledger : the budget that pays: a `Ledger`, or the path of one that exists; None counts nothing. If the budget cannot
        pay for a fit, `BudgetExceeded` is raised before any row is read. Copies, folds and workers all spend from it.
    rng : None for the operating system's entropy; an int makes the noise reproducible, for tests and simulation.
    progress : whether a bar (tqdm, extra `progress`) shows the progress of a fit that takes more than a second.

    Attributes
    ----------
    coef_ : (1, n_columns) in the units of the user's columns, one column per number or level: see `coef_names_`. With
        more than two classes it is (n_classes, n_columns).
    coef_names_ : names of the columns, such as "age", "log1p(gain)", "work=Private", "age is missing".
    named_coef_ : name -> coefficient.
    trimmed_ : number of directions that `"fm"` dropped as drowned in noise; None for other mechanisms.
    features_ : the `RandomFourierFeatures` that made the rows, to be applied to raw ones; None where there were none.
    ranges_ : name -> the range to which a number is clipped; empty where none were released.
    intercept_ : (1,) or (n_classes,).
    classes_ : labels, sorted. With two of them, `coef_` is for ``classes_[1]``.
    privacy_ : the `PrivacyStatement`.
    released_ : block name -> noisy numbers, in the scaled problem; empty if only the coefficients were released. With
        more than two classes a name ends in the label: ``linear['a']``.
    history_ : the `History` of noisy gradient descent, or label -> `History`; None for other mechanisms. Free to look
        at and to publish.
    n_features_in_, feature_names_in_ : as in scikit-learn.
    target_name_ : the name of y, where it is a column with a name; else None.

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
    dplr.plan : the statement before any data is touched.

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
    >>> est = dplr.LogisticRegression(eps=0.8, mechanism="fm", bounds=est.bounds, weight_bounds=(0, 200))
    >>> est.fit(X, y, sample_weight=rng.uniform(0, 150, 5000)).privacy_.unit.rules
    ('weights are clipped to [0, 200] and divided by 200',)
    """

    _plain = linear_model.LogisticRegression

    def _loss(self) -> Loss:
        return LOGISTIC

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, n_classes) probabilities, columns in the order of ``classes_``; normalised with more than two classes."""
        margins = self._margins(X)
        if margins.ndim == 1:
            return np.column_stack([expit(-margins), expit(margins)])
        return np.asarray(softmax(log_expit(margins), axis=1))  # each over their sum, also where all are tiny

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, n_classes) logarithms of the probabilities."""
        margins = self._margins(X)
        if margins.ndim == 1:
            return np.column_stack([log_expit(-margins), log_expit(margins)])
        return np.asarray(log_softmax(log_expit(margins), axis=1))
