"""NumPy twins of the kernels: slow, short, exact in Python integers."""

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
    return [int(k) for k in np.rint(unit * (shrunk / np.sqrt((unit**2).sum())))]


def snapped_target(y, prep):
    """One raw target in grid units."""
    d = prep.geometry.d
    if prep.labels is not None:
        return {prep.labels[0]: -UNITS, prep.labels[1]: UNITS}[float(y)]
    return int(np.rint(np.clip((y - prep.shift[d]) * prep.scale[d], prep.low[d], prep.high[d])))


def moments(X, y, prep):
    """Second moments of (x, intercept, y) in units of 2^-40, upper triangle, as Python integers."""
    constant = [int(prep.geometry.intercept * UNITS)] if prep.geometry.intercept else []
    q = prep.geometry.d + len(constant) + 1
    out = [[0] * q for _ in range(q)]
    for x, target in zip(X, y, strict=True):
        row = snapped_row(x, prep)
        v = [*row, *constant, snapped_target(target, prep)] if row else [0] * (q - 1 - len(constant)) + constant + [0]
        for i in range(q):
            for j in range(i, q):
                out[i][j] += v[i] * v[j]
    return np.array(out, dtype=object)


def bounded_row(x, prep):
    """One raw feature row in the scaled problem, not snapped; None for a row that holds a NaN or an infinity."""
    d = prep.geometry.d
    x = np.asarray(x, dtype=np.float64)
    if not np.isfinite(x).all():
        return None
    if prep.geometry.half_width is not None:
        with np.errstate(over="ignore"):  # beyond the largest float is beyond the bounds
            return np.clip((x - prep.shift[:d]) * prep.scale[:d], prep.low[:d], prep.high[:d]) / UNITS
    largest = max(np.abs(x).max(initial=0.0), 1.0)
    return x / max(1.0, largest * np.linalg.norm(x / largest))


def bounded_target(y, prep):
    """One raw target as the loss sees it: -1 or 1, or the clipped number."""
    d = prep.geometry.d
    if prep.labels is not None:
        return {prep.labels[0]: -1.0, prep.labels[1]: 1.0}[float(y)]
    return float(np.clip((y - prep.shift[d]) * prep.scale[d], prep.low[d], prep.high[d])) / UNITS


def loss_curve(loss, m, y):
    """dl/dm, d2l/dm2 and l at margins m."""
    v, h = y * m, loss.width
    if loss.kernel == "logistic":
        p = np.exp(-np.logaddexp(0.0, v))
        return -y * p, p * (1 - p), np.logaddexp(0.0, -v)
    if loss.kernel == "huber_svm":
        u = np.clip((1 + h - v) / (2 * h), 0, 1)
        return -y * u, np.where(np.abs(1 - v) <= h, 0.5 / h, 0.0), np.where(v < 1 - h, 1 - v, h * u * u)
    r, h = m - y, np.inf if loss.kernel == "squared" else h
    size = np.abs(r)
    return np.clip(r, -h, h), (size <= h) * 1.0, np.where(size <= h, r * r / 2, h * size - np.square(min(h, 1e9)) / 2)


def loss_sums(X, y, prep, loss, coef):
    """Gradient, Hessian and value of the summed loss over rows without faults."""
    constant = [prep.geometry.intercept] if prep.geometry.intercept else []
    rows = np.array([np.append(bounded_row(x, prep), constant) for x in X])
    residual, weight, value = loss_curve(loss, rows @ coef, np.array([bounded_target(t, prep) for t in y]))
    return rows.T @ residual, (rows * weight[:, None]).T @ rows, value.sum()
