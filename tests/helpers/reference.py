"""NumPy twins of the kernels: slow, short, exact in Python integers."""

import math

import numpy as np

UNITS = 2**20


def snapped_row(x, prep):
    """One raw feature row in grid units, as Python integers; None for a row that holds a NaN or an infinity."""
    d = prep.geometry.d
    x = np.asarray(x, dtype=np.float64)
    if not np.isfinite(x).all():
        return None
    if prep.geometry.half_width is not None:
        units = np.clip((x - prep.shift[:d]) * prep.scale[:d], prep.low[:d], prep.high[:d])
        return [int(k) for k in np.rint(units)]
    if np.abs(x).max(initial=0.0) < 2:
        units = [int(k) for k in np.rint(x * UNITS)]
        if sum(k * k for k in units) <= UNITS**2:
            return units
    unit = x / np.abs(x).max()
    shrunk = (UNITS - np.sqrt(d) / 2) * (1 - 2.0**-40)
    return [int(k) for k in np.rint(unit * (shrunk / np.sqrt(np.cumsum(unit**2)[-1])))]


def snapped_target(y, prep):
    """One raw target in grid units."""
    d = prep.geometry.d
    if prep.labels is not None:
        return {prep.labels[0]: -UNITS, prep.labels[1]: UNITS}[float(y)]
    return int(np.rint(np.clip((y - prep.shift[d]) * prep.scale[d], prep.low[d], prep.high[d])))


def moments(X, y, prep, multipliers=None):
    """Second moments of (x, intercept, y) in units of 2^-40, upper triangle, as Python integers.

    With multipliers A, one for each row, every entry k of a row is sign(k) ((|k| A) >> 30).
    """
    constant = [int(prep.geometry.intercept * UNITS)] if prep.geometry.intercept else []
    q = prep.geometry.d + len(constant) + 1
    out = [[0] * q for _ in range(q)]
    for x, target, multiplier in zip(X, y, [2**30] * len(y) if multipliers is None else multipliers, strict=True):
        row = snapped_row(x, prep)
        v = [*row, *constant, snapped_target(target, prep)] if row else [0] * (q - 1 - len(constant)) + constant + [0]
        v = [(abs(k) * int(multiplier) >> 30) * (1 if k > 0 else -1) for k in v]
        for i in range(q):
            for j in range(i, q):
                out[i][j] += v[i] * v[j]
    return np.array(out, dtype=object)


def bounded_rows(X, prep):
    """Raw feature rows in the scaled problem, not snapped, all at once."""
    d = prep.geometry.d
    X = np.asarray(X, dtype=np.float64)
    if prep.geometry.half_width is not None:
        with np.errstate(over="ignore"):  # beyond the largest float is beyond the bounds
            return np.clip((X - prep.shift[:d]) * prep.scale[:d], prep.low[:d], prep.high[:d]) / UNITS
    largest = np.maximum(np.abs(X).max(axis=1, initial=0.0, keepdims=True), 1.0)
    return X / np.maximum(1.0, largest * np.linalg.norm(X / largest, axis=1, keepdims=True))


def bounded_targets(y, prep):
    """Raw targets as the loss sees them: -1 or 1, or the clipped numbers."""
    d = prep.geometry.d
    y = np.asarray(y, dtype=np.float64)
    if prep.labels is not None:
        known = {prep.labels[0]: -1.0, prep.labels[1]: 1.0}
        return np.array([known[label] for label in y.tolist()])
    return np.clip((y - prep.shift[d]) * prep.scale[d], prep.low[d], prep.high[d]) / UNITS


def piece_at(knots, place):
    """Left knot, how much of its piece lies behind, slope and change; a place beyond all knots counts as the end."""
    last = knots.first + len(knots.values) - 1
    u = np.clip(place * knots.per_unit, knots.first, last)
    number = np.minimum(np.floor(u), last - 1)
    k = (number - knots.first).astype(int)
    return k, u - number, knots.values[k], np.diff(knots.values)[k]


def knotted_curve(knots, m, y):
    """dl/dm, d2l/dm2 and l of a loss with knots, 0 at the first."""
    place = {"margin": y * m, "residual": m - y, "family": m + 0 * y}[knots.form]
    k, part, left, change = piece_at(knots, place)
    slope, ends, step = left + part * change, knots.places[[0, -1]], 1 / knots.per_unit
    values = np.concatenate(([0.0], np.cumsum((knots.values[1:] + knots.values[:-1]) / 2) * step))
    beyond = place - np.clip(place, *ends)
    value = values[k] + (left + part * change / 2) * part * step + beyond * slope
    weight = np.where(beyond == 0, change / step, 0.0)
    if knots.form == "margin":
        return y * slope, weight, value
    return (slope, weight, value) if knots.form == "residual" else (slope - y, weight, value - y * m)


def loss_curve(loss, m, y):
    """dl/dm, d2l/dm2 and l at margins m."""
    if loss.knots is not None:
        return knotted_curve(loss.knots, m, y)
    v, h = y * m, loss.width
    if loss.name == "logistic":
        p = np.exp(-np.logaddexp(0.0, v))
        return -y * p, p * (1 - p), np.logaddexp(0.0, -v)
    if loss.name == "huber_svm":
        u = np.clip((1 + h - v) / (2 * h), 0, 1)
        return -y * u, np.where(np.abs(1 - v) <= h, 0.5 / h, 0.0), np.where(v < 1 - h, 1 - v, h * u * u)
    if loss.name == "soft_logistic":
        p, weight, value = soft_logistic_curve(h, v)
        return -y * p, weight, value
    r, h = m - y, np.inf if loss.name == "squared" else h
    size = np.abs(r)
    if loss.name == "soft_huber":
        return np.sign(r) * h * (1 - np.exp(-size / h)), np.exp(-size / h), h * (size + h * (np.exp(-size / h) - 1))
    return np.clip(r, -h, h), (size <= h) * 1.0, np.where(size <= h, r * r / 2, h * size - np.square(min(h, 1e9)) / 2)


def soft_logistic_curve(cut, v):
    """Slope size, second derivative and value of the soft logistic loss, cut < 1, where y z = v."""
    turn_size = 1 - np.sqrt(1 - cut)
    turn = np.log((1 - turn_size) / turn_size)
    p = np.exp(-np.logaddexp(0.0, v))
    below = np.maximum(turn - v, 0.0)
    left = (cut - turn_size) * np.exp(-below)
    value = np.log1p(np.exp(-turn)) + cut * below - (cut - turn_size - left)
    bent = v < turn
    return (
        np.where(bent, cut - left, p),
        np.where(bent, left, p * (1 - p)),
        np.where(bent, value, np.logaddexp(0.0, -v)),
    )


def loss_sums(X, y, prep, loss, coef, weights=1.0):
    """Gradient, Hessian and value of the summed loss over rows without faults, each times its weight."""
    constant = np.full((len(X), int(prep.geometry.intercept > 0)), prep.geometry.intercept)
    rows = np.hstack([bounded_rows(X, prep), constant])
    residual, weight, value = loss_curve(loss, rows @ coef, bounded_targets(y, prep))
    residual, weight, value = residual * weights, weight * weights, value * weights
    return rows.T @ residual, (rows * weight[:, None]).T @ rows, value.sum()


def sigmoid_of_minus(v):
    """1 / (1 + e^v) by the kernels' own sequence: every operation rounds once, to single precision."""
    single = np.float32
    z = np.clip(v.astype(single) * single(1.442695), single(-58), single(58))
    k = (z + single(12582912)) - single(12582912)
    r = z - k
    s = r * r
    power = single(0.0013264723) * r + single(0.009671513)
    power = power * s + (single(0.05550734) * r + single(0.24022242))
    power = power * s + (single(0.69314697) * r + single(1))
    return (single(1) / (single(1) + np.ldexp(power, k.astype(int)))).astype(np.float64)


def gridded_rows(X, prep):
    """Bounded rows in grid units, constant last; rows that are not finite as zeros."""
    d, geometry = prep.geometry.d, prep.geometry
    rows = []
    for x in np.asarray(X, dtype=np.float64):
        finite = np.isfinite(x).all()
        units = snapped_row(x, prep) if finite else [0] * d
        if finite and geometry.half_width is None and any(np.rint(x * UNITS) != units):
            largest = np.abs(x).max()
            v = x / largest
            shrunk = (UNITS - 0.5 * np.sqrt(d)) * (1 - 2.0**-40)
            units = np.rint(x * (shrunk / np.sqrt(np.cumsum(v * v)[-1]) / largest))
        rows.append([float(k) for k in units] + ([geometry.intercept * UNITS] if geometry.intercept else []))
    return np.array(rows), np.isfinite(np.asarray(X, dtype=np.float64)).all(axis=1)


def root_multiplier(weight):
    """The largest multiple A of 2^11 with (A / 2^30)^2 at most the weight, a whole number of 2^-30."""
    return math.isqrt(int(weight * 2**30) * 2**30) >> 11 << 11


def column_moments(X, y, prep, weights=None, counted=False):
    """Sums of the columns, of their squares, then, if counted, of records, in units of 2^-40, as Python integers.

    The rows are sound.

    Of rows with weights: what they add to second moments, a constant of 1 among the columns.
    """
    rows, counts = gridded_rows(X, prep)
    assert counts.all()
    features = rows[:, : prep.geometry.d]
    sums, squares = [0] * prep.geometry.d, [0] * prep.geometry.d
    for row, weight in zip(features, [1] * len(X) if weights is None else weights, strict=True):
        multiplier = root_multiplier(weight)
        for j, k in enumerate(row):
            k = (abs(int(k)) * multiplier >> 30) * (1 if k > 0 else -1)
            sums[j] += k * (2**20 * multiplier >> 30)
            squares[j] += k**2
    multipliers = [root_multiplier(weight) for weight in ([1] * len(X) if weights is None else weights)]
    return sums + squares + [sum((2**20 * multiplier >> 30) ** 2 for multiplier in multipliers)] * counted


def score_moments(X, y, prep, coef, clip, weights=None):
    """Upper triangle of H, and U in the last column, in units of 2^-40, as Python integers; `coef` on the grid."""
    weights = np.ones(len(X)) if weights is None else weights
    one = int(UNITS / 2.0 ** np.ceil(np.log2(clip)))
    rows, counts = gridded_rows(X, prep)
    signs = 1 * (np.asarray(y) == prep.labels[1]) - (np.asarray(y) == prep.labels[0])
    margins = (rows @ (coef * UNITS)) / 2.0**40 * signs
    norms = np.sqrt((rows * rows).sum(axis=1))
    cap = clip * one * np.divide(UNITS * (1 - 2.0**-50), norms, out=np.zeros(len(rows)), where=norms > 0)
    sizes = np.floor(np.minimum(sigmoid_of_minus(margins) * one, cap)) * counts * (signs != 0)
    multipliers = [math.isqrt(int(p) * (one - int(p)) * 2**60 // one**2) for p in sizes]
    multipliers = [a * root_multiplier(weight) >> 30 for a, weight in zip(multipliers, weights, strict=True)]
    out = moments(X, y, prep, multipliers)
    out[:, -1] = 0
    sizes = np.floor(sizes * weights)
    for p, sign, row in zip(sizes, signs, rows, strict=True):
        out[:-1, -1] += [int(p) * int(sign) * int(k) * (UNITS // one) for k in row]
    return out


def clipped_gradient(X, y, prep, loss, coef, clip, weights=1.0):
    """Sum of clipped gradients, each times its weight, in the query's units, as Python integers; `coef` on the grid."""
    per_unit = UNITS / 2.0 ** np.ceil(np.log2(clip))
    rows, counts = gridded_rows(X, prep)
    margins = (rows @ (coef * UNITS)) / 2.0**40
    norms = np.sqrt((rows * rows).sum(axis=1))
    inverse = np.divide(UNITS * (1 - 2.0**-50), norms, out=np.zeros(len(rows)), where=norms > 0)
    y = np.asarray(y, dtype=np.float64)
    if loss.classification:
        signs = 1.0 * (y == prep.labels[1]) - (y == prep.labels[0])
        v, away, counts = np.where(signs < 0, -margins, margins), -signs, counts & (signs != 0)
        if loss.knots is not None:
            _, part, left, change = piece_at(loss.knots, v)
            slope = left + part * change
            size, away = np.abs(slope), signs * slope
        elif loss.name == "logistic":
            size = sigmoid_of_minus(v)
        else:
            size = np.clip(((1.0 - v) + loss.width) * (0.5 / loss.width), 0.0, 1.0)
    else:
        d, counts = prep.geometry.d, counts & np.isfinite(y)
        units = (np.where(np.isfinite(y), y, 0.0) - prep.shift[d]) * prep.scale[d]
        target = np.rint(np.clip(units, prep.low[d], prep.high[d])) / UNITS
        away = margins - target
        if loss.knots is not None:
            _, part, left, change = piece_at(loss.knots, margins if loss.knots.form == "family" else away)
            away = (left + part * change) - target * (loss.knots.form == "family")
        size = np.minimum(np.abs(away), loss.width) if loss.width and loss.knots is None else np.abs(away)
    residual = np.floor(np.minimum(size * per_unit, (clip * per_unit) * inverse))
    residual = np.copysign(np.floor(residual * weights), away) * counts
    total = np.zeros(rows.shape[1], dtype=object)
    for r, row in zip(residual, rows, strict=True):
        total += [int(r) * int(k) for k in row]
    return total


ODD = 0x9E3779B97F4A7C15


def hash_of_integer(value):
    """The 64 bits that stand for an integer in a hash table, as a signed integer."""
    x = value % 2**64
    x = (x ^ x >> 32) * ODD % 2**64
    x = (x ^ x >> 29) * ODD % 2**64
    x ^= x >> 32
    return x - (x >> 63 << 64)


def hash_of_text(text):
    """The 64 bits that stand for bytes in a hash table: eight at a time, the last of them filled with 0."""
    found = len(text)
    for start in range(0, len(text), 8):
        found = hash_of_integer(found % 2**64 ^ int.from_bytes(text[start : start + 8].ljust(8, b"\0"), "little"))
    return found


def numbers_of(values):
    """Each value's place among the different ones, in the order in which they appear; their rows and counts."""
    known = {}
    for row, value in enumerate(values):
        known.setdefault(value, []).append(row)
    place = {value: j for j, value in enumerate(known)}
    return (
        [place[value] for value in values],
        [rows[0] for rows in known.values()],
        [len(rows) for rows in known.values()],
    )


def cell_counts(values, shares=None):
    """Sums of shares in the cells of a signed grid: 2^10 in each power of two from 2^-30 to 2^50 (_cells.pyx)."""
    last = 80 << 10
    counts = [0] * (2 * last + 1)
    for k, value in enumerate(values):
        if math.isnan(value):
            continue
        cell = 0
        if abs(value) >= 2.0**50:
            cell = last
        elif abs(value) >= 2.0**-30:
            power = math.frexp(abs(value))[1] - 1
            cell = ((power + 30) << 10) + math.floor((abs(value) / 2.0**power - 1) * 1024) + 1
        counts[last + (cell if value > 0 else -cell)] += 1 if shares is None else int(shares[k])
    return np.array(counts, np.int64)
