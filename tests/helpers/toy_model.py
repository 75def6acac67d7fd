"""A model that the package does not have: a loss value and an estimator."""

from dplr.estimators import LinearRegression
from dplr.fitting.options import Within, estimator, limits_of, option
from own_losses import own_log_cosh

LOSS = own_log_cosh(0.25)


@estimator
class LogCoshRegression(LinearRegression):
    """Linear regression whose loss is nearly linear beyond a width."""

    mechanism: str = "ngd"
    width: float = option(default=0.25, rule=Within("width", 0.01, 2.0))

    def _loss(self):
        return own_log_cosh(limits_of(self)["width"](self.width))
