"""Search for the worst neighbours that differ in one person with several rows, in the integers that kernels sum."""

import math

import numpy as np

from dplr.mechanisms.functional.moments import blocks
from dplr.problem.geometry import GRID
from dplr.rows.weights import multipliers
from sensitivity_search import DRAWN, numeric_columns, random_rows

ONE = 2**30


def shares(rows, targets, weights, geometry):
    """Second moments (count, q + 1, q + 1) of persons with rows (count, m, d), as whole numbers over 2^40.

    The Gram kernel multiplies every integer by A / 2^30 and truncates towards zero; see `multipliers`.
    """
    constant = np.full((*targets.shape, int(geometry.intercept > 0)), geometry.intercept)
    cells = np.concatenate([rows, constant, targets[..., None]], axis=2)
    whole = np.trunc(cells * GRID)
    factors = multipliers(weights.ravel()).reshape(weights.shape)[..., None]
    # Products below 2^53 are exact in floating point, and 2^30 is a power of two.
    multiplied = np.trunc(whole * factors / ONE)
    return np.einsum("nmi,nmj->nij", multiplied, multiplied) / 2.0**40


def norm_of(geometry, counted, quadratic, order, square=0.0):
    """The norm, of moments (count, q + 1, q + 1), in which a release measures what one unit moves."""
    beside = quadratic * (math.sqrt(2) if order == 2 else 1.0)
    factors = {"linear": 1.0, "diagonal": quadratic, "off_diagonal": beside}
    cells = {name: pair for name, pair in blocks(geometry, counted).items() if factors[name]}
    i, j = (np.concatenate([pair[side] for pair in cells.values()]) for side in (0, 1))
    weights = np.repeat([factors[name] for name in cells], [len(pair[0]) for pair in cells.values()])

    def norm(moments):
        return np.linalg.norm(np.hstack([weights * moments[:, i, j], square * moments[:, -1:, -1]]), order, axis=1)

    return norm


def rows_of(rng, geometry, count):
    """Rows of the geometry: of the ball, many of unit norm or with equal numbers, or as `random_rows` makes them."""
    if geometry.half_width is not None:
        return random_rows(rng, geometry, count)
    rows = rng.normal(size=(count, geometry.d))
    rows[::2] = np.sign(rows[::2]) * rng.choice([1.0, 0.9, 0.5, 0.0], size=(len(rows[::2]), 1))
    rows[::4] = np.sign(rows[::4])
    longest = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return rows / longest * np.where(rng.random((count, 1)) < 0.7, 1.0, rng.random((count, 1))) * (1 - 1e-9)


def weights_of(rng, count, m, whole):
    """Weights of m rows that add up to at most 1: equal ones, or of any size and total if not `whole`."""
    weights = np.full((count, m), 1.0 / m)
    if not whole:
        weights[::2] = rng.dirichlet(np.ones(m), len(weights[::2])) * rng.choice(
            [1.0, 0.5, 0.0], (len(weights[::2]), 1)
        )
    return np.floor(weights * ONE) / ONE


def worst_persons(geometry, relation, norm, whole, m=3, seed=0, count=120, steps=500, numbers=False):
    """Largest change of `norm` found between neighbours: groups of rows, labels and weights are drawn anew.

    `whole` persons have weights 1/m. Half of the persons have one row m times, which is what hulls end in.
    """
    rng, replaced = np.random.default_rng(seed), relation == "replace_one"
    every = np.arange(geometry.d)
    columns = [[c, c + 1][: 1 + (c in geometry.marked)] for c in numeric_columns(geometry)]
    spans = (*geometry.blocks, *geometry.shared, *geometry.hats)
    columns += [list(range(first, first + size)) for first, size, *_ in spans]
    groups = columns if geometry.half_width is not None else [every, every]

    def targets(n):
        return rng.choice([-1.0, 0.0, 1.0] if numbers else [-1.0, 1.0], n)

    rows = rows_of(rng, geometry, 2 * count * m).reshape(2, count, m, -1)
    labels, alike = targets((2, count, m)), rng.random(count) < 0.5
    rows[:, alike], labels[:, alike] = rows[:, alike][:, :, :1], labels[:, alike][:, :, :1]
    weights = np.array([weights_of(rng, count, m, whole) for _ in range(2)])
    if not replaced:
        weights[1] = 0.0

    state = [rows, labels, weights]
    sums = [shares(*person, geometry) for person in zip(*state, strict=True)]
    best = norm(sums[0] - sums[1])
    for step in range(steps):
        if step % DRAWN == 0:
            fresh = rows_of(rng, geometry, DRAWN * count).reshape(DRAWN, count, 1, -1)
        who, what, which = rng.integers(1 + replaced), rng.random(), rng.integers(m)
        members = slice(None) if rng.random() < 0.5 else slice(which, which + 1)
        tried = [part[who].copy() for part in state]
        if what < 0.7:
            group = groups[rng.integers(len(groups))]
            tried[0][:, members, group] = fresh[step % DRAWN][:, :, group]
        elif what < 0.9:
            tried[1][:, members] = targets((count, 1))
        elif not whole:
            tried[2] = weights_of(rng, count, m, whole)
        changed = shares(*tried, geometry)
        found = norm(changed - sums[1 - who])
        better = found > best
        best[better], sums[who][better] = found[better], changed[better]
        for part, other in zip(state, tried, strict=True):
            part[who][better] = other[better]
    return float(best.max())


def worst_ratio(q, relation, ridge, scale, slope, curvature, m=3, seed=0, count=300, steps=500, half_width=None):
    """Largest log density ratio found of objective perturbation between persons with m rows, at any released point.

    slope, curvature : l' and l'' of the loss at margins, for the label 1; other labels turn rows round.
    Other rows may turn the noise to any side without adding to the Hessian, so what the norm of noise exp(-N(b) /
    scale) can change by is the distance of the persons' gradients: in the gauge of a cube if rows lie in one.
    """
    present = 1.0 if relation == "replace_one" else 0.0

    def value(rows, weights, point):
        margins = np.einsum("pnmq,nq->pnm", rows, point)
        gradients = np.einsum("pnm,pnmq->pnq", weights * slope(margins), rows)
        hessians = np.einsum("pnm,pnmi,pnmj->pnij", weights * curvature(margins), rows, rows) / ridge
        one, other = np.linalg.slogdet(np.eye(q) + hessians)[1] * [[1.0], [present]]
        moved = gradients[0] - present * gradients[1]
        norms = np.linalg.norm(moved, axis=1) if half_width is None else np.abs(moved).max(axis=1) / half_width
        return norms / scale + np.abs(one - other)

    return _climb_persons(value, q, m, seed, count, steps, half_width)


def worst_person_score(q, relation, weight, m=3, seed=0, count=300, steps=500):
    """Largest L2 change found of (score, weight * Hessian) of persons with m rows in the unit ball, at any point."""
    present = 1.0 if relation == "replace_one" else 0.0

    def value(rows, weights, point):
        p = 1 / (1 + np.exp(np.clip(np.einsum("pnmq,nq->pnm", rows, point), -700, 700)))
        scores = np.einsum("pnm,pnmq->pnq", weights * p, rows)
        hessians = np.einsum("pnm,pnmi,pnmj->pnij", weights * p * (1 - p), rows, rows)
        moved = scores[0] - present * scores[1], hessians[0] - present * hessians[1]
        return np.sqrt((moved[0] ** 2).sum(axis=1) + weight**2 * (moved[1] ** 2).sum(axis=(1, 2)))

    return _climb_persons(value, q, m, seed, count, steps, None)


def _climb_persons(value, q, m, seed, count, steps, half_width):
    """The largest value of two persons (2, count, m, q), their rows' weights and a point found."""
    rng = np.random.default_rng(seed)

    def near(rows, weights, point, size):
        rows = rows + size * rng.normal(size=rows.shape)
        if half_width is None:
            rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=-1, keepdims=True))
        else:
            rows = np.clip(rows, -half_width, half_width)
        weights = np.maximum(weights + size * rng.normal(size=weights.shape), 0.0)
        weights = weights / np.maximum(1.0, weights.sum(axis=-1, keepdims=True))
        return [rows, weights, point * np.exp(size * rng.normal(size=(count, 1))) + size * rng.normal(size=point.shape)]

    rows = rng.normal(size=(2, count, m, q))
    axes = np.resize(np.eye(q), (m, q))
    rows[0, ::2] = axes * rng.choice([-1.0, 1.0], (len(rows[0, ::2]), 1, 1))
    rows[:, ::5] = rows[:, ::5, :1]
    rows[1, ::3] = -rows[0, ::3]
    point = rng.normal(size=(count, q)) * rng.choice([0.0, 0.1, 1.0, 10.0, 100.0], (count, 1))
    state = near(rows, np.full((2, count, m), 1.0 / m), point, 0.0)
    best = value(*state)
    for step in range(steps):
        tried = near(*state, 0.5 * 0.99**step if step % 2 else 0.02)
        found = value(*tried)
        better = found > best
        best[better] = found[better]
        for part, other in zip(state, tried, strict=True):
            part[better if part.ndim == 2 else (slice(None), better)] = (
                other[better] if part.ndim == 2 else other[:, better]
            )
    return float(best.max())
