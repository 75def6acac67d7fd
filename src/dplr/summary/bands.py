"""Confidence bands of the mean at rows, and prediction intervals of new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.extras import pandas
from dplr._kit.validation import sentence
from dplr.inference.determination import Squares, residual_deviation
from dplr.inference.intervals import ends_alone
from dplr.privacy.estimand import Estimand
from dplr.summary.columns import INTERCEPT
from dplr.summary.subject import Equation, Subject

Matrix = NDArray[np.float64]
MEAN, ROW = "mean", "row"
_ALIKE = (
    "The residuals are taken to be normal, with the same variance in all rows. Where rows scatter differently, these "
    "intervals are too short for some rows and too long for others."
)


@dataclass(frozen=True, eq=False, slots=True)
class PredictionIntervals:
    """Intervals of predictions, one for each row.

    Attributes
    ----------
    estimate : ndarray of shape (n_rows,)
        The mean, or the probability, of a row: without ridge, so not what `predict` says; nan where the released
        numbers cannot say.
    low, high : ndarray of shape (n_rows,)
        Ends of the interval; infinite, or 0 and 1, where the released numbers cannot say.
    kind : {"mean", "row"}
        Whether the interval is about the mean of all such rows, or about one new row.
    level : float
        Of each interval.
    about : str
        The target and the label whose probability it is, such as "y = yes"; empty for numbers.
    note : str
        What intervals of new rows assume; empty for those of means. A data frame has it in ``attrs["note"]``.

    Privacy
    -------
    As private as the rows; of the model it uses released numbers alone.

    See Also
    --------
    dplr.LinearRegression.predict_interval : Makes one.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> bands = dplr.results.PredictionIntervals(np.array([1.0]), np.array([0.5]), np.array([1.5]), "mean", 0.95)
    >>> list(bands.to_frame())
    ['estimate', 'low', 'high']
    """

    estimate: Matrix
    low: Matrix
    high: Matrix
    kind: str
    level: float
    about: str = ""
    note: str = ""

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per prediction.

        Returns
        -------
        pandas.DataFrame
            With the columns `estimate`, `low` and `high`.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        As private as the rows.
        """
        frame = pandas().DataFrame({"estimate": self.estimate, "low": self.low, "high": self.high})
        if self.note:
            frame.attrs["note"] = self.note
        return frame


def bands(
    subject: Subject,
    names: tuple[str, ...],
    rows: Matrix,
    kind: str,
    level: float,
    target: tuple[float, float] | None,
    effect_bound: float | None,
) -> list[PredictionIntervals]:
    """The intervals of each model of a table at rows (n, columns) of these names; finite ends lie within `target`."""
    places = [names.index(name) for name in subject.names if name != INTERCEPT]
    constant = [np.ones((len(rows), 1))] if INTERCEPT in subject.names else []
    weights = np.hstack([rows[:, places], *constant])
    return [_bands(subject, equation, weights, kind, level, target, effect_bound) for equation in subject.equations]


def _bands(
    subject: Subject,
    equation: Equation,
    weights: Matrix,
    kind: str,
    level: float,
    target: tuple[float, float] | None,
    effect_bound: float | None,
) -> PredictionIntervals:
    contrasts, added = weights @ equation.contrasts, weights @ equation.added
    estimate, low, high = added.copy(), added.copy(), added.copy()
    some = np.any(contrasts, axis=1)  # a row of zeros without a constant: its mean is 0
    if some.any():
        ends = ends_alone(equation.reading, contrasts[some], level, False, equation.bounds(effect_bound))
        for numbers, part in ((estimate, ends.estimate), (low, ends.low), (high, ends.high)):
            numbers[some] += part
    estimand = equation.reading.estimand
    if kind == ROW:
        spread = _deviation(subject, equation, level) * -float(special.ndtri((1 - level) / 2))
        low, high = estimate - np.hypot(estimate - low, spread), estimate + np.hypot(high - estimate, spread)
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    if estimand is Estimand.LOG_ODDS:
        estimate, low, high = special.expit(estimate), special.expit(low), special.expit(high)
    elif estimand is Estimand.PROBABILITY:
        estimate, low, high = (np.clip(part, 0.0, 1.0) for part in (estimate, low, high))
    elif target is not None:
        if estimand is Estimand.LOG_RATE:
            estimate, low, high = np.exp(estimate), np.exp(low), np.exp(high)
        estimate = np.clip(estimate, *target)
        low, high = (np.where(np.isfinite(end), np.clip(end, *target), end) for end in (low, high))
    about = equation.label or subject.facts["target"] if estimand is Estimand.LOG_ODDS else ""
    return PredictionIntervals(estimate, low, high, kind, level, about, _ALIKE if kind == ROW else "")


def _deviation(subject: Subject, equation: Equation, level: float) -> float:
    """Residual deviation in the user's units; nan where the released numbers cannot say."""
    reading = equation.reading
    if reading.estimand is not Estimand.MEAN or reading.square is None or math.isnan(subject.unit):
        remedy = 'Take kind="mean".'
        raise ValueError(
            sentence("kind", "must be 'mean' except for linear models of rows that count whole", ROW, remedy)
        )
    deviation, _, _ = residual_deviation(Squares.of(reading, INTERCEPT in subject.names), level)
    return subject.unit * deviation
