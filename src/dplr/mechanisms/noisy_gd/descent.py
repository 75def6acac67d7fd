"""The descent: sums of columns that centre and rescale rows; then sum, add noise, step. Proof: noisy_gd.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._core import go_down
from dplr._kit.progress import Track
from dplr.mechanisms.drawing import noisy_blocks
from dplr.mechanisms.noisy_gd.noise import BLOCK, MEANS, RECORDS, SQUARES, Descent, column_part
from dplr.noise import Source
from dplr.privacy.statement import Release
from dplr.problem.geometry import Geometry
from dplr.problem.intervals import intervals
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows, chosen
from dplr.rows.exact import ClippedGradient, ColumnMoments, Total, on_coef_grid

Vector = NDArray[np.float64]
# A number is divided by its deviation to this power. Deviations count as at least the floor, a share of the half-width,
# and as at least this many deviations of the noise of a mean.
_POWER, _FLOOR, _NOISES = 0.75, 0.1, 2.0
# A share of a knot is multiplied by the number of knots to this power: curves are learnt sooner. Levels of a block are
# not multiplied: what is gained where large blocks tell much is lost where they tell little.
_KNOTS_POWER = 0.3
# The best guess of a mean with noise of deviation s: means anywhere in [-c, c] have variance c^2 / 3.
_DOUBT = 3.0
# Mean squares of the norm of centred rows count as at least this, in squared half-widths of all groups together.
_LEAST_SPREAD = 0.02
# Rows are shrunk so far that they stay inside the unit ball when they are rounded to the grid.
_ROOM = 1 + 2.0**-10


def descend(rows: Rows, plan: Plan, source: Source, track: Track) -> dict[str, Vector]:
    """The sums of columns where rows are standardised by them, the sums of all steps, and where these led.

    In a frame points are coefficients of its rows. These, and so their gradients, are `shrink` times the standardised
    rows that plan and release are about.
    """
    geometry, walk, start = plan.problem.geometry, plan.settings, np.array([plan.settings.start])
    columns, frame, shrink = {}, None, 1.0
    if walk.standardised:
        columns = noisy_columns(rows, plan, source)
        frame = frame_of(columns, plan)
        ends = intervals_of(columns, plan)
        rows, shrink = frame.of(rows if ends is None else rows.clipped(*ends)), frame.shrink
    query = ClippedGradient(plan.problem.loss, geometry.d, geometry.intercept > 0, walk.clip * shrink)
    (size,) = query.shape
    center = np.zeros(size) if plan.problem.w0 is None else np.array(plan.problem.w0)
    power, rate = math.frexp(shrink)[1] - 1, walk.learning_rate / shrink**2
    point = on_coef_grid(start if frame is None else frame.points(start))  # (1, q), as `go_down` takes it
    velocity, path, gradients = np.zeros((1, size)), np.empty((walk.steps + 1, size)), np.empty((walk.steps, size))
    path[0] = point if frame is None else frame.coefs(point)
    for step in track(range(walk.steps), "noisy gradient descent"):
        total = _total(rows, query, point, walk, source)
        gradients[step] = noisy_blocks({BLOCK: (total, ..., power)}, plan, source)[BLOCK]
        slopes = gradients[step, np.newaxis] * shrink
        go_down(slopes, walk.rows, walk.l2, center, walk.momentum, rate, velocity, point)
        point = on_coef_grid(point)
        path[step + 1] = point if frame is None else frame.coefs(point)
    return {**columns, BLOCK: gradients, "coef": path[-walk.tail :].mean(axis=0), "iterates": path}


def _total(rows: Rows, query: ClippedGradient, point: Vector, walk: Descent, source: Source) -> Any:
    """The exact sum of clipped gradients over all rows, or over a fresh Poisson batch."""
    if walk.samples_rows:
        batch = rows.of_units(source.bernoulli_indices(rows.units, walk.rate_units))
        return rows.total(query, point[0], chosen(batch))
    total = rows.total(query, point[0])
    return total if math.isinf(walk.radius) else InTheBall(total, walk.radius)


class InTheBall(NamedTuple):
    """An exact sum that is itself clipped to a radius, as HHA23 has it."""

    total: Total
    radius: float

    def integers(self, exponent: int, cells: Any = ...) -> NDArray[Any]:
        """As `Total.integers`."""
        vector = np.ldexp(self.total.integers(self.total.exponent).astype(np.float64), self.total.exponent)
        norm = np.linalg.norm(vector, axis=-1, keepdims=True)
        factor = np.minimum(1.0, np.divide(self.radius, norm, out=np.ones_like(norm), where=norm > 0))
        units = np.floor(vector * factor / math.ldexp(1.0, exponent))[cells]
        if np.abs(units).max(initial=0) < 2.0**62:
            return np.asarray(units, dtype=np.int64)
        return np.array([int(unit) for unit in units], dtype=object)  # without noise the grid is fine


def numeric_columns(geometry: Geometry) -> NDArray[np.bool_]:
    """Which columns are numbers: outside every one-hot block and every block of shares, and no marks, (d,)."""
    numeric = np.zeros(geometry.d, dtype=bool)
    numeric[list(geometry.numbers)] = True
    return numeric


def noisy_columns(rows: Rows, plan: Plan, source: Source) -> dict[str, Vector]:
    """The sums of the columns, of squared numbers and of records, on their grids with noise."""
    d, problem = plan.problem.geometry.d, plan.problem
    total = rows.total(ColumnMoments(d, problem.counts_units))
    numbers = d + np.flatnonzero(numeric_columns(problem.geometry))
    cells = {MEANS: np.arange(d), SQUARES: numbers, RECORDS: np.array([2 * d])}
    return noisy_blocks({name: (total, cells[name], 0) for name, *_ in column_part(problem).blocks}, plan, source)


class Frame(NamedTuple):
    """Rows as factors * (x - center), with a constant of iota * shrink.

    Attributes
    ----------
    center, factors : (d,)
    shrink : a power of two, which the factors hold too: rows lie in the unit ball, and times 1 / shrink they are the
        standardised rows, whose mean square norm is about 1.
    iota : the intercept's constant.
    """

    center: Vector
    factors: Vector
    shrink: float
    iota: float

    def of(self, rows: Rows) -> Rows:
        return rows.standardised(self.center, self.factors, self.iota * self.shrink)

    def coefs(self, points: Vector) -> Vector:
        """Coefficients (..., q) of the scaled problem, from those of rows in this frame."""
        coefs = np.empty_like(points)
        coefs[..., :-1] = points[..., :-1] * self.factors
        coefs[..., -1] = points[..., -1] * self.shrink - coefs[..., :-1] @ self.center / self.iota
        return coefs

    def points(self, coefs: Vector) -> Vector:
        """Coefficients (..., q) of rows in this frame, from those of the scaled problem."""
        points = np.empty_like(coefs)
        points[..., :-1] = coefs[..., :-1] / self.factors
        points[..., -1] = (coefs[..., -1] + coefs[..., :-1] @ self.center / self.iota) / self.shrink
        return points


def frame_of(released: Mapping[str, Vector], plan: Plan) -> Frame:
    """The frame made of the released sums of columns and of squared numbers."""
    geometry, n = plan.problem.geometry, _records(released, plan.problem)
    assert geometry.half_width is not None
    c, numeric = geometry.half_width, numeric_columns(geometry)
    noise = plan.statement.released[MEANS].scale / n
    center = np.clip(released[MEANS] / n, np.where(numeric, -c, 0.0), c)
    center[numeric] /= 1 + _DOUBT * (noise / c) ** 2
    variance = center * (c - center)  # of a cell that is 0 or c
    if SQUARES in released:
        variance[numeric] = np.maximum(released[SQUARES] / n - center[numeric] ** 2, 0.0)
    deviation = np.maximum(np.clip(np.sqrt(variance), _FLOOR * c, c), _NOISES * noise)
    factors = np.where(numeric, (deviation / c) ** -_POWER, 1.0)
    for first, size, knots in geometry.hats:
        factors[first : first + size] = knots**_KNOTS_POWER
    factors /= math.sqrt(max(float(factors**2 @ variance), _LEAST_SPREAD))
    shrink = math.ldexp(1.0, -max(0, math.ceil(math.log2(_largest_norm(geometry, center, factors) * _ROOM))))
    return Frame(center, factors * shrink, shrink, geometry.intercept)


def clips(problem: Problem, released: Mapping[str, Release]) -> bool:
    """Whether numbers are clipped to ranges made of these blocks: they are where sums and squares have noise."""
    return bool(problem.clippable) and SQUARES in released and released[SQUARES].scale > 0


def intervals_of(released: Mapping[str, Vector], plan: Plan) -> tuple[Vector, Vector] | None:
    """Middle and half-width of the range to which each number is clipped; None where none is."""
    blocks, columns = plan.statement.released, list(plan.problem.clippable)
    if not clips(plan.problem, blocks):
        return None
    squares = np.zeros(plan.problem.geometry.d)
    squares[numeric_columns(plan.problem.geometry)] = released[SQUARES]
    noise, n = blocks[SQUARES].deviation, _records(released, plan.problem)
    return intervals(released[MEANS][columns], squares[columns], noise, n, plan.problem, columns)


def _records(released: Mapping[str, Vector], problem: Problem) -> float:
    """The number of records that means are over: the public one, or where it is private the released one."""
    if RECORDS in released:
        return max(float(released[RECORDS][0]), 1.0)
    assert problem.n_rows is not None
    return float(problem.n_rows)


def _largest_norm(geometry: Geometry, center: Vector, factors: Vector) -> float:
    """Largest norm of factors * (x - center) over all rows x of the geometry."""
    assert geometry.half_width is not None
    c, firsts = geometry.half_width, [first for first in geometry.firsts if first < geometry.d]
    zero = (factors * center) ** 2  # of an entry that is 0, and of one that is as far from the center as can be
    far = (factors * np.where(numeric_columns(geometry), c + np.abs(center), c - center)) ** 2
    longer = np.maximum(np.maximum.reduceat(far - zero, firsts), 0.0)  # convex: at most one of a group is not 0
    return math.sqrt(float(zero.sum() + longer.sum()))
