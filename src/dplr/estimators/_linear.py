"""Linear regression."""

from __future__ import annotations

from typing import ClassVar

from dplr.estimators._regressor import PrivateRegressor
from dplr.problem.losses import SQUARED, Loss


class LinearRegression(PrivateRegressor):
    """Differentially private linear regression.

    Values of y outside the bounds of the target are clipped, and so are predictions where bounds are declared.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, positive. ``float("inf")`` fits without noise and without privacy.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). 0 asks for pure eps-DP.
    mechanism : {"auto", "fm", "objective", "ngd", "none"} or spec, default="auto"
        `"auto"` takes the one that was best on the project's tables, a function of public facts. `"ngd"` needs delta >
        0. A spec sets options.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is ``(lower, upper)`` of y, and required. None
        assumes that rows lie in the unit ball, and y in [-1, 1].
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
        Coefficients in the units of the user's columns and target.
    intercept_ : float
        Intercept in the units of the target.
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
    Protects one record, or one person, as `LogisticRegression` does; the bounds of the target are public too. Proofs:
    functional.md, theorems 1 and 4, objective.md, theorems 3 and 5, and noisy_gd.md, beside the mechanisms.

    See Also
    --------
    dplr.HuberRegressor : Fit a regression that is robust to outliers.
    dplr.release_moments : Release moments once, for many regressions.
    dplr.plan : Show the statement before any data is touched.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

    _kind: ClassVar[str] = "linear"

    def _loss(self) -> Loss:
        return SQUARED
