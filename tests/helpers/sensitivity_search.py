"""Search for the worst neighbours by projected subgradient ascent from many starts, in batches."""

import math

import numpy as np

from dplr.mechanisms.functional.moments import blocks


def change(x, s, other, t, linear, quadratic, iota, count_cell=False):
    """L1 change of (linear * y (x, iota), quadratic * triangle) between records (x, s) and (other, t); batched."""
    i, j = np.triu_indices(x.shape[1])
    value = linear * (np.abs(s * x - t * other).sum(1) + iota * np.abs(s - t).ravel())
    value = value + quadratic * np.abs(x[:, i] * x[:, j] - other[:, i] * other[:, j]).sum(1)
    value = value + quadratic * iota * np.abs(x - other).sum(1)
    return value + (quadratic * iota**2 if count_cell else 0.0)


def slopes(x, s, other, t, linear, quadratic, iota):
    """`change` without the count, and subgradients of it in x and in other; products of entries are computed once."""
    products = x[:, :, None] * x[:, None, :] - other[:, :, None] * other[:, None, :]
    apart, moved, signs = s * x - t * other, x - other, np.sign(products)
    np.einsum("bii->bi", signs)[:] *= 2  # the triangle holds each product of two entries once, and each square
    value = linear * (np.abs(apart).sum(1) + iota * np.abs(s - t).ravel())
    value = value + quadratic * np.einsum("bij,bij->b", products, signs) / 2
    value = value + quadratic * iota * np.abs(moved).sum(1)
    constant = quadratic * iota * np.sign(moved)
    up, down = (np.matmul(signs, row[:, :, None])[:, :, 0] for row in (x, other))
    linear_part = linear * np.sign(apart)
    return value, s * linear_part + quadratic * up + constant, -t * linear_part - quadratic * down - constant


def project(x, domain, c):
    if domain == "ball":
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True) / c, 1.0)
    return np.clip(x, 0.0 if domain == "corner" else -c, c)


def starts(rng, d, domain, c, count):
    """Random points of the domain, half of them with equal magnitudes, where many worst cases lie."""
    x = rng.normal(size=(count, d))
    x[::2] = np.sign(x[::2]) * rng.choice([1.0, 0.9, 0.5], size=(len(x[::2]), 1))
    return project((np.abs(x) if domain == "corner" else x) * 10, domain, c)


def worst_change(
    d, domain, c, linear, quadratic, iota, relation, seed=0, count=300, steps=200, square=0.0, targets=(1.0, -1.0)
):
    """Largest change found between neighbours with rows in the domain (ball of radius c, or cube of half-width c).

    The change of sum y^2 counts with weight `square`; the second record has one of `targets`, the first has 1.
    """
    rng, replaced = np.random.default_rng(seed), relation == "replace_one"
    t = np.repeat(targets if replaced else (0.0,), count)[:, None]  # `count` starts of each target
    s, more = np.ones_like(t), square * (1 - t.ravel() ** 2) + (0.0 if replaced else quadratic * iota**2)
    x, other = starts(rng, d, domain, c, len(t)), starts(rng, d, domain, c, len(t))
    number = np.arange(len(t)) % count
    other[number < count // 2] = (x * np.where(t < 0, 1, -1))[number < count // 2]
    if domain != "ball":  # one number describes the worst pair of a cube: try many
        x[number % 3 == 0] = c
        each = np.linspace(0 if domain == "corner" else -1, 1, len(range(0, count, 3)))
        other[number % 3 == 0] = c * np.tile(each, len(t) // count)[:, None]
    other = project(other, domain, c) if replaced else np.zeros_like(x)
    best = 0.0
    for step in range(steps):
        value, up, other_up = slopes(x, s, other, t, linear, quadratic, iota)
        best = max(best, float((value + more).max()))
        rate = 0.3 * c * (1 - step / steps)
        x = project(x + rate * up / (np.linalg.norm(up, axis=1, keepdims=True) + 1e-12), domain, c)
        if replaced:
            length = np.linalg.norm(other_up, axis=1, keepdims=True) + 1e-12
            other = project(other + rate * other_up / length, domain, c)
    return best


def released_change(rows, labels, others, other_labels, geometry, relation, linear, quadratic):
    """L1 change of the cells that a release of this geometry holds; a record whose label is 0 is not there. Batched."""
    cells = weighted_cells(geometry, (labels, other_labels), released(geometry, relation), linear, quadratic, quadratic)
    moments = (cells(x, which) * (y != 0) for which, (x, y) in enumerate(((rows, labels), (others, other_labels))))
    return np.abs(next(moments) - next(moments)).sum(axis=0)


def released(geometry, relation):
    """The cells of the upper triangle of second moments that a release holds, by block."""
    return blocks(geometry, counted=relation == "add_remove")


def weighted_cells(geometry, labels, cells, linear, diagonal, off_diagonal):
    """A function of rows (n, d), and of which of two records they are: their moments (cells, n) times weights."""
    factors = {"linear": linear, "diagonal": diagonal, "off_diagonal": off_diagonal}
    i, j = (np.concatenate([pair[side] for pair in cells.values()]) for side in (0, 1))
    weights = np.repeat([factors[name] for name in cells], [len(pair[0]) for pair in cells.values()])[:, None]

    def of(rows, which):
        constant = np.full((int(geometry.intercept > 0), len(rows)), geometry.intercept)
        v = np.vstack([rows.T, constant, labels[which]])
        return v[i] * v[j] * weights

    return of


def numeric_columns(geometry):
    """The columns outside every block, one-hot, of numbers or of shares, that mark no missing values."""
    blocks = (*geometry.blocks, *geometry.shared, *geometry.hats)
    inside = {column for first, size, *_ in blocks for column in range(first, first + size)}
    return [column for column in range(geometry.d) if column not in inside and column - 1 not in geometry.marked]


def random_rows(rng, geometry, count):
    """Rows of numbers in [-c, c], many at the ends or at 0, and of blocks with one level each or, rarely, none.

    Of numbers with a mark a third are missing. Of a block of numbers one is not 0 or, rarely, none. Of one of shares
    one is c, or two neighbours are it together or, rarely, less.
    """
    rows, c = np.zeros((count, geometry.d)), geometry.half_width
    for column in numeric_columns(geometry):
        rows[:, column] = c * rng.uniform(-1, 1, count)
        ends = rng.random(count) < 0.5
        rows[ends, column] = c * rng.choice([-1.0, 0.0, 1.0], ends.sum())
    for column in geometry.marked:
        missing = rng.random(count) < 1 / 3
        rows[missing, column], rows[missing, column + 1] = 0.0, c
    for first, size in geometry.blocks:
        level = rng.integers(0, size, count)
        known = rng.random(count) < 0.9
        rows[np.flatnonzero(known), first + level[known]] = c
    for first, size in geometry.shared:
        value = c * np.where(rng.random(count) < 0.7, rng.choice([-1.0, 0.0, 1.0], count), rng.uniform(-1, 1, count))
        rows[np.arange(count), first + rng.integers(0, size, count)] = value
    for first, size, _ in geometry.hats:
        pairs = np.array([pair for pair in geometry.neighbours if first <= pair[0] < first + size])
        left, right = pairs[rng.integers(0, len(pairs), count)].T
        share = np.where(rng.random(count) < 0.3, rng.uniform(0, 1, count), rng.integers(0, 2, count))
        whole = c * np.where(rng.random(count) < 0.9, 1.0, rng.uniform(0, 1, count))
        rows[np.arange(count), left], rows[np.arange(count), right] = whole * (1 - share), whole * share
        if size > pairs.max() + 1 - first:  # a mark behind the knots
            missing = rng.random(count) < 1 / 4
            rows[missing, first : first + size] = c * np.eye(size)[-1]
    return rows * np.array(geometry.weights or 1.0)


def worst_released_change(geometry, relation, linear, quadratic, seed=0, count=100, steps=300, square=0.0, ratio=1.0):
    """Largest change found between neighbours: random pairs, then one group of one record at a time drawn anew.

    The change of sum y^2 counts with weight `square`; targets are 1 and `ratio` or -`ratio`.
    """
    replaced = relation == "replace_one"
    others = ratio * np.where(np.arange(count) % 2, 1.0, -1.0) if replaced else np.zeros(count)
    labels = np.ones(count), others
    cells = weighted_cells(geometry, labels, released(geometry, relation), linear, quadratic, quadratic)
    found = _climb(cells, 1, geometry, replaced, seed, count, steps)
    return float((found + square * (1 - others**2)).max())


def worst_moments_change(geometry, relation, order, seed=0, count=200, steps=800):
    """Largest L1 or L2 change found of released second moments alone; in L2 cells off the diagonal count sqrt 2."""
    held = {name: pair for name, pair in released(geometry, relation).items() if name != "linear"}
    beside = math.sqrt(2) if order == 2 else 1.0
    cells = weighted_cells(geometry, np.ones((2, count)), held, 0.0, 1.0, beside)
    return float(_climb(cells, order, geometry, relation == "replace_one", seed, count, steps).max())


def worst_column_change(geometry, relation, seed=0, count=100, steps=600):
    """Largest L2 change found of (sum x, sum x^2 / c of the numbers, c times the number of records) between neighbours.

    c is the half-width.
    """
    numbers, c = list(geometry.numbers), geometry.half_width

    def cells(rows, _):
        return np.vstack([rows.T, rows.T[numbers] ** 2 / c, np.full((1, len(rows)), c)])

    return float(_climb(cells, 2, geometry, relation == "replace_one", seed, count, steps).max())


DRAWN = 50  # steps whose rows are drawn at once


def _climb(cells, order, geometry, replaced, seed, count, steps):
    """The largest norm found, from each of `count` pairs, of what `cells` of two records differ by, or of one's."""
    rng = np.random.default_rng(seed)
    numeric, widths = numeric_columns(geometry), geometry.half_widths
    groups = [[column, column + 1][: 1 + (column in geometry.marked)] for column in numeric]
    spans = (*geometry.blocks, *geometry.shared, *geometry.hats)
    groups += [list(range(first, first + size)) for first, size, *_ in spans]
    pair = [random_rows(rng, geometry, count) for _ in range(2)]
    sums = [cells(pair[0], 0), cells(pair[1], 1) * replaced]
    best = np.linalg.norm(sums[0] - sums[1], order, axis=0)
    for step in range(steps):
        if step % DRAWN == 0:
            fresh = random_rows(rng, geometry, DRAWN * count).reshape(DRAWN, count, -1)
        which, group = rng.integers(1 + replaced), groups[rng.integers(len(groups))]
        tried = pair[which].copy()
        if group[0] in numeric and step % 2:  # near the best so far
            c = widths[group[0]]
            near = tried[:, group[0]] + c * rng.normal(0, 0.1, count) * 0.99**step
            near[tried[:, group[1:]].any(axis=1)] = 0.0  # what is missing stays missing
            tried[:, group[0]] = np.clip(near, -c, c)
        else:
            tried[:, group] = fresh[step % DRAWN][:, group]
        moved = cells(tried, which)
        found = np.linalg.norm(moved - sums[1 - which], order, axis=0)
        better = found > best
        pair[which][better], sums[which][:, better], best[better] = tried[better], moved[:, better], found[better]
    return best


def score_change(rows, labels, others, other_labels, points, weight, replaced=True):
    """L2 change of (U, weight * H in Frobenius norm) at `points` where `others` replace `rows`, or those are added."""
    parts = []
    for v, y in ((rows, labels), (others, other_labels)):
        p = 1 / (1 + np.exp(y * np.sum(v * points, axis=1)))
        parts.append(((p * y)[:, None] * v, (p * (1 - p))[:, None, None] * v[:, :, None] * v[:, None, :]))
    score, hessian = (a - b if replaced else a for a, b in zip(*parts, strict=True))
    return np.sqrt(np.sum(score**2, axis=1) + weight**2 * np.sum(hessian**2, axis=(1, 2)))
