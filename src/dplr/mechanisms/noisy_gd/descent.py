"""The loop of the descent: sum, add noise, step. It reads sums and plans, and draws all noise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
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
from dplr.problem.fit import Fit
from dplr.problem.plan import Plan
from dplr.rows import Rows, chosen
from dplr.rows.queries.clipped import ClippedGradient, on_coef_grid
from dplr.rows.queries.totals import Total, stack

Vector = NDArray[np.float64]
BLOCK = ABOUT.steps_in


def descend(rows: Rows, plans: Sequence[Plan], source: Source, track: Track) -> list[Fit]:
    """One fit for each plan, with noise of its own."""
    together = iter(_together(rows, [plan for plan in plans if not plan.settings.standardised], source, track))
    alone = iter(_alone(rows, [plan for plan in plans if plan.settings.standardised], source, track))
    return [next(alone if plan.settings.standardised else together) for plan in plans]


def _together(rows: Rows, plans: Sequence[Plan], source: Source, track: Track) -> list[Fit]:
    """Fits without standardisation, whose sums over all rows are made in one pass for all models."""
    if not plans:
        return []
    walks = [_State(plan, sum(twin is plan for twin in plans)) for plan in {id(plan): plan for plan in plans}.values()]
    _go(rows, walks, source, track)
    fits = {id(walk.plan): walk.fits() for walk in walks}
    return [next(fits[id(plan)]) for plan in plans]


def _alone(rows: Rows, plans: Sequence[Plan], source: Source, track: Track) -> list[Fit]:
    """Fits with standardisation, one by one: each has rows clipped, centred and rescaled by its own release."""
    fits: list[Fit] = []
    if not plans:
        return fits
    total = functools.cache(lambda: column_total(rows, plans[0].problem))
    for plan in plans:
        columns = noisy_columns(total, plan, source)
        frame = frame_of(columns, plan)
        ends = intervals_of(columns, plan)
        walk = _State(plan, 1, frame, columns)
        _go(frame.of(rows if ends is None else rows.clipped(*ends)), [walk], source, track)
        fits += walk.fits()
    return fits


def _go(rows: Rows, walks: Sequence[_State], source: Source, track: Track) -> None:
    for step in track(range(max(walk.descent.steps for walk in walks)), "noisy gradient descent"):
        active = [walk for walk in walks if step < walk.descent.steps]
        for walk, total in zip(active, _totals(rows, active, source), strict=True):
            walk.step(step, total, source)


def _totals(rows: Rows, walks: Sequence[_State], source: Source) -> list[Callable[[], Total]]:
    """The sums of each walk at its points, made when they are asked for; over all rows for all walks in one pass."""
    if any(walk.descent.samples_rows for walk in walks):
        return [functools.partial(walk.of_batches, rows, source) for walk in walks]
    totals = functools.cache(lambda: rows.totals([walk.query for walk in walks], [walk.coefs for walk in walks]))
    return [functools.partial(lambda place: totals()[place], place) for place in range(len(walks))]


class _State:
    """The state of all models of one plan, a row each. With a frame, points are coefficients of rows in the frame.

    Rows in a frame, and so their gradients, are `shrink` times the standardised rows that plan and release are about.
    """

    def __init__(
        self, plan: Plan, models: int, frame: Frame | None = None, columns: Mapping[str, Vector] = MappingProxyType({})
    ) -> None:
        geometry, self.plan = plan.problem.geometry, plan
        self.descent: Descent = plan.settings
        self.frame, self.columns = frame, columns
        self.shrink = 1.0 if frame is None else frame.shrink
        clip = self.descent.clip * self.shrink
        self.query = ClippedGradient(plan.problem.loss, geometry.d, geometry.intercept > 0, clip)
        (size,) = self.query.shape
        self.center = np.zeros(size) if plan.problem.w0 is None else np.array(plan.problem.w0)
        start = np.tile(self.descent.start, (models, 1))
        self.coefs = on_coef_grid(start if frame is None else frame.points(start))
        self.velocity = np.zeros((models, size))
        self.iterates = np.empty((models, self.descent.steps + 1, size))
        self.iterates[:, 0] = self._scaled()
        self.gradients = np.empty((models, self.descent.steps, size))
        self.block = plan.statement.released[BLOCK]
        self.exponent = math.frexp(self.block.grid * self.shrink)[1] - 1

    def of_batches(self, rows: Rows, source: Source) -> Total:
        """The exact sum of each model at its point, over a fresh Poisson batch of its own."""
        rate = self.descent.rate_units
        batches = (rows.of_units(source.bernoulli_indices(rows.units, rate)) for _ in self.coefs)
        return stack(
            [rows.total(self.query, coef, chosen(rows_of)) for coef, rows_of in zip(self.coefs, batches, strict=True)]
        )

    def step(self, number: int, total: Callable[[], Total], source: Source) -> None:
        """Release the sums with noise, and move the points along them."""
        walk, block = self.descent, self.block

        def exact() -> Ints:
            sums = total()
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

    def fits(self) -> Iterator[Fit]:
        """The average of the last iterates of each model: post-processing of what was released."""
        coefs = self.iterates[:, -self.descent.tail :].mean(axis=1)
        for coef, gradients, iterates in zip(coefs, self.gradients, self.iterates, strict=True):
            yield Fit(coef, self.plan.statement, {**self.columns, BLOCK: gradients}, iterates)


def _clipped_sums(total: Total, walk: Descent, grid: float) -> NDArray[Any]:
    """The sums themselves clipped to the radius, as the paper has it, in whole grid units: as `Total.integers`."""
    vectors = np.ldexp(total.integers(total.exponent).astype(np.float64), total.exponent)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    factors = np.minimum(1.0, np.divide(walk.radius, norms, out=np.ones_like(norms), where=norms > 0))
    units = np.floor(vectors * factors / grid)
    if np.abs(units).max(initial=0) < 2.0**62:
        return np.asarray(units, dtype=np.int64)
    return np.array([[int(unit) for unit in row] for row in units], dtype=object)  # without noise the grid is fine
