"""The score's statistic AR(phi) = r'V^-1 r, r = vector - matrix phi, and where it reaches a threshold.

phi is the distance of the coefficients from the reading's center. Coefficients outside a box of public bounds cost
more, steeply. All points of a batch move at once. See intervals.md, sections 2 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.inference.noise import covariance, fourth, second, turned
from dplr.inference.reading import Reading

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# A step, and what is known of it.
_Moves = TypeVar("_Moves", bound=tuple[Array, ...])

# Points of a batch hold at most this many numbers in one array, which then stays near the processor.
_MOST = 2**18
# Steps that a batch may take to ends; after `_CALM` they are shortened by `_SHORT`, so that no cycle of two goes on.
STEPS, _CALM, _SHORT = 60, 15, 0.6
# Steps to the lowest point, which may lie far away beyond a plain: the statistic falls all the way. They go on along
# one line where the cosine is above the second number; each is at most the third part of the one before it.
_FALLING, _STRAIGHT, _LEFT = 300, 0.9, 0.95
# A step ends the search below this part of the half-width, and below that one in the metric of the curvature.
_ALONG, _ACROSS = 1e-4, 1e-2
_JITTER, _ROUNDING = 1e-13, 1e-9
# Outside its bound b a coefficient adds (`_STEEP` (|theta| - b) / b)^2 to the statistic; none passes `_FARTHEST` b.
_STEEP, _FARTHEST = 20.0, 2.0
# After so many steps a search is given up that does not come to a lower point with so many times what a step gains.
_PATIENT, _HOPE = 8, 20.0
# Sides of the box that a step is tried with; halvings of a step that leads to more than `_HIGH` times the quantile^2.
_SIDES, _HALVED, _HIGH = 6, 5, 6.0


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """The statistic, with what lies outside the box, locally: value, half the negative gradient, curvature.

    `turn` is V^-1 D (..., q, q), D = matrix + turned noise; `weights` is V^-1 r.
    """

    value: Array
    slope: Array
    curvature: Array
    turn: Array
    weights: Array

    def at(self, places: NDArray[np.intp]) -> Model:
        """The model at some of its points (m, q)."""
        return Model(
            self.value[places], self.slope[places], self.curvature[places], self.turn[places], self.weights[places]
        )

    def within(self, theta: Array, box: Array, sides: Array) -> Model:
        """The model with the cost of coefficients beyond their bounds: on sides (..., q), -1 or 1, and 0 for none."""
        steep = np.where(sides != 0, (_STEEP / box) ** 2, 0.0)
        beyond, curvature = theta - sides * box, self.curvature.copy()
        np.einsum("...ii->...i", curvature)[...] += steep
        cost = np.sum(steep * beyond**2, axis=-1)
        return replace(self, value=self.value + cost, slope=self.slope - steep * beyond, curvature=curvature)


def sides_of(theta: Array, box: Array) -> Array:
    """-1 or 1 where a coefficient is beyond that end of its box, and 0 within."""
    return np.asarray(np.sign(theta) * (np.abs(theta) > box))


@np.errstate(over="ignore", invalid="ignore")
def statistic(reading: Reading, phi: Array, box: Array) -> Model:
    """The model of the statistic at points (m, q), with bounds `box` (q,); nan where numbers are too large for it."""
    theta = reading.center + phi
    return Local.of(reading, phi).model.within(theta, box, sides_of(theta, box))


class Local(NamedTuple):
    """What the statistic is made of at points: value r'z, r, z = V^-1 r, D and V, which `Model` has the names of."""

    value: Array
    score: Array
    weights: Array
    derivative: Array
    covariance: Array

    @classmethod
    def of(cls, reading: Reading, phi: Array) -> Local:
        """At points (..., q)."""
        v = covariance(reading.cells, reading.tied, phi)
        v += reading.vector_noise + reading.sampling
        r = reading.vector - phi @ reading.matrix
        z = _solve(v, r[..., None])[..., 0]
        d = turned(reading.cells, reading.tied, z, phi)
        d += reading.matrix
        return cls(np.sum(r * z, axis=-1), r, z, d, v)

    def at(self, places: NDArray[np.intp]) -> Local:
        """At some of the points."""
        return self if len(places) == len(self.value) else Local(*(part[places] for part in self))

    @property
    def model(self) -> Model:
        """The model without a box."""
        d = self.derivative
        turn = _solve(self.covariance, d)
        curvature = d @ turn
        curvature = (curvature + np.swapaxes(curvature, -1, -2)) / 2
        return Model(self.value, _times(d, self.weights), curvature, turn, self.weights)


def weights_of(reading: Reading, phi: Array) -> Array:
    """V^-1 r at points (m, q)."""
    size = max(1, _MOST // phi.shape[1] ** 2)
    parts = [Local.of(reading, phi[first : first + size]).weights for first in range(0, len(phi), size)]
    return np.concatenate(parts) if parts else np.zeros_like(phi)


def outside(reading: Reading, phi: Array, box: Array) -> Flags:
    """Which coefficients (..., q) are outside their bounds."""
    return np.asarray(np.abs(reading.center + phi) > box)


def quantile(z: float | Array, kurtosis: Array) -> Array:
    """Two-sided quantile at the normal one `z` of a sum of Laplace noise: Cornish-Fisher, at most Laplace's own."""
    z = np.asarray(z, np.float64)
    raised = z + np.maximum(0.0, z**3 - 3 * z) / 24 * kurtosis
    laplace = -(math.log(2) + special.log_ndtr(-z)) / math.sqrt(2)
    return np.asarray(np.minimum(raised, np.maximum(z, laplace)))


def normal(value: Array, kurtosis: Array) -> Array:
    """The normal quantile that `quantile` takes to a value, where the kurtosis is positive: its inverse."""
    part = np.maximum(kurtosis, _ROUNDING) / 24
    p = (1 - 3 * part) / part
    cubic = 2 * np.sqrt(p / 3) * np.sinh(np.arcsinh(1.5 * value / part / p * np.sqrt(3 / p)) / 3)
    laplace = -special.ndtri(np.exp(-math.sqrt(2) * value - math.log(2)))
    return np.asarray(np.maximum(np.where(value > math.sqrt(3), cubic, value), np.minimum(value, laplace)))


def kurtosis(reading: Reading, x: Array, phi: Array) -> Array:
    """Excess kurtosis of x'(vector - matrix phi); 0 for Gaussian noise."""
    if not reading.laplace:
        return np.zeros(x.shape[:-1])
    total, _ = variances(reading, x, phi)
    tails = fourth(reading.cells, reading.tied, reading.vector_noise, x, phi)
    return np.asarray(np.divide(tails, total**2, out=np.zeros_like(total), where=total > 0))


def variances(reading: Reading, x: Array, phi: Array) -> tuple[Array, Array]:
    """Variance of x'(vector - matrix phi), and the part of it that is noise."""
    private = second(reading.cells, reading.tied, x, phi) + np.sum(x @ reading.vector_noise * x, axis=-1)
    return private + np.sum(x @ reading.sampling * x, axis=-1), private


def correlation(reading: Reading, x: Array, phi: Array) -> Array:
    """Correlation, in [0, 1], of x'(vector - matrix phi) and the noise on the matrix in it."""
    total, _ = variances(reading, x, phi)
    part = second(reading.cells, reading.tied, x, phi)
    share = np.divide(part, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(np.sqrt(np.clip(share, 0.0, 1.0)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def lowest(reading: Reading, box: Array, start: Array, fixed: Array | None = None) -> tuple[Array, bool]:
    """The point (q,) nearest `start` with the smallest statistic, and whether it was found.

    With `fixed` (m, q) only directions that leave ``fixed @ phi`` as it is are taken.
    """
    points, success, _ = lowest_of(reading, box, start[None], fixed)
    return points[0], bool(success[0])


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def lowest_of(
    reading: Reading, box: Array, starts: Array, fixed: Array | None = None, owners: NDArray[np.intp] | None = None
) -> tuple[Array, Flags, Array]:
    """The points (k, q) that searches for the smallest statistic from each start (k, q) come to.

    `box` is (q,), or (k, q) of each search; `fixed` (m, q) as in `lowest`, or (k, m, q). Also which searches ended, and
    the statistic where they did. Of searches with the same of the `owners` (k,) only the lowest matters: one that falls
    slowly is given up where another one has ended lower by far.
    """
    k, q = starts.shape
    best, taken = np.full(k, np.inf), np.zeros(k, np.intp)
    boxes, least, values = np.broadcast_to(box, starts.shape), np.full(k, np.inf), np.full(k, np.nan)
    fixed = np.zeros((0, q)) if fixed is None else fixed
    contrasts, count = np.broadcast_to(fixed, (k, *fixed.shape[-2:])), fixed.shape[-2]
    held = _Held.of(contrasts) if count else None

    def step(phi: Array, which: NDArray[np.intp]) -> Step:
        def bent(model: Model, places: NDArray[np.intp]) -> tuple[Array]:
            if held is None:
                return (_solve(model.curvature, model.slope[..., None])[..., 0],)
            return (held.at(which[places]).move(model),)

        def straight(local: Local, places: NDArray[np.intp]) -> tuple[Array, Array]:
            way, gain = local.score, local.value
            if held is not None:
                x, across, length = _along(local, contrasts[which[places], 0])
                missed = np.sum(x * way, axis=-1)
                way, gain = way - (missed / length)[:, None] * across, gain - missed**2 / length
            return _solve(local.derivative, way[..., None])[..., 0], gain

        local, theta = Local.of(reading, phi), reading.center + phi
        if count == q:
            values[which] = local.model.within(theta, boxes[which], sides_of(theta, boxes[which])).value
            return Step(np.zeros(phi.shape), np.ones(len(phi), bool), np.zeros(len(phi)), math.inf)
        (move, gain), value = _moves(
            local,
            theta,
            boxes[which],
            straight if count < 2 else None,
            bent,
            lambda model, move: np.sum(move * model.slope, axis=-1),  # what the local model promises
        )
        values[which] = value
        most = least[which] * (1 + _ROUNDING) + _ROUNDING
        least[which] = np.fmin(least[which], value)
        # Far from the data, where steps are short for long, the p-value has more digits than anybody reads.
        enough = 1e-7 * (1.0 + np.abs(value)) * np.maximum(1.0, value / 100)
        there = gain <= enough
        if owners is None:
            return Step(move, there, value, most)
        mine, taken[which] = owners[which], taken[which] + 1
        np.minimum.at(best, mine[there], value[there])
        return Step(move, there, value, most, (taken[which] > _PATIENT) & (value - _HOPE * gain > best[mine]))

    points, success = _iterate(step, starts.copy(), reading.center, np.full(starts.shape, np.inf), _FALLING, True)
    return points, success, values


@dataclass(frozen=True, eq=False, slots=True)
class _Held:
    """Contrasts that a step leaves as they are: one coefficient of each (k, m) makes up for others: rows (k, m, q)."""

    rows: Array
    pivots: NDArray[np.intp]

    @classmethod
    def of(cls, fixed: Array) -> _Held:
        """These independent contrasts (k, m, q), by elimination."""
        rows, every = fixed.copy(), np.arange(len(fixed))
        pivots = np.zeros(fixed.shape[:2], np.intp)
        for i in range(fixed.shape[1]):
            pivots[:, i] = np.argmax(np.abs(rows[:, i]), axis=1)
            rows[:, i] /= rows[every, i, pivots[:, i], None]
            column = rows[every, :, pivots[:, i]]
            column[:, i] = 0.0
            rows -= column[..., None] * rows[:, i, None, :]
        return cls(rows, pivots)

    def at(self, places: NDArray[np.intp]) -> _Held:
        return _Held(self.rows[places], self.pivots[places])

    def move(self, model: Model) -> Array:
        """The step to the lowest point of a model that leaves the contrasts as they are."""
        rows, pivots, every = self.rows, self.pivots, np.arange(len(self.rows))[:, None]
        across = model.curvature[every, pivots]
        inner = across[every[..., None], np.arange(rows.shape[1])[:, None], pivots[:, None, :]]
        turned_rows = np.swapaxes(rows, -1, -2) @ (across - inner @ rows / 2)
        curvature = model.curvature - turned_rows - np.swapaxes(turned_rows, -1, -2)
        slope = model.slope - _times(np.swapaxes(rows, -1, -2), model.slope[every, pivots])
        curvature[every, pivots], curvature[every, :, pivots], slope[every, pivots] = 0.0, 0.0, 0.0
        curvature[every, pivots, pivots] = np.max(np.einsum("...ii->...i", curvature), axis=-1, keepdims=True)
        move = _solve(curvature, slope[..., None])[..., 0]
        move[every, pivots] -= _times(rows, move)
        return move


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def ends(
    reading: Reading, contrasts: Array, signs: Array, start: Array, box: Array, z: float | Array,
    widening: float = 0.0, steps: int = STEPS, own: Flags | None = None,
) -> tuple[Array, Flags]:  # fmt: skip
    """Points where signs * contrasts'phi is largest on {statistic <= quantile^2}, and which were found.

    Bounds `box` are (q,), or (m, q) of each contrast.

    contrasts (m, q), signs (m,), start (q,) or (m, q). The quantile is that of `z`, and of z + `widening` where all of
    the score is noise on the matrix. A search ends too in a point of the set where one of the `own` coefficients (m, q)
    is beyond its bound.
    """
    c, normals = contrasts * signs[:, None], np.broadcast_to(z, len(contrasts))
    boxes = np.broadcast_to(box, c.shape)

    def level_of(x: Array, at: Array, which: NDArray[np.intp]) -> Array:
        normal = normals[which] + (widening * correlation(reading, x, at) if widening else 0.0)
        return quantile(normal, kurtosis(reading, x, at)) ** 2

    def step(phi: Array, which: NDArray[np.intp]) -> Step:
        def bent(model: Model, places: NDArray[np.intp]) -> tuple[Array, ...]:
            goal = c[which[places]]
            solved = _solve(model.curvature, np.stack([model.slope, goal], axis=-1))
            inward, along = solved[..., 0], solved[..., 1]
            level = level_of(_times(model.turn, along), phi[places], which[places])
            room = level - (model.value - np.sum(model.slope * inward, axis=-1))
            length = np.sum(goal * along, axis=-1)
            half = np.sqrt(np.maximum(room, 0.0) * length)
            move = np.asarray(inward + np.where(length > 0, half / length, 0.0)[:, None] * along)
            return move, half, level, room

        def straight(local: Local, places: NDArray[np.intp]) -> tuple[Array, ...]:
            x, across, length = _along(local, c[which[places]])
            level = level_of(x, phi[places], which[places])
            far = np.sqrt(level / length)
            move = _solve(local.derivative, (local.score + far[:, None] * across)[..., None])[..., 0]
            size = local.value + 2 * far * np.sum(x * local.score, axis=-1) + level
            return move, np.sqrt(level * length), level, level, size

        (move, half, level, room, size), value = _moves(
            Local.of(reading, phi),
            reading.center + phi,
            boxes[which],
            straight,
            bent,
            lambda model, move: np.sum(move * _times(model.curvature, move), axis=-1),
        )
        ahead = np.abs(np.sum(c[which] * move, axis=-1)) <= _ALONG * half
        there = ahead & (size <= _ACROSS**2 * room) & (room > 0)
        if own is not None:
            there |= (value <= level) & np.any(own[which] & outside(reading, phi, boxes[which]), axis=1)
        return Step(move, there, value, _HIGH * level)

    return _iterate(step, np.broadcast_to(start, c.shape).copy(), reading.center, boxes, steps)


def _along(local: Local, goal: Array) -> tuple[Array, Array, Array]:
    """x with D x = goal, V x and x'V x: in the box H^-1 goal is D^-1 V x, and the last number goal'H^-1 goal."""
    x = _solve(local.derivative, goal[..., None])[..., 0]
    across = _times(local.covariance, x)
    return x, across, np.sum(x * across, axis=-1)


class Step(NamedTuple):
    """A step of each point, whether the point is there, and the statistic beside the largest that is not too high.

    `lost` points are given up.
    """

    move: Array
    there: Flags
    value: Array
    most: Array | float
    lost: Flags | np.bool_ = np.False_


def _moves(
    local: Local,
    theta: Array,
    box: Array,
    straight: Callable[[Local, NDArray[np.intp]], tuple[Array, ...]] | None,
    bent: Callable[[Model, NDArray[np.intp]], _Moves],
    measure: Callable[[Model, Array], Array],
) -> tuple[tuple[Array, ...], Array]:
    """Steps with what is known of them and their measure, and the statistic where they begin.

    `straight` computes those that begin and end in the box, where H^-1 is D^-1 V D^-1 and no product of matrices is
    needed; `bent` all others.
    """
    outside, value = np.any(sides_of(theta, box), axis=1) | (straight is None), local.value.copy()
    free, found = np.flatnonzero(~outside), None
    if straight is not None and len(free):
        found = straight(local.at(free), free)
        outside[free] = np.any(sides_of(theta[free] + found[0], box[free]), axis=1)
    rest = np.flatnonzero(outside)
    if found is not None and not len(rest):
        return found, value
    model = local.at(rest).model
    moves, here = _within(model, theta[rest], box[rest], lambda model, places: bent(model, rest[places]))
    value[rest], bent_ones = here.value, (*moves, measure(here, moves[0]))
    if found is None:
        return bent_ones, value
    out = tuple(np.empty((len(theta), *part.shape[1:])) for part in found)
    for whole, part, other in zip(out, found, bent_ones, strict=True):
        whole[free], whole[rest] = part, other
    return out, value


def _within(
    local: Model, theta: Array, box: Array, move_of: Callable[[Model, NDArray[np.intp]], _Moves]
) -> tuple[_Moves, Model]:
    """The step of a model with the bounds that hold where it leads, and that model at the sides where it begins.

    A point whose step leads to the sides that it was computed with is done. Sides may come back in a circle: the step
    of each is computed once, and that at which the tries would end is taken.
    """
    sides, boxes, places = sides_of(theta, box), np.broadcast_to(box, theta.shape), np.arange(len(theta))
    here = local.within(theta, box, sides)
    moves = move_of(here, places)
    tried = []
    for count in range(1, _SIDES + 1):
        tried.append((sides.copy(), [move.copy() for move in moves]))
        ahead = sides_of(theta[places] + moves[0][places], boxes[places])
        for first, (before, _) in reversed([*enumerate(tried)]):
            again = np.all(before[places] == ahead, axis=1)
            if not again.any():
                continue
            last = tried[first + (_SIDES - first) % (count - first)][1]
            for move, other in zip(moves, last, strict=True):
                move[places[again]] = other[places[again]]
            places, ahead = places[~again], ahead[~again]
        if not len(places):
            break
        sides[places] = ahead
        model = local.at(places).within(theta[places], boxes[places], ahead)
        for move, other in zip(moves, move_of(model, places), strict=True):
            move[places] = other
    return moves, here


def _iterate(
    step: Callable[[Array, NDArray[np.intp]], Step],
    points: Array,
    center: Array,
    box: Array,
    steps: int,
    falling: bool = False,
) -> tuple[Array, Flags]:
    """Move every point until its step says that it is there, and none of its coefficients far beyond its bound.

    A step to where the statistic is too high is halved.
    """
    farthest, origins, before = _FARTHEST * box, points.copy(), np.zeros_like(points)
    success, halved = np.zeros(len(points), bool), np.full(len(points), _HALVED)
    moving = np.arange(len(points))
    size = max(1, _MOST // points.shape[1] ** 2)
    for count in range(steps):
        still = []
        for first in range(0, len(moving), size):
            which = moving[first : first + size]
            move, there, value, most, lost = step(points[which], which)
            back = ~(value <= most) & (halved[which] < _HALVED)
            sound = back | np.all(np.isfinite(move), axis=1)
            there &= sound & ~back
            length = _length(move, before[which]) if falling else np.full(len(which), 1.0 if count < _CALM else _SHORT)
            before[which] = np.where(((length == 1) & ~back)[:, None], move, 0.0)
            moved = points[which] + length[:, None] * np.where(sound[:, None], move, 0.0)
            moved = np.clip(center + moved, -farthest[which], farthest[which]) - center
            moved[back] = (origins[which] + points[which])[back] / 2
            halved[which] = np.where(back, halved[which] + 1, 0)
            origins[which] = np.where((back | there)[:, None], origins[which], points[which])
            points[which] = np.where(there[:, None], points[which], moved)
            success[which] = there
            still.append(which[sound & ~there & ~lost])
        moving = np.concatenate(still) if still else moving[:0]
        if not len(moving):
            break
    return points, success


def _length(move: Array, before: Array) -> Array:
    """How many steps to take at once, where they go on along one line and each is a part of that before it.

    With the part rho all that are left are 1/(1 - rho) of them; a step that goes back is shortened. After such a step
    comes a plain one.
    """
    both, last = np.sum(move * before, axis=1), np.sum(before**2, axis=1)
    straight = both**2 > _STRAIGHT**2 * last * np.sum(move**2, axis=1)
    rho = np.divide(both, last, out=np.zeros_like(both), where=straight & (last > 0))
    return np.where(rho < _LEFT, 1 / (1 - np.minimum(rho, _LEFT)), 1.0)


def _times(matrix: Array, vectors: Array) -> Array:
    return np.asarray((matrix @ vectors[..., None])[..., 0])


def _solve(matrix: Array, right: Array) -> Array:
    """Solve many systems with positive semidefinite matrices; nan where a matrix is not finite or has no inverse."""
    diagonal = np.einsum("...ii->...i", matrix)
    lift = _JITTER * (diagonal + 1e-3 * np.max(diagonal, axis=-1, keepdims=True, initial=0.0))
    matrix = matrix.copy()
    np.einsum("...ii->...i", matrix)[...] += lift
    finite = np.isfinite(matrix)
    bad = None if finite.all() else ~np.all(finite, axis=(-2, -1))
    if bad is not None:
        matrix = np.where(bad[..., None, None], np.eye(matrix.shape[-1]), matrix)
    try:
        out = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        out = np.stack([_one(m, b) for m, b in zip(matrix, right, strict=True)])
    if bad is not None:
        out[bad] = np.nan
    return np.asarray(out, np.float64)


def _one(matrix: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
