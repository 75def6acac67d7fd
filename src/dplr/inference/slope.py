"""Mean slope p(1 - p) of a logistic model, from its released Hessian alone: what log odds times it are changes of p.

The cell of the constant, iota in every row, is iota^2 times the sum of p(1 - p) at the point w of the Hessian. With
h = p(1 - p), u = arcsin(2 sqrt(mean h)) and delta the way from w to the coefficients:

Lemma. |u(w + delta) - u(w)| <= sqrt(delta'H delta/n) (e^(rho/2) - 1)/(rho/2), rho the largest |v.delta| of a row.

Proof. Along the way the derivative of mean h is mean h(1 - 2p) s, s = v.delta, and (1 - 2p)^2 = 1 - 4h. By Cauchy and
Schwarz its square is at most mean h(1 - 4h) times mean h s^2, and mean h(1 - 4h) <= m(1 - 4m), m = mean h. As
m = sin^2(u)/4, dm = sin(u) cos(u) du/2 and sqrt(m(1 - 4m)) = sin(u) cos(u)/2. So |du/dt| is at most the root of
mean h s^2, and h there is at most e^(t |s|) times h at w.

The last factor is taken as 1, as h rarely grows along the way: u is then linear in delta, with a
gradient whose norm in H^-1 is at most 1/sqrt(n). H delta is the score at w less that at the coefficients: the released
score, which is known, less its noise and its sampling error, whose covariance is known; along an unknown direction its
deviation is at most that of the worst one. Rows scatter mean h by at most m(1/4 - m)/n in variance, as h lies in
[0, 1/4]: a deviation of u of at most 1/(2 sqrt(n)), uncorrelated with the score where the rows follow the model. The
noise of the cell, the known part and the deviations are added up.

Average effects b m, b a coefficient, are narrower than products of both intervals (`average_effects`). With
t(x) = tanh(x/2) = 2p - 1 the gradient of m is -m E[t(x) v], E the mean with weights h, of which H tells the mean and
the covariance of all v. Let x = v.w have the mean c and the variance s^2 there, and let t(x) - t(c) lie between
(k - l)(x - c) and (k + l)(x - c) for every x. Then E[t v] = t(c) E[v] + k Cov(x, v) + r, and by Cauchy and Schwarz
m |r.delta| <= l s sqrt(m delta'H delta/n). So b m moves by m (b's change) + b (the gradient without r).delta, a
contrast whose interval counts the covariance of the release, and by b times the rest: what r may do in the worst
direction, fully correlated; the noise of the cell and what rows scatter, independent; and along the known way r, and
half of delta'H delta/n for the second order, as |h''| <= h.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.inference.intervals import BOUNDED, ends_alone
from dplr.inference.noise import weights
from dplr.inference.reading import EFFECT_BOUNDS, Reading
from dplr.inference.score import quantile
from dplr.inference.search import Bounds

Array = NDArray[np.float64]
_LAPLACE = 3.0  # excess kurtosis
# Where chords of tanh(x/2) from a point end: in steps of a twentieth, and none at the point itself.
_CHORDS = np.arange(-800.5, 801.0) / 20


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def mean_slope(reading: Reading, level: float, bounds: Bounds = None) -> tuple[float, float, float]:
    """Mean p(1 - p) at the coefficients, and its interval; nan where the released numbers cannot say.

    The constant is the last coordinate; `bounds` are the largest effects, as those of intervals.
    """
    nothing = math.nan, math.nan, math.nan
    if reading.n_rows is None or not np.all(np.isfinite(reading.matrix)):
        return nothing
    z = -float(special.ndtri((1 - level) / 2))
    per_row = reading.n_rows * float(reading.sizes[-1]) ** 2
    value = float(reading.matrix[-1, -1]) / per_row
    tails = np.asarray(_LAPLACE if reading.laplace else 0.0)
    half = float(quantile(z, tails)) * math.sqrt(float(reading.cells[-1, -1])) / per_row
    if not 0 < value - half < 0.25:
        return nothing
    known, deviation = _way(reading, z, bounds)
    moved = known + z * math.hypot(deviation, 0.5 / math.sqrt(reading.n_rows))
    low, high = (math.asin(2 * math.sqrt(min(end, 0.25))) for end in (value - half, value + half))
    if not low > moved:
        return nothing
    high = min(high + moved, math.pi / 2)
    return min(value, 0.25), math.sin(low - moved) ** 2 / 4, math.sin(high) ** 2 / 4


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def average_effects(reading: Reading, contrasts: Array, level: float, bounds: Bounds = None) -> Array:
    """Contrasts (k, q) of the coefficients times mean p(1 - p), and their intervals: (k, 3).

    nan where the released numbers do not bound all that they depend on: `mean_slope` may say something there.
    """
    nothing = np.full((len(contrasts), 3), np.nan)
    if not math.isfinite(mean_slope(reading, level, bounds)[0]) or not np.all(np.linalg.eigvalsh(reading.matrix) > 0):
        return nothing
    assert reading.n_rows is not None
    z, n, iota = -float(special.ndtri((1 - level) / 2)), reading.n_rows, float(reading.sizes[-1])
    total = float(reading.matrix[-1, -1]) / iota**2
    gradient, rest = _gradient(reading, total / n)
    theta = reading.center + np.linalg.solve(reading.matrix, reading.vector)
    slope = min(total / n + float(gradient @ (theta - reading.center)), 0.25)
    known, deviation = _way(reading, z, bounds)
    changes = slope * contrasts + np.outer(contrasts @ theta, gradient)
    told = ends_alone(reading, changes, level, False, bounds)
    tails = np.asarray(_LAPLACE if reading.laplace else 0.0)
    cell = float(quantile(z, tails)) * math.sqrt(reading.cells[-1, -1]) / iota**2 / n
    scatter = math.hypot(cell, z * math.sqrt(max(slope * (0.25 - slope), 0.0) / n))
    sizes, middle = reading.factor * np.abs(contrasts @ theta), reading.factor * (changes @ theta)
    ends = [
        np.hypot(side + sizes * z * rest * deviation, sizes * scatter) + sizes * (rest * known + known**2 / 2)
        for side in (middle - told.low, told.high - middle)
    ]
    estimate = slope * reading.factor * (contrasts @ theta)
    out = np.column_stack([estimate, estimate - ends[0], estimate + ends[1]])
    return np.where(((told.verdict == BOUNDED) & (slope > 0))[:, None], out, nothing)


def _gradient(reading: Reading, slope: float) -> tuple[Array, float]:
    """The part of the gradient of the mean slope that the Hessian tells, and a bound of the length of the rest."""
    last = float(reading.matrix[-1, -1])
    mean = reading.matrix[-1] / last * float(reading.sizes[-1])
    scatter = reading.matrix / last * float(reading.sizes[-1]) ** 2 - np.outer(mean, mean)
    center, along = float(mean @ reading.center), scatter @ reading.center
    variance = max(float(reading.center @ along), 0.0)
    points = center + _CHORDS
    chords = (np.tanh(points / 2) - math.tanh(center / 2)) / _CHORDS
    middle, half = (chords.max() + chords.min()) / 2, (chords.max() - chords.min()) / 2
    rest = math.sqrt(slope * variance) * half
    return -slope * (math.tanh(center / 2) * mean + middle * along), rest


def _way(reading: Reading, z: float, bounds: Bounds) -> tuple[float, float]:
    """The length sqrt(delta'H delta/n) of what is known of the way to the coefficients, and the deviation of the rest.

    By the score in directions that are long beside their noise, and by the bound of effects in the others, or by the
    intervals of coefficients without one.
    """
    assert reading.n_rows is not None
    eigenvalues, vectors = np.linalg.eigh(reading.matrix)
    noise = np.array([_deviation(reading, direction) for direction in vectors.T])
    shortest, longest = eigenvalues - z * noise, np.maximum(eigenvalues, 0.0) + z * noise
    covariance = vectors.T @ (reading.vector_noise + reading.sampling) @ vectors
    score = vectors.T @ reading.vector
    effects = np.asarray(EFFECT_BOUNDS[reading.estimand] if bounds is None else bounds)
    box = effects / reading.sizes + np.abs(reading.center)
    if np.any(np.isinf(box)):  # as far as the released numbers tell
        told = ends_alone(reading, np.eye(len(box)), 1 - 2 * float(special.ndtr(-z)), False, bounds)
        farthest = np.maximum(np.abs(told.low - reading.center), np.abs(told.high - reading.center))
        box = np.where(np.isinf(box), farthest, box)
    parts = np.abs(vectors).T
    by_box = np.sum(np.multiply(parts, box, out=np.zeros_like(parts), where=parts > 0), axis=1) ** 2 * longest
    by_score = (np.abs(score) + z * np.sqrt(np.diag(covariance))) ** 2 / shortest
    ample = (shortest > 0) & (by_score < by_box)
    distance, variance = float(np.sum(by_box[~ample])), 0.0
    if ample.any():
        scale = 1 / np.sqrt(shortest[ample])
        distance += float(np.sum((score[ample] * scale) ** 2))
        scaled = covariance[np.ix_(ample, ample)] * np.outer(scale, scale)
        variance = float(np.linalg.eigvalsh(scaled)[-1])
    return math.sqrt(distance / reading.n_rows), math.sqrt(variance / reading.n_rows)


def _deviation(reading: Reading, direction: Array) -> float:
    """Deviation of the noise of the matrix along a direction."""
    return math.sqrt(float(np.sum(np.triu(reading.cells * weights(reading.tied, direction, direction) ** 2))))
