"""Differentially private linear regression with a loss of one's own."""

from __future__ import annotations

from typing import ClassVar

from dplr._keywords import suggests
from dplr._validation import sentence
from dplr.estimators._regressor import PrivateRegressor
from dplr.mechanisms.automatic import AUTO
from dplr.problem.losses import Loss
from dplr.typing import BoundsLike, LedgerLike, MechanismLike, PublicLike


class ResidualRegressor(PrivateRegressor):
    """Differentially private linear regression with a loss of one's own.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, positive. ``float("inf")`` fits without noise and without privacy.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). 0 asks for pure eps-DP.
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        such losses.
    loss : Loss or None, default=None
        Loss of the residual, made by `residual_loss`. It is required.
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
    Protects one record, or one person, as `LinearRegression` does. The loss is public: one that was chosen by a look at
    the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

    See Also
    --------
    dplr.residual_loss : Make a loss of the residual.
    dplr.HuberRegressor : Fit with the Huber loss.
    dplr.MarginClassifier : Classify with a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 1))
    >>> def value(r):
    ...     return np.sqrt(0.01 + r**2) / 10
    >>> def slope(r):
    ...     return r / np.sqrt(0.01 + r**2) / 10
    >>> loss = dplr.residual_loss(value, slope, lambda r: 0.001 * (0.01 + r**2) ** -1.5, name="pseudo Huber")
    >>> bounds = dplr.Bounds([(0, 10)], target=(0, 10))
    >>> dplr.ResidualRegressor(loss=loss, eps=1.0, bounds=bounds).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
    True
    """

    _kind: ClassVar[str] = "residual"

    @suggests
    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: MechanismLike = AUTO,
        loss: Loss | None = None,
        bounds: BoundsLike = None,
        fit_intercept: bool = True,
        l2: float | str = "auto",
        neighbouring: str = "replace_one",
        n_rows: int | None = None,
        person: str | None = None,
        rows_per_person: int = 1,
        weight_bounds: tuple[float, float] | None = None,
        public: PublicLike = None,
        ranges: str = "auto",
        large_delta: bool = False,
        aim: str = "prediction",
        ledger: LedgerLike = None,
        rng: int | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            eps=eps,
            delta=delta,
            mechanism=mechanism,
            bounds=bounds,
            fit_intercept=fit_intercept,
            l2=l2,
            neighbouring=neighbouring,
            n_rows=n_rows,
            person=person,
            rows_per_person=rows_per_person,
            weight_bounds=weight_bounds,
            public=public,
            ranges=ranges,
            large_delta=large_delta,
            aim=aim,
            ledger=ledger,
            rng=rng,
            progress=progress,
        )
        self.loss = loss

    def _loss(self) -> Loss:
        loss = self.loss
        if not isinstance(loss, Loss) or loss.knots is None or loss.knots.form != "residual":
            remedy = "Make one with dplr.residual_loss."
            raise TypeError(sentence("loss", "must be a loss of the residual", loss, remedy))
        return loss
