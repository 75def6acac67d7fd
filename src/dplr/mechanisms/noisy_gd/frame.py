"""Centred and rescaled rows, from released sums of the columns: post-processing. See noisy_gd.md, section 7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.mechanisms.noisy_gd.columns import MEANS, RECORDS, SQUARES, numeric_columns
from dplr.privacy.statement import Release
from dplr.problem.geometry import Geometry
from dplr.problem.intervals import intervals
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows

Vector = NDArray[np.float64]
# A number is divided by its deviation to this power. Deviations count as at least the floor, a share of the half-width,
# and as at least this many deviations of the noise of a mean.
_POWER, _FLOOR, _NOISES = 0.75, 0.1, 2.0
# A column of a block is multiplied by the number of the block's columns to this power: 0, as what is gained where large
# blocks tell much is lost where they tell little.
_BLOCK_POWER = 0.0
# A share of a knot is multiplied by the number of knots to this power: curves are learnt sooner.
_KNOTS_POWER = 0.3
# The best guess of a mean with noise of deviation s: means anywhere in [-c, c] have variance c^2 / 3.
_DOUBT = 3.0
# Mean squares of the norm of centred rows count as at least this, in squared half-widths of all groups together.
_LEAST_SPREAD = 0.02
# Rows are shrunk so far that they stay inside the unit ball when they are rounded to the grid.
_ROOM = 1 + 2.0**-10


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
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
        """The rows in this frame."""
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


def block_weights(geometry: Geometry) -> Vector:
    """(d,) The factors of the columns of blocks: 1 for numbers of their own, and for marks."""
    weights = np.ones(geometry.d)
    for first, size in (*geometry.blocks, *geometry.shared):
        weights[first : first + size] = size**_BLOCK_POWER
    for first, size, knots in geometry.hats:
        weights[first : first + size] = knots**_KNOTS_POWER
    return weights


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
    factors = np.where(numeric, (deviation / c) ** -_POWER, block_weights(geometry))
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
