"""Gradients and minima in sixty digits."""

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def slope_of(loss, m, y):
    """dl/dm at the margin m."""
    width = mp.mpf(loss.width)
    if loss.knots is not None:
        return knotted_slope(loss.knots, m, y)
    if loss.name == "logistic":
        return -y / (1 + mp.exp(y * m))
    if loss.name == "huber_svm":
        return -y * min(mp.mpf(1), max(mp.mpf(0), (1 - y * m + width) / (2 * width)))
    if loss.name == "squared":
        return m - y
    if loss.name == "huber_residual":
        return max(-width, min(width, m - y))
    if loss.name == "soft_logistic":
        end = 1 - mp.sqrt(1 - width)
        turn, v = mp.log((1 - end) / end), y * m
        return -y / (1 + mp.exp(v)) if v >= turn else -y * (width - (width - end) * mp.exp(v - turn))
    return mp.sign(m - y) * width * -mp.expm1(-abs(m - y) / width)


def knotted_slope(knots, m, y):
    """The same for a loss with knots."""
    values = knots.values.tolist()
    place = {"margin": y * m, "residual": m - y, "family": m}[knots.form]
    u = min(max(place * knots.per_unit - knots.first, mp.mpf(0)), mp.mpf(len(values) - 1))
    k = min(int(mp.floor(u)), len(values) - 2)
    slope = values[k] + (u - k) * (mp.mpf(values[k + 1]) - mp.mpf(values[k]))
    return {"margin": y * slope, "residual": slope, "family": slope - y}[knots.form]


def bounded_rows(X, prep):
    """The rows of the scaled problem: clamped to the box, or shortened to the ball."""
    d = prep.geometry.d
    if prep.geometry.half_width is not None:
        shift, scale, low, high = (np.asarray(part)[:d] for part in (prep.shift, prep.scale, prep.low, prep.high))
        units = np.clip((np.asarray(X, np.float64) - shift) * scale, low, high)
        rows = [[mp.mpf(v) / 2**20 for v in row] for row in units.tolist()]
    else:
        edge = 1 - (d + 8) * mp.mpf(2) ** -52
        rows = [[*map(mp.mpf, row)] for row in np.asarray(X, np.float64).tolist()]
        factors = [min(mp.mpf(1), edge / norm) if (norm := mp.norm(row)) else 1 for row in rows]
        rows = [[factor * v for v in row] for factor, row in zip(factors, rows, strict=True)]
    constant = [mp.mpf(prep.geometry.intercept)] if prep.geometry.intercept else []
    return [row + constant for row in rows]


def gradient_of(X, y, prep, loss, high, low, counts=None):
    """The summed loss's gradient at high + low; each row times its entry of `counts`."""
    signs = [2 * v - 1 if loss.classification else mp.mpf(v) for v in np.asarray(y, float).tolist()]
    coef = [mp.mpf(a) + mp.mpf(b) for a, b in zip(high, low, strict=True)]
    out = [mp.mpf(0)] * len(coef)
    for k, (row, sign) in enumerate(zip(bounded_rows(X, prep), signs, strict=True)):
        slope = slope_of(loss, mp.fdot(row, coef), sign) * (1 if counts is None else mp.mpf(float(counts[k])))
        out = [a + slope * b for a, b in zip(out, row, strict=True)]
    return out


def distance_to_minimum(X, y, counts, prep, objective, coef):
    """||coef - minimum|| for the logistic loss, by Newton's method from there."""
    point, rows = [*map(mp.mpf, coef.tolist())], bounded_rows(X, prep)
    center, linear = ([*map(mp.mpf, vector.tolist())] for vector in (objective.center, objective.linear))
    ridge, q = mp.mpf(objective.ridge), len(coef)
    for _ in range(60):
        gradient = gradient_of(X, y, prep, objective.loss, point, [0] * q, counts)
        gradient = mp.matrix(
            [g + ridge * (p - c) + b for g, p, c, b in zip(gradient, point, center, linear, strict=True)]
        )
        hessian = ridge * mp.eye(q)
        for row, count in zip(rows, counts.tolist(), strict=True):
            p = 1 / (1 + mp.exp(mp.fdot(row, point)))
            hessian += count * p * (1 - p) * mp.matrix(row) * mp.matrix(row).T
        step = mp.lu_solve(hessian, gradient)
        point = [p - s for p, s in zip(point, step, strict=True)]
        if mp.norm(step) < mp.mpf(10) ** -45 * (1 + mp.norm(point)):
            return float(mp.norm([p - mp.mpf(c) for p, c in zip(point, coef.tolist(), strict=True)]))
    raise ArithmeticError("Newton's method in sixty digits did not converge")
