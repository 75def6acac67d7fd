"""The descent itself: sum, add noise, step. It sees sums and plans, and draws every number of noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.clipped_queries import ClippedGradient, on_coef_grid
from dplr.noise import Source
from dplr.problem import Descent, Plan
from dplr.progress import Track
from dplr.queries import Total
from dplr.result import Fit
from dplr.rows import Rows, chosen

Vector = NDArray[np.float64]
BLOCK = "gradients"


def descend(rows: Rows, plans: Sequence[Plan], source: Source, track: Track) -> list[Fit]:
    """One fit for each plan; sums over all rows are made for all models in one pass."""
    walks = [_Walk(plan) for plan in plans]
    for step in track(range(max(walk.descent.steps for walk in walks)), "noisy gradient descent"):
        active = [walk for walk in walks if step < walk.descent.steps]
        for walk, total in zip(active, _totals(rows, active, source), strict=True):
            walk.step(step, total, source)
    return [walk.fit() for walk in walks]


def _totals(rows: Rows, walks: Sequence[_Walk], source: Source) -> Iterable[Total]:
    if len(walks) > 1 and all(walk.descent.rate_units == 2**32 for walk in walks):
        return rows.totals([walk.query for walk in walks], np.array([walk.coef for walk in walks]))
    return (walk.total(rows, source) for walk in walks)


class _Walk:
    """One model on its way."""

    def __init__(self, plan: Plan) -> None:
        assert plan.descent is not None
        geometry, self.plan, self.descent = plan.problem.geometry, plan, plan.descent
        self.query = ClippedGradient(plan.problem.loss, geometry.d, geometry.intercept > 0, self.descent.clip)
        self.center = np.array(plan.problem.w0 or np.zeros(self.query.shape))
        self.coef = on_coef_grid(np.array(self.descent.start))
        self.velocity = np.zeros(self.query.shape)
        self.iterates = np.empty((self.descent.steps + 1, *self.query.shape))
        self.iterates[0] = self.coef
        self.gradients = np.empty((self.descent.steps, *self.query.shape))

    def total(self, rows: Rows, source: Source) -> Total:
        """The exact sum at the current point, over all rows or a fresh Poisson batch."""
        if self.descent.rate_units == 2**32:
            return rows.total(self.query, self.coef)
        return rows.total(self.query, self.coef, chosen(source.bernoulli_indices(len(rows), self.descent.rate_units)))

    def step(self, number: int, total: Total, source: Source) -> None:
        """Release the sum with noise, and go down it."""
        walk, block = self.descent, self.plan.statement.released[BLOCK]
        exponent = math.frexp(block.grid)[1] - 1
        value = total.integers(exponent) if math.isinf(walk.radius) else _clipped_sum(total, walk, block.grid)
        if block.units:
            value = value + source.gaussian(block.units, len(value))
        gradient = np.ldexp(value.astype(np.float64), exponent)
        slope = gradient / walk.rows + walk.l2 * (self.coef - self.center)
        self.velocity = walk.momentum * self.velocity + (1 - walk.momentum) * slope
        self.coef = on_coef_grid(self.coef - walk.learning_rate * self.velocity)
        self.gradients[number], self.iterates[number + 1] = gradient, self.coef

    def fit(self) -> Fit:
        """The average of the last iterates: post-processing of what was released."""
        coef = self.iterates[-self.descent.tail :].mean(axis=0)
        return Fit(coef, self.plan.statement, {BLOCK: self.gradients}, self.iterates)


def _clipped_sum(total: Total, walk: Descent, grid: float) -> NDArray[np.int64]:
    """The sum itself clipped to the radius, as the paper has it, in whole grid units."""
    vector = np.ldexp(total.integers(total.exponent).astype(np.float64), total.exponent)
    norm = float(np.linalg.norm(vector))
    return np.floor(vector * (min(1.0, walk.radius / norm) if norm else 1.0) / grid).astype(np.int64)
