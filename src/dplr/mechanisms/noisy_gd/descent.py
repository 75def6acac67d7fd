"""The loop of the descent: sum, add noise, step. It reads sums and plans, and draws all noise."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import go_down
from dplr._kit.progress import Track
from dplr.mechanisms.noisy_gd import ABOUT
from dplr.mechanisms.noisy_gd.columns import column_total, noisy, noisy_columns
from dplr.mechanisms.noisy_gd.frame import Frame, frame_of, intervals_of
from dplr.mechanisms.noisy_gd.settings import Descent
from dplr.noise import Ints, Source
from dplr.problem.plan import Plan
from dplr.rows import Rows, chosen
from dplr.rows.exact import ClippedGradient, Total, on_coef_grid, stack

Vector = NDArray[np.float64]
BLOCK = ABOUT.steps_in


def descend(rows: Rows, plan: Plan, source: Source, track: Track) -> dict[str, Vector]:
    """The sums of columns where rows are standardised by them, the sums of all steps, and where these led."""
    columns: dict[str, Vector] = {}
    frame: Frame | None = None
    if plan.settings.standardised:
        total = functools.cache(lambda: column_total(rows, plan.problem))
        columns = noisy_columns(total, plan, source)
        frame = frame_of(columns, plan)
        ends = intervals_of(columns, plan)
        rows = frame.of(rows if ends is None else rows.clipped(*ends))
    walk = _State(plan, frame)
    for step in track(range(walk.descent.steps), "noisy gradient descent"):
        walk.step(step, walk.total(rows, source), source)
    return columns | walk.released()


class _State:
    """The state of a descent. With a frame, points are coefficients of rows in the frame.

    Rows in a frame, and so their gradients, are `shrink` times the standardised rows that plan and release are about.
    """

    def __init__(self, plan: Plan, frame: Frame | None) -> None:
        geometry = plan.problem.geometry
        self.descent: Descent = plan.settings
        self.frame = frame
        self.shrink = 1.0 if frame is None else frame.shrink
        clip = self.descent.clip * self.shrink
        self.query = ClippedGradient(plan.problem.loss, geometry.d, geometry.intercept > 0, clip)
        (size,) = self.query.shape
        self.center = np.zeros(size) if plan.problem.w0 is None else np.array(plan.problem.w0)
        start = np.array([self.descent.start])
        self.coefs = on_coef_grid(start if frame is None else frame.points(start))
        self.velocity = np.zeros((1, size))
        self.iterates = np.empty((1, self.descent.steps + 1, size))
        self.iterates[:, 0] = self._scaled()
        self.gradients = np.empty((1, self.descent.steps, size))
        self.block = plan.statement.released[BLOCK]
        self.exponent = math.frexp(self.block.grid * self.shrink)[1] - 1

    def total(self, rows: Rows, source: Source) -> Total:
        """The exact sum at the point, over all rows or over a fresh Poisson batch."""
        if not self.descent.samples_rows:
            return rows.totals([self.query], [self.coefs])[0]
        batch = rows.of_units(source.bernoulli_indices(rows.units, self.descent.rate_units))
        return stack([rows.total(self.query, self.coefs[0], chosen(batch))])

    def step(self, number: int, sums: Total, source: Source) -> None:
        """Release the sums with noise, and move the points along them."""
        walk, block = self.descent, self.block

        def exact() -> Ints:
            return sums.integers(self.exponent) if math.isinf(walk.radius) else _clipped_sums(sums, walk, block.grid)

        value = noisy(block, source, self.coefs.shape, exact)
        gradients = self.gradients[:, number]
        gradients[...] = value * block.grid  # exact up to 2^53 units; beyond, noisy numbers are rounded
        coefs = self.coefs  # becomes the next point, before it is rounded to the grid
        slopes, rate = gradients * self.shrink, walk.learning_rate / self.shrink**2
        go_down(slopes, walk.rows, walk.l2, self.center, walk.momentum, rate, self.velocity, coefs)
        self.coefs = on_coef_grid(coefs)
        self.iterates[:, number + 1] = self._scaled()

    def _scaled(self) -> Vector:
        """The points in the scaled problem."""
        return self.coefs if self.frame is None else self.frame.coefs(self.coefs)

    def released(self) -> dict[str, Vector]:
        """The sums of all steps; the average of the last iterates, and all of them, are made of these alone."""
        (iterates,), (gradients,) = self.iterates, self.gradients
        return {BLOCK: gradients, "coef": iterates[-self.descent.tail :].mean(axis=0), "iterates": iterates}


def _clipped_sums(total: Total, walk: Descent, grid: float) -> NDArray[Any]:
    """The sums themselves clipped to the radius, as the paper has it, in whole grid units: as `Total.integers`."""
    vectors = np.ldexp(total.integers(total.exponent).astype(np.float64), total.exponent)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    factors = np.minimum(1.0, np.divide(walk.radius, norms, out=np.ones_like(norms), where=norms > 0))
    units = np.floor(vectors * factors / grid)
    if np.abs(units).max(initial=0) < 2.0**62:
        return np.asarray(units, dtype=np.int64)
    return np.array([[int(unit) for unit in row] for row in units], dtype=object)  # without noise the grid is fine
