"""The expected effect of noise on a fit: an estimate, calibrated by bench/studies/drowned.py.

By public facts alone, and for the sum of fitted counts by released coefficients too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem

DROWNED = 2.0  # from here on fits to the project's tables were mostly worse than none
USEFUL = 0.5  # up to here most fits of the study kept at least half of what a model gains
_LARGEST_EPS = 10.0  # beyond it a larger eps is not a remedy
# Mean square of a number that is scaled to its bounds, in squared half-widths: real numbers seldom fill their bounds.
_SPREAD = 0.1
# What columns usually explain: standard deviation of the margin, times the curvature of the loss for a slope of 1.
_LABELS, _NUMBERS = 0.2, 0.12
# A guess of the mean Hessian along a weak direction, over the square of half a column's range. Numbers have no weights.
CURVED, _CURVED_NUMBERS = 0.005, 0.035
# Residuals of numbers scaled to [-1, 1]: a slope that is cut below it bends fewer rows.
_RESIDUAL = 0.4
# The largest factor by which a pull that is taken back may change a rate, and its inverse.
MOST_MOVED = 2.0


class GradientNoise(NamedTuple):
    """The noise of a plan, as noise in the gradient of the sum objective.

    Attributes
    ----------
    deviation : standard deviation of one number; root mean square where they differ.
    slope : where slopes of rows are cut or clipped, in units of the margin; inf for nowhere.
    ridge : of the sum objective, where the noise is added to the coefficients behind it; 0 where it comes before.
    """

    deviation: float
    slope: float = math.inf
    ridge: float = 0.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """The effect of noise on the predictions of a fit, expected from public facts alone.

    Attributes
    ----------
    ratio : float
        Expected standard deviation of the noise in a prediction, in units of what columns usually explain.
    eps : float
        The eps of the plan.
    n_rows : int
        The number of units, or a declared reference.
    many : str
        What units are called.
    classification : bool
        Whether labels are predicted.

    Privacy
    -------
    A function of public facts: it may be published.
    """

    ratio: float
    eps: float
    n_rows: int
    many: str
    classification: bool

    @property
    def drowned(self) -> bool:
        """Whether the model will probably predict worse than none."""
        return self.ratio > DROWNED

    @property
    def least_eps(self) -> float:
        """About the eps below which noise drowns a fit to that many units; it may be beyond any use."""
        return self.eps * self.ratio / DROWNED

    @property
    def useful_eps(self) -> float:
        """About the eps from which on most models are useful; it may be beyond any use."""
        return self.eps * self.ratio / USEFUL

    @property
    def useful_rows(self) -> float:
        """About how many units a useful model takes at this eps."""
        return self.n_rows * self.ratio / USEFUL

    @property
    def least(self) -> str:
        """A sentence with the eps below which noise drowns such a fit, and with what a useful model takes."""
        if self.least_eps <= _LARGEST_EPS:
            limit = f"Noise drowns a fit with all defaults (delta = 0) below an eps of about {_figure(self.least_eps)}"
        else:
            limit = f"Noise drowns a fit with all defaults at any eps up to {_LARGEST_EPS:g}"
        return f"{limit}; a useful model takes {self._remedy}."

    @property
    def _remedy(self) -> str:
        rows = f"about {_figure(self.useful_rows)} {self.many} at eps = {self.eps:g}"
        return f"an eps of about {_figure(self.useful_eps)}, or {rows}" if self.useful_eps <= _LARGEST_EPS else rows

    def __str__(self) -> str:
        size = f"about {_figure(self.ratio)} times what columns usually explain"
        if not self.drowned:
            return f"Noise in a prediction is expected to be {size}."
        guess = "always giving the most frequent label" if self.classification else "always giving the mean"
        return (
            f"Noise drowns this fit: in a prediction it is expected to be {size}, so the model will probably be no "
            f"better than {guess}. A useful model takes {self._remedy}; fewer columns take less."
        )


def table_noise(problem: Problem, cell: float, quantile: float) -> float:
    """The square of the noise on a weak direction of a table's matrix, over its square: from 1 on it has no interval.

    `cell` is the deviation of the noise on a cell. The information of a weak direction is a public guess.
    """
    geometry, total = problem.geometry, problem.reference_total
    half = geometry.half_width or geometry.radius / math.sqrt(geometry.d)
    information = (CURVED if problem.loss.classification else _CURVED_NUMBERS) * (total or 1.0) * half**2
    return geometry.n_coefs * (quantile * cell / information) ** 2


def outlook_of(problem: Problem, noise: GradientNoise | None, eps: float) -> Outlook | None:
    """The expected effect of noise on a fit; None where public facts do not tell.

    They do not without a number of units, for a public start, from which nobody knows how far good coefficients are,
    and for counts, whose rates have no usual size.

    With mean squares v of the scaled columns and curvature c, the Hessian of n rows is about n c diag(v), and noise of
    deviation s in the gradient becomes s / (n c) sqrt(sum 1 / v) in the margin of a typical row. A ridge shrinks signal
    and noise alike in every direction, and takes off directions that tell little: the fourth root of the number of
    coefficients stands for that. Noise that is added behind the ridge it does not shrink: there the signal alone does.
    """
    total, loss = problem.reference_total, problem.loss
    if noise is None or total is None or problem.n_rows is None or problem.w0 is not None or loss.link == "log":
        return None
    squares = _mean_squares(problem.geometry)
    slope = min(noise.slope, loss.lipschitz)
    bent = slope if loss.classification else min(1.0, slope / _RESIDUAL)  # how much curvature the cut leaves
    signal = bent * (_LABELS if loss.classification else _NUMBERS)
    wide, factor = math.sqrt(sum(1 / square for square in squares)), len(squares) ** -0.25
    if noise.ridge:
        middle = sorted(squares)[len(squares) // 2]
        factor = 1 + total * (_LABELS if loss.classification else 1.0) * middle / noise.ridge
    ratio = noise.deviation / (total * signal) * wide * factor
    return Outlook(ratio, eps, problem.n_rows, problem.unit.many, loss.classification)


def reach(geometry: Geometry, coef: NDArray[np.float64], flags: Sequence[bool]) -> float:
    """The most that columns which are only at their ends, `flags`, move a margin away from the middle of all columns.

    Few rows may have such a flag, or nearly all. Of the levels of a block a row has one. () for no flags.
    """
    ends = np.abs(coef * geometry.sizes) * np.append(flags or np.zeros(geometry.d), np.zeros(len(coef) - geometry.d))
    return float(np.maximum.reduceat(ends, geometry.firsts).sum())


def middle_rate(problem: Problem, coef: NDArray[np.float64], away: float = 0.0) -> float:
    """About the mean of the fitted rates of counts, in half-ranges of the target, from scaled coefficients.

    That of rows in the middle of their columns, or so far away in their log-rate, which vary by a third of the variance
    of columns that fill their range.
    """
    loss, geometry = problem.loss, problem.geometry
    assert loss.knots is not None
    width = np.square(coef[: geometry.d] * geometry.sizes[: geometry.d]).sum() / 3
    log_rate = (coef[-1] * geometry.intercept if geometry.intercept else 0.0) + width / 4 + away
    return float(np.interp(log_rate, loss.knots.places, loss.knots.values) - loss.knots.values[0])


def _mean_squares(geometry: Geometry) -> list[float]:
    """A guess of the mean square of every scaled column, that of the constant last; without bounds rows are long."""
    half = geometry.half_width or geometry.radius / math.sqrt(geometry.d)
    squares = [(1.0 if geometry.half_width is None else _SPREAD) * half**2] * geometry.d
    for first, size, *_ in (*geometry.blocks, *geometry.shared, *geometry.hats):
        squares[first : first + size] = [half**2 / size] * size
    return [*squares, geometry.intercept**2] if geometry.intercept else squares


def _figure(value: float) -> str:
    """Two digits, and no exponent."""
    digits = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    rounded = round(value / digits) * digits
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.2g}"
