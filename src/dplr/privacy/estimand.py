"""Estimands: what a coefficient is a change of. Private.

Ask `statement.estimand` for that of `coef_`, and `est.summary().estimand` for that of a table with intervals. They may
differ: the labels' moments by `"fm"` give a direction for predictions, and slopes of the probability in a table. Odds
ratios come from `Summary.odds_ratios` alone.
"""

from __future__ import annotations

from enum import StrEnum


class Estimand(StrEnum):
    """What coefficients come to with many rows, noise and ridge aside; the words follow "change of"."""

    MEAN = "mean"
    PROBABILITY = "probability"
    LOG_ODDS = "log-odds"
    LOG_RATE = "log-rate"
    LOCATION = "location"  # of least cut squares: large residuals count less, so a mean only if they are symmetric
    MARGIN = "margin"  # it predicts, and its signs and order mean something; its size is that of no statistic

    @property
    def words(self) -> str:
        """What one unit of a column changes, for a table."""
        return _WORDS[self]

    @property
    def clipped(self) -> Estimand:
        """That of gradients which are clipped, and so vanish elsewhere than whole ones."""
        return Estimand.LOCATION if self in (Estimand.MEAN, Estimand.LOCATION) else Estimand.MARGIN


_WORDS = {
    Estimand.MEAN: "change of the mean per unit",
    Estimand.PROBABILITY: "change of the probability per unit (not log odds)",
    Estimand.LOG_ODDS: "change of the log odds per unit",
    Estimand.LOG_RATE: "change of the logarithm of the mean per unit",
    Estimand.LOCATION: "change of a robust location per unit (large residuals count less)",
    Estimand.MARGIN: "change of the linear predictor per unit (read signs and order, not sizes)",
}
