"""Linear regression with the Huber loss of residuals."""

from __future__ import annotations

from typing import ClassVar

from dplr._keywords import suggests
from dplr._validation import real_number, sentence
from dplr.estimators._regressor import PrivateRegressor
from dplr.mechanisms.automatic import AUTO
from dplr.problem.losses import Loss, huber_residual
from dplr.typing import BoundsLike, LedgerLike, MechanismLike, PublicLike


class HuberRegressor(PrivateRegressor):
    """Differentially private linear regression that is robust to outliers.

    Its loss is linear far from the target.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, positive. ``float("inf")`` fits without noise and without privacy.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). 0 asks for pure eps-DP.
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        this loss.
    width : float, default=0.5
        Residual at which the loss changes from quadratic to linear, in [0.01, 2], in units of half the distance between
        the bounds of the target. Noise is proportional to it.
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
    Protects one record, or one person, as `LinearRegression` does. The slope of the loss is at most `width`, its second
    derivative at most 1, so output.md, theorem 1, objective.md, theorem 1, and noisy_gd.md cover it, beside the
    mechanisms.

    See Also
    --------
    dplr.LinearRegression : Fit with the squared loss.
    dplr.residual_loss : Make a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.HuberRegressor(eps=1.0, width=0.2, mechanism="output", bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

    _kind: ClassVar[str] = "huber"
    _options: ClassVar[dict[str, tuple[float, float]]] = {"width": (0.01, 2.0)}

    @suggests
    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: MechanismLike = AUTO,
        width: float = 0.5,
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
        self.width = width

    def _loss(self) -> Loss:
        width, (least, largest) = real_number("width", self.width), self._options["width"]
        if not least <= width <= largest:
            raise ValueError(sentence("width", f"must be between {least:g} and {largest:g}", width))
        return huber_residual(width)
