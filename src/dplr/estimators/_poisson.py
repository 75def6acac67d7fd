"""Poisson regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import d2_tweedie_score

from dplr.estimators._regressor import PrivateRegressor
from dplr.problem.losses import POISSON, Loss


class PoissonRegressor(PrivateRegressor):
    """Differentially private Poisson regression of counts.

    The logarithm of the rate is a linear function of the columns. The likelihood is that of Poisson's law for rates up
    to the upper bound of the target, and linear in the log-rate beyond: no rate above the largest count is worth more.
    With an intercept the ridge pulls towards the rate that lies an eighth of the way from the smallest to the largest
    count, so the unit of the counts does not matter.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, positive. ``float("inf")`` fits without noise and without privacy.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). 0 asks for pure eps-DP.
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        this loss.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is the smallest and the largest count, at least 0,
        and required. Counts outside are clipped.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    l2 : float or "auto", default="auto"
        Ridge: factor of ||w||^2 / 2 in the mean objective of the scaled problem. ``"auto"`` is a function of public
        facts.
    neighbouring : {"replace_one", "add_remove"}, default="replace_one"
        Whether a neighbouring data set has one record replaced, or one record more or less.
    n_rows : int or None, default=None
        Public number of rows, or of persons. Under replace_one it is what X holds; a strict ledger needs that of
        persons. Under add_remove it is a declared reference, or None.
    person : str or None, default=None
        Name of the column of the ids of persons. The guarantee then protects one person with all their rows. None
        protects each row alone.
    rows_per_person : int, default=1
        How many rows of one person may count whole, as in `LogisticRegression`.
    weight_bounds : tuple of (float, float) or None, default=None
        ``(0, W)``, to which the weights given to `fit` are clipped. Weights require it. W is public.
    public : tuple, fitted model, array-like or None, default=None
        Where the fit starts and towards which its ridge pulls, as in `LogisticRegression`: public rows ``(X, y)``, a
        fitted model, ``(coef, intercept)`` or a vector.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to ranges that are released first, as in `LogisticRegression`.
    large_delta : bool, default=False
        True says that a `delta` of 1/n or more is meant. It is refused otherwise.
    aim : {"prediction", "coefficients"}, default="prediction"
        What the options of the mechanism are best for, as in `LogisticRegression`.
    ledger : Ledger, path-like or None, default=None
        Budget that pays for every fit. None counts nothing.
    rng : int or None, default=None
        None takes the operating system's entropy. An int makes the noise reproducible: such a fit is not private.
    progress : bool, default=False
        Whether a bar (extra `progress`) shows the progress of a long fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients of the log-rate: one unit more of a column multiplies the expected count by exp of its coefficient.
    intercept_ : float
        Intercept of the log-rate.
    coef_names_ : tuple of str
        Names of the columns, such as "age", "log1p(gain)", "work=Private", "age is missing".
    named_coef_ : dict
        Name to coefficient.
    trimmed_ : int or None
        Number of directions that `"fm"` dropped as drowned in noise. None for other mechanisms.
    features_ : RandomFourierFeatures or None
        What made the rows, to be applied to raw ones. None where nothing did.
    ranges_ : dict
        Name to the range to which a number is clipped. Empty where none were released.
    privacy_ : PrivacyStatement
        What is promised, and under which assumptions.
    released_ : mapping of str to ndarray
        Block name to noisy numbers, in the scaled problem. Empty if only the coefficients were released. With more than
        two classes a name ends in the label: ``linear['a']``.
    history_ : History, dict or None
        Path of noisy gradient descent, or label to path. None for other mechanisms. It is free to look at and to
        publish.
    n_features_in_ : int
        Number of columns that `fit` saw, as in scikit-learn.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of these columns, where X has any.
    target_name_ : str or None
        Name of y, where it is a column with a name.

    Privacy
    -------
    Protects one record, as `LinearRegression` does. In units of half the distance of the target's bounds, 0 and m, the
    slope of the loss is at most 2, its second derivative too: output.md, theorem 1, objective.md, theorem 1, and
    noisy_gd.md cover it.

    See Also
    --------
    dplr.LinearRegression : Fit numbers with the squared loss.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20000, 1))
    >>> y = rng.poisson(np.exp(2 * X[:, 0]))
    >>> bounds = dplr.Bounds([(0, 1)], target=(0, 20))
    >>> est = dplr.PoissonRegressor(eps=2.0, mechanism="objective", bounds=bounds).fit(X, y)
    >>> bool(1.5 < est.coef_[0] < 2.5)
    True
    """

    _kind: ClassVar[str] = "poisson"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of the Poisson deviance that is explained.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows with the columns that `fit` saw.
        y : array-like of shape (n_rows,)
            Their counts.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows. None counts all alike.

        Returns
        -------
        float
            D^2, as scikit-learn's own Poisson regression defines it: at most 1, and 0 for a model that predicts the
            mean.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            A column is missing, or a value is infinite, or missing without a policy.

        Privacy
        -------
        Nothing protects the score: on private rows it is not private. Compute it on public rows, or keep it to
        yourself.
        """
        predicted = np.maximum(self.predict(X), np.finfo(float).tiny)
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _loss(self) -> Loss:
        return POISSON
