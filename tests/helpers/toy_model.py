"""A model that the package does not have: a loss value and an estimator."""

from dplr.estimators import LinearRegression
from dplr.estimators._declared import estimator, option, width_of
from own_losses import own_log_cosh

LOSS = own_log_cosh(0.25)


@estimator
class LogCoshRegression(LinearRegression):
    """Linear regression whose loss is nearly linear beyond a width."""

    mechanism: str = "ngd"
    width: float = option(0.25, 0.01, 2.0)

    def _loss(self):
        return own_log_cosh(width_of(self))
