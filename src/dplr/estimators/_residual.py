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
    loss : of `residual_loss`.
    mechanism : `"auto"`, `"objective"`, `"output"`, `"ngd"` (needs delta > 0), `"none"`, or a spec. The functional
        mechanism has no expansion of such losses.
    eps, delta, bounds, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person, weight_bounds, public, ranges,
        large_delta, aim, ledger, rng, progress : as in `LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, privacy_, released_, history_, n_features_in_, feature_names_in_ : as in `LinearRegression`.

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The loss is public: one that was chosen by a look at
    the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

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
