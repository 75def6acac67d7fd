"""Hashes of sums over rows on every CPU path: whole numbers, pairs of floats, rounded sums, which differ by path."""

import numpy as np
from bits_made import digest, each_path, made, unit

from dplr._core._loss import curves
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, poisson, soft_huber, soft_logistic
from dplr.problem.own_losses import smoothed_hinge
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, ColumnMoments, Moments, on_coef_grid
from dplr.rows.losses import FineGradient, LossGradientHessian
from dplr.rows.scores_at import ScoreMoments
from dplr.rows.weights import RowWeights

SHAPES = [("ball", 700, 1), ("ball", 8200, 6), ("box", 700, 13), ("box", 300, 40)]
LOSSES = {
    "logistic": LOGISTIC, "soft logistic": soft_logistic(0.25), "huber svm": huber_svm(0.5),
    "rounded hinge": smoothed_hinge(0.5), "squared": SQUARED, "huber": huber_residual(0.25),
    "soft huber": soft_huber(0.25), "poisson": poisson(0.0, 8.0),
}  # fmt: skip


def sums():
    """(name, path, hash) of every sum on every CPU path of this machine; names end in @path where paths differ."""
    for path in each_path():
        for name, value in [*_whole(), *_pairs()]:
            yield name, path, value
        if path != "portable":  # its exponentials are those of the platform's C library
            for name, value in _rounded(path):
                yield f"{name} @{path}", path, value


def _point(prep, size=2.0):
    return on_coef_grid(size * (2.0 * unit(prep.geometry.n_coefs, 5) - 1.0))


def _of(total):
    return digest(total.hi, total.lo, total.exponent, *total.faults)


def _weights(n):
    return RowWeights(np.floor(unit(n, 9) * 2.0**30) / 2.0**30, None, n)


def _whole():
    for kind, n, d in SHAPES:
        for labels in (True, False):
            X, y, prep = made(kind, n, d, labels=labels)
            shape = f"{kind} {n}x{d} {'labels' if labels else 'numbers'}"
            for single in (False, True):
                rows = ArrayRows(X.astype(np.float32) if single else np.asfortranarray(X), y, prep)
                yield f"{'float32 ' if single else ''}moments {shape}", _of(rows.total(Moments(d, True)))
            rows = ArrayRows(X, y, prep, weights=_weights(n))
            yield f"weighted moments {shape}", _of(rows.total(Moments(d, True)))
            yield f"columns {shape}", _of(ArrayRows(X, y, prep).total(ColumnMoments(d)))
            for name, loss in LOSSES.items():
                if loss.classification is labels and not name.startswith("soft"):
                    yield (
                        f"clipped {name} {shape}",
                        _of(ArrayRows(X, y, prep).total(ClippedGradient(loss, d, True, 0.3), _point(prep))),
                    )
            if labels:
                query = ScoreMoments(LOGISTIC, d, True, prep.geometry.row_norm)
                yield f"score {shape}", _of(ArrayRows(X, y, prep).total(query, _point(prep)))


def _pairs():
    for kind, n, d in (("ball", 200, 5), ("ball", 77, 40), ("box", 200, 5)):
        for name, loss in LOSSES.items():
            X, y, prep = made(kind, n, d, labels=loss.classification)
            point = _point(prep)
            if name == "logistic" and kind == "ball" and d == 40:
                X = X * 1e150
            total = ArrayRows(X, y, prep).total(FineGradient(loss, d, True), np.array([point, point * 2.0**-55]))
            yield f"gradient in pairs {name} {kind} {n}x{d}", digest(total.hi[:-1], total.lo[:-1])


def _rounded(path):
    for kind, n, d in SHAPES:
        for name, loss in LOSSES.items():
            X, y, prep = made(kind, n, d, labels=loss.classification)
            query = LossGradientHessian(loss, d, True, True)
            total = ArrayRows(X, y, prep).total(query, _point(prep))
            yield f"loss {name} {kind} {n}x{d}", digest(total.hi, total.lo, np.triu(total.upper))
    z = np.sort(80.0 * unit(4096, 3) - 40.0)
    yield "sigmoid and softplus", digest(*curves(z, path.encode()))
