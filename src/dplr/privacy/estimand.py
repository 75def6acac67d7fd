"""Estimands: the statistics that coefficients are changes of. Private.

Ask `statement.estimand` for that of `coef_`, and `est.summary().estimand` for that of a table with intervals. They may
differ: the labels' moments by `"fm"` give a direction for predictions, and slopes of the probability in a table. Odds
ratios come from `Summary.odds_ratios` alone.
"""

from __future__ import annotations

from enum import StrEnum


class Estimand(StrEnum):
    """The statistic that a coefficient is a change of: with many rows, noise and ridge aside.

    Parameters
    ----------
    value : {"mean", "probability", "log-odds", "log-rate", "location", "margin"}
        Name of the statistic. Changes of a `"location"` are of least cut squares, where large residuals count less. A
        `"margin"` predicts, and its signs and order mean something; its size is that of no statistic.

    Raises
    ------
    ValueError
        There is no estimand of this name.

    Privacy
    -------
    A function of public facts: the loss and the mechanism.

    See Also
    --------
    dplr.privacy.PrivacyStatement : Has that of `coef_`.
    dplr.results.Summary : Has that of its lines.

    Examples
    --------
    >>> from dplr.privacy import Estimand
    >>> print(Estimand("log-odds").words)
    change of the log odds per unit
    """

    MEAN = "mean"
    PROBABILITY = "probability"
    LOG_ODDS = "log-odds"
    LOG_RATE = "log-rate"
    LOCATION = "location"
    MARGIN = "margin"

    @property
    def words(self) -> str:
        """The change per unit of a column, as a str for a table."""
        return _WORDS[self]

    @property
    def clipped(self) -> Estimand:
        """The `Estimand` of clipped gradients, which vanish elsewhere than whole ones."""
        return Estimand.LOCATION if self in (Estimand.MEAN, Estimand.LOCATION) else Estimand.MARGIN


_WORDS = {
    Estimand.MEAN: "change of the mean per unit",
    Estimand.PROBABILITY: "change of the probability per unit (not log odds)",
    Estimand.LOG_ODDS: "change of the log odds per unit",
    Estimand.LOG_RATE: "change of the logarithm of the mean per unit",
    Estimand.LOCATION: "change of a robust location per unit (large residuals count less)",
    Estimand.MARGIN: "change of the linear predictor per unit (read signs and order, not sizes)",
}
