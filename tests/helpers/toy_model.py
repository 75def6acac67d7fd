"""A model that the package does not have: a loss value and an estimator."""

from dplr.estimators import LinearRegression
from own_losses import own_log_cosh

LOSS = own_log_cosh(0.25)


class LogCoshRegression(LinearRegression):
    """Linear regression whose loss is nearly linear beyond a width."""

    _options = {"width": (0.01, 2.0)}  # noqa: RUF012

    def __init__(
        self, *, eps=1.0, delta=0.0, mechanism="ngd", width=0.25, bounds=None, fit_intercept=True, l2="auto",
        neighbouring="replace_one", n_rows=None, person=None, rows_per_person=1, weight_bounds=None, public=None,
        ranges="auto", large_delta=False, aim="prediction", ledger=None, rng=None, progress=False,
    ):  # fmt: skip
        super().__init__(
            eps=eps, delta=delta, mechanism=mechanism, bounds=bounds, fit_intercept=fit_intercept, l2=l2,
            neighbouring=neighbouring, n_rows=n_rows, person=person, rows_per_person=rows_per_person,
            weight_bounds=weight_bounds, public=public, ranges=ranges, large_delta=large_delta, aim=aim,
            ledger=ledger, rng=rng, progress=progress,
        )  # fmt: skip
        self.width = width

    def _loss(self):
        return own_log_cosh(self.width)
