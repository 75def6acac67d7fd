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
    """Differentially private linear regression that is robust to outliers: its loss is linear far from the target.

    Parameters
    ----------
    width : residual at which the loss changes from quadratic to linear, in units of half the distance between the
        bounds of the target, in [0.01, 2]. Noise is proportional to it.
    mechanism : `"auto"`, `"objective"`, `"output"`, `"ngd"` (needs delta > 0), `"none"`, or a spec. The functional
        mechanism has no expansion of this loss.
    eps, delta, bounds, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person, weight_bounds, public, ranges,
        large_delta, aim, ledger, rng, progress : as in `LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, privacy_, released_, history_, n_features_in_, feature_names_in_ : as in `LinearRegression`.

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The slope of the loss is at most `width`, its second
    derivative at most 1, so output.md, theorem 1, objective.md, theorem 1, and noisy_gd.md cover it, beside the
    mechanisms.

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
