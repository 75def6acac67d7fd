"""What the curve of a loss adds to the equation of a score at a point that is not yet at the coefficients.

Proofs, and what is a plug-in: intervals.md, section 10.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.inference.noise import covariance
from dplr.inference.reading import EFFECT_BOUNDS, Curvature, Expansion, Reading
from dplr.inference.sampling import positive_part
from dplr.inference.score import variances

Array = NDArray[np.float64]
# Rounds in which the way to the coefficients and the curve along it are found, and the change that ends them, in
# deviations of the score.
_ROUNDS, _STILL = 12, 1e-4
# No step is longer, so that its exponential is finite.
_LONGEST = 50.0
# A column with this part of the largest variance that its mean allows counts as a flag.
_TWO_VALUED = 0.8
# The Hessian where the way ends is at least this part of that at the point.
_SMALLEST = 0.05
# No sum of second derivatives, nor deviation, counts as less.
_LEAST = 1e-12


def _hermite(count: int) -> tuple[Array, Array]:
    """Nodes and weights of the standard normal law."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def _pairs(nodes: Array, weights: Array) -> tuple[Array, Array]:
    """Nodes (2, k) and weights of two independent numbers."""
    return np.array([part.ravel() for part in np.meshgrid(nodes, nodes)]), np.outer(weights, weights).ravel()


# Of the margin and the step of a row, and of what noise adds to a step.
_NODES, _OF_NOISE = _pairs(*_hermite(9)), _hermite(5)


class _Way(NamedTuple):
    """The way to the coefficients (q,), and the covariance of what noise adds to it (q, q)."""

    mean: Array
    spread: Array


class _Bend(NamedTuple):
    """What the curve adds: to the score (q,) and to the Hessian (q, q) at the end of the way.

    `rest` is the square of the bound of what is not known of it, in deviations of the Hessian.
    """

    score: Array
    hessian: Array
    rest: float


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def expanded(reading: Reading) -> Reading:
    """The equation of a score at a point, with what the curve adds on the way to the coefficients.

    It is that of the tangent where the way ends. What is not known of the curve is in its `remainder`, and counts as
    sampling. Moments stay as they are.
    """
    about = reading.expansion
    if about is None:
        return reading
    hessian = positive_part(reading.matrix)
    law, nothing = _Law.of(hessian, reading, about), np.zeros_like(hessian)
    bend, way = _Bend(nothing[0], nothing, 0.0), _Way(nothing[0], nothing)
    for _ in range(_ROUNDS):
        before, way = way, _way(_tangent(reading, bend, way, about.at_point), way)
        bend, moved = law.bend(reading.center, way, about), way.mean - before.mean
        if not float(moved @ hessian @ moved) > _STILL**2:
            break
    tangent = _tangent(reading, bend, way, about.at_point)
    assert tangent.remainder is not None
    return replace(tangent, sampling=tangent.sampling + tangent.remainder, expansion=None)


def widened(reading: Reading, contrasts: Array) -> Array:
    """By which factor the remainder makes the intervals of contrasts (m, q) longer."""
    assert reading.remainder is not None
    x = np.asarray(np.linalg.lstsq(reading.matrix, contrasts.T, rcond=None)[0].T, np.float64)
    way = np.linalg.lstsq(reading.matrix, reading.vector, rcond=None)[0]
    total, _ = variances(reading, x, np.broadcast_to(way, x.shape))
    share = np.sum(x @ reading.remainder * x, axis=1) / total
    return np.asarray(1 / np.sqrt(1 - np.clip(share, 0.0, 1 - _LEAST)))


def _tangent(reading: Reading, bend: _Bend, way: _Way, at_point: bool) -> Reading:
    """The equation of the tangent at the end of the way, times what makes its matrix the released one.

    So the noise on the Hessian grows from the end of the way as that of the Hessian there. At the end it is that of the
    mean of both: the difference counts as sampling.
    """
    hessian, q = positive_part(reading.matrix), len(reading.matrix)
    last = positive_part((1 - _SMALLEST) * hessian + bend.hessian) + _SMALLEST * hessian
    turn = np.eye(q) + (hessian - last) @ np.linalg.pinv(last, hermitian=True)
    noise, mean = _noise(reading, way), (turn + np.eye(q)) / 2
    sampling = positive_part(reading.sampling + bend.hessian) if at_point else reading.sampling
    return replace(
        reading,
        vector=turn @ (reading.vector - bend.score + bend.hessian @ way.mean),
        vector_noise=_times(turn, reading.vector_noise),
        sampling=_times(turn, sampling) + positive_part(_times(mean, noise) - noise),
        remainder=bend.rest * _times(turn, hessian),
    )


def _times(turn: Array, covariance: Array) -> Array:
    """Covariance of what is multiplied by a matrix."""
    out = turn @ covariance @ turn.T
    return (out + out.T) / 2


def _noise(equation: Reading, way: _Way) -> Array:
    """Covariance that noise on the Hessian causes, with the second moments of a way."""
    values, vectors = np.linalg.eigh(np.outer(way.mean, way.mean) + way.spread)
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.asarray(covariance(equation.cells, equation.tied, roots).sum(axis=0))


def _way(tangent: Reading, before: _Way) -> _Way:
    """The way that an equation leads to; directions that noise drowns are as short as effects usually are.

    The noise on the Hessian counts with the second moments of the way `before`.
    """
    noise = _noise(tangent, before)
    weighted = np.linalg.lstsq(tangent.vector_noise + tangent.sampling + noise, tangent.matrix, rcond=None)[0].T
    usual = np.diag((tangent.sizes / EFFECT_BOUNDS[tangent.estimand]) ** 2)
    spread = np.asarray(np.linalg.inv(weighted @ tangent.matrix + usual), np.float64)
    return _Way(np.asarray(spread @ (weighted @ tangent.vector)), spread)


class _Law(NamedTuple):
    """Rows weighted with their second derivative: its sum, the mean of a row (q,), covariance (q, q), sizes (q,).

    `least` (q,) are the smallest values of coordinates.
    """

    total: float
    mean: Array
    covariance: Array
    sizes: Array
    least: Array

    @classmethod
    def of(cls, hessian: Array, reading: Reading, about: Expansion) -> _Law:
        """That of a Hessian; without a constant rows count as few and long, with a mean of 0."""
        size = float(reading.sizes[-1])
        total = float(hessian[-1, -1]) / size**2 if about.constant else float(np.trace(hessian)) / about.row_norm**2
        total = max(total, _LEAST)
        mean = hessian[:, -1] / (size * total) if about.constant else np.zeros(len(hessian))
        least = np.where(reading.tied > 0, 0.0, -reading.sizes)
        return cls(total, mean, hessian / total - np.outer(mean, mean), reading.sizes, least)

    def bend(self, point: Array, way: _Way, about: Expansion) -> _Bend:
        """What the curve adds on a way, as of rows whose margins and steps are normal, for a flag given it."""
        pair = _Pair.of(self, point, way.mean)
        scatter = float(np.sum(way.spread * self.covariance)) + float(self.mean @ way.spread @ self.mean)
        noise = np.sqrt(max(scatter, 0.0)) * _OF_NOISE[0]
        margins, steps = pair.nodes()
        if about.curvature is Curvature.UNSIGNED:
            length = about.steepness * np.abs(steps[:, None] + noise)
            rest = _NODES[1] @ ((np.expm1(length) - length) / about.steepness) ** 2 @ _OF_NOISE[1]
            nothing = np.zeros_like(self.mean)
            return _Bend(nothing, np.zeros_like(self.covariance), self.total * float(rest))
        shares = _shares(about, margins)
        gain, ratio = _along(shares, steps)
        bent = np.stack([gain - steps, ratio - 1])
        rows = self.mean[:, None] + pair.parts @ _NODES[0]
        score = rows @ (_NODES[1] * bent[0])
        weights = _NODES[1] * bent[1]
        hessian = weights.sum() * (self.covariance - pair.parts @ pair.parts.T) + (rows * weights) @ rows.T
        fitted = np.vstack([np.ones_like(steps), _NODES[0]])
        left = bent[0] - (fitted * _NODES[1] @ bent[0]) @ fitted
        for flag in self._flags():
            along = self.covariance[:, flag] / self.covariance[flag, flag]
            square = self.covariance[flag, flag] - pair.parts[flag] @ pair.parts[flag]
            part = pair.parts[flag] @ _NODES[0]
            powers = np.stack([np.ones_like(part), part, part**2 + square])
            of_score, of_hessian = pair.given(self, flag, about) - bent * _NODES[1] @ powers.T
            score += of_score[0] * self.mean + of_score[1] * along
            both = np.outer(self.mean, along)
            others = self.covariance - np.outer(along, along) * self.covariance[flag, flag]
            hessian += of_hessian[0] * (np.outer(self.mean, self.mean) + others)
            hessian += of_hessian[1] * (both + both.T) + of_hessian[2] * np.outer(along, along)
        there = shares * np.stack([np.ones_like(steps), np.exp(steps)])
        second = ratio[:, None] * (_along((there / there.sum(axis=0))[..., None], noise)[0] - noise)
        rest = _NODES[1] @ left**2 + _NODES[1] @ second**2 @ _OF_NOISE[1]
        return _Bend(self.total * score, self.total * (hessian + hessian.T) / 2, self.total * float(rest))

    def _flags(self) -> list[int]:
        """Coordinates whose variance is nearly the largest that their mean allows: most rows are at their ends."""
        largest = (self.mean - self.least) * (self.sizes - self.mean)
        return np.flatnonzero((self.covariance.diagonal() > _TWO_VALUED * largest) & (largest > _LEAST)).tolist()

    def values(self, flag: int) -> tuple[Array, Array]:
        """The two values of a flag less its mean, and the shares of rows that have them."""
        high = (self.mean[flag] - self.least[flag]) / (self.sizes[flag] - self.least[flag])
        odds, deviation = math.sqrt(high / (1 - high)), math.sqrt(self.covariance[flag, flag])
        return np.array([-deviation * odds, deviation / odds]), np.array([1 - high, high])


class _Pair(NamedTuple):
    """Margin and step of a row, its products with `both` (2, q): mean and largest size (2,), root of the covariance.

    `parts` (q, 2) is the covariance of rows and nodes.
    """

    mean: Array
    root: Array
    parts: Array
    longest: Array
    both: Array

    @classmethod
    def of(cls, law: _Law, point: Array, way: Array) -> _Pair:
        both = np.array([point, way])
        root = _root(both @ law.covariance @ both.T)
        longest = np.minimum(np.abs(both) @ law.sizes, _LONGEST)
        return cls(both @ law.mean, root, law.covariance @ both.T @ np.linalg.pinv(root).T, longest, both)

    def nodes(self) -> Array:
        """Margins and steps (2, k) at the nodes."""
        return np.clip((self.mean[:, None] + self.root @ _NODES[0]), -self.longest[:, None], self.longest[:, None])

    def given(self, law: _Law, flag: int, about: Expansion) -> Array:
        """Means (2, 3) of what the curve adds to score and Hessian times powers of a flag less its mean: 0, 1 and 2."""
        along = self.both @ law.covariance[:, flag] / law.covariance[flag, flag]
        root = _root(self.root @ self.root.T - np.outer(along, along) * law.covariance[flag, flag])
        total = np.zeros((2, 3))
        for value, share in zip(*law.values(flag), strict=True):
            margins, steps = self._replace(mean=self.mean + along * value, root=root).nodes()
            gain, ratio = _along(_shares(about, margins), steps)
            means = np.stack([gain - steps, ratio - 1]) @ _NODES[1]
            total += share * np.outer(means, [1.0, value, value**2])
        return total


def _root(covariance: Array) -> Array:
    """A root of the covariance of two numbers."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _shares(about: Expansion, margins: Array) -> Array:
    """1 - p and p (2, k) of a logistic loss, whose second derivative is p (1 - p); 1 and 0 of an exponential one."""
    if about.curvature is Curvature.LOGISTIC:
        return np.stack([special.expit(-margins), special.expit(margins)])
    return np.stack([np.ones_like(margins), np.zeros_like(margins)])


def _along(shares: Array, step: Array) -> tuple[Array, Array]:
    """Difference of the first derivative on a step, over the second one at its start, and that at its end over it."""
    below = shares[0] + shares[1] * np.exp(step)
    return np.expm1(step) / below, np.exp(step) / below**2
