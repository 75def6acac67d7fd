"""The settings of noisy gradient descent, fixed by public facts before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dplr.privacy.calibration import RATE_UNITS
from dplr.problem.plan import Settings


@dataclass(frozen=True, slots=True)
class Descent(Settings):
    """The settings of noisy gradient descent.

    Attributes
    ----------
    steps, learning_rate : of the mean objective of the scaled problem.
    momentum : how much of the last step's direction stays; a direction keeps its whole learning rate in the long run.
    clip : largest norm of one row's gradient.
    tail : how many of the last iterates are averaged; 1 for the last one alone.
    l2 : ridge of the mean objective.
    start : (q,) first iterate.
    rows : what a sum is divided by: a public guess of its rows' weights, of a Poisson batch as many as are expected.
    rate_units : a unit, with all of its rows, enters a sum with this probability, in units of 2^-32.
    radius : where the sum itself is clipped, its largest norm; inf for no such clip.
    standardised : whether rows are centred and rescaled first, by sums that are released; rate and clip are then those
        of the standardised problem.
    """

    steps: int
    learning_rate: float
    momentum: float
    clip: float
    tail: int
    l2: float
    start: tuple[float, ...]
    rows: float
    rate_units: int = RATE_UNITS
    radius: float = math.inf
    standardised: bool = False

    @property
    def rate(self) -> float:
        """Probability with which a unit enters a sum."""
        return self.rate_units / RATE_UNITS

    @property
    def samples_rows(self) -> bool:
        """Whether a step reads a Poisson batch."""
        return self.rate_units != RATE_UNITS

    @property
    def line(self) -> tuple[str, str]:
        """Steps, rows and clip."""
        rows = f"Poisson batches of {self.rows:.6g} rows expected" if self.samples_rows else "all rows"
        rows += ", standardised" if self.standardised else ""
        return "descent", (
            f"{self.steps} steps of rate {self.learning_rate:.6g} over {rows}, "
            f"momentum {self.momentum:.6g}, clip {self.clip:.6g}, the last {self.tail} averaged"
        )

    @property
    def calibration(self) -> str:
        """The steps, batches and clipping of a statement, in words."""
        batch = f"Poisson batches of rate {self.rate:.6g}" if self.samples_rows else "all rows"
        clipped = f"the sum clipped to {self.radius:.6g}"
        if math.isinf(self.radius):
            clipped = f"each row's gradient clipped to {self.clip:.6g}"
        return f"{self.steps} sums over {batch}, {clipped}"
