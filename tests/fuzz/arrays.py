"""Arrays of every kind into fit and predict: refused in a sentence, or equal in every bit to their plain copy."""

import warnings

import numpy as np
from tests.fuzz.laws import REFUSED, attempt, nothing_drawn_when_refused, require

import dplr

NUMBERS = [0, 1, -1, 2, 0.5, -0.5, 1e-300, 5e-324, 1e300, -1e308, 2**31, 2**53 + 1, 2**62, 7, 100, 0.1]
STRANGE = [float("nan"), float("inf"), float("-inf"), -0.0]
OBJECTS = [None, "a", "1", b"1", True, 2**70, 10**400, 1 + 1j, [1], (), {}, np.float32(1.5), float("nan"), object]
TYPES = [
    "f8",
    "f4",
    "f2",
    ">f8",
    ">f4",
    "g",
    "i1",
    "i2",
    "i4",
    "i8",
    ">i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "?",
    "O",
    "c8",
    "U3",
    "S2",
    "M8[s]",
    "m8[s]",
    "V8",
]
PLAIN = ["f8", "f8", "f4", "i8", "?", ">f8"]


class Named(np.ndarray):
    """A subclass that changes nothing."""


class Door:
    KNOWN = ()

    def __init__(self, folder):
        self.folder = folder

    def attack(self, rng):
        n, d = rng.choice([0, 1, 2, 3, 5, 8, 12]), rng.choice([0, 1, 1, 2, 2, 3, 5])
        kind = rng.choice(TYPES if rng.random() < 0.4 else PLAIN)
        X = laid_out(values((n, d), kind, rng), rng)
        y = labels(n, rng)
        bounds = None if rng.random() < 0.3 else dplr.Bounds([(-1, 1)] * max(d, 1), target=(0, 1))
        model = rng.choice(["logistic", "logistic", "linear", "svm"])
        options = {"eps": 1.0, "mechanism": "fm", "bounds": bounds, "model": model}
        with warnings.catch_warnings(action="ignore"), nothing_drawn_when_refused() as draws:
            seed = rng.randrange(2**31)
            outcome, est = attempt(lambda: dplr.fit(X, y, rng=seed, **options))
            if outcome == REFUSED:
                require(not draws, "noise was drawn, and then the rows were refused")
                return outcome
            same_as_plain(est, X, y, seed, options)
        return outcome


def same_as_plain(est, X, y, seed, options):
    """The fit of a float64 copy has the same bits, and so have its predictions."""
    try:
        plain, target = np.array(X, dtype=np.float64), np.array(y)
    except (TypeError, ValueError) as error:
        require(False, f"accepted rows that have no float64 copy: {error}")
    outcome, other = attempt(lambda: dplr.fit(plain, target, rng=seed, **options))
    require(outcome != REFUSED, "accepted rows whose plain copy is refused")
    require(
        np.array_equal(est.coef_, other.coef_) and np.array_equal(est.intercept_, other.intercept_),
        "a fit has other bits than that of the plain copy",
    )
    outcome, predicted = attempt(lambda: est.predict(X))
    require(outcome != REFUSED, "rows of a fit are refused by predict")
    require(np.array_equal(predicted, est.predict(plain)), "predictions differ from those of the plain copy")


def values(shape, kind, rng):
    """Numbers of a type, a few of them strange."""
    size = int(np.prod(shape))
    some = [rng.choice(NUMBERS) if rng.random() < 0.3 else rng.uniform(-1, 1) for _ in range(size)]
    if rng.random() < 0.15:
        for place in range(size):
            if rng.random() < 0.2:
                some[place] = rng.choice(OBJECTS if kind == "O" else STRANGE)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        filled = np.empty(size, dtype=object)
        filled[:] = some
        if kind == "O":
            return filled.reshape(shape)
        try:
            return np.array([float(v) for v in some]).astype(kind).reshape(shape)
        except (TypeError, ValueError, OverflowError):
            return np.zeros(shape, dtype=kind)


def laid_out(X, rng):
    """The same numbers in another layout, subclass or container."""
    layout = rng.choice(
        [
            "C",
            "C",
            "F",
            "strided",
            "reversed",
            "read-only",
            "unaligned",
            "transposed",
            "broadcast",
            "subclass",
            "masked",
            "matrix",
            "list",
            "ragged",
            "tuple",
            "flat",
            "deep",
            "nothing",
        ]
    )
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        big = np.zeros((X.shape[0] * 2, X.shape[1] * 3), dtype=X.dtype)
        big[::2, ::3] = X
        return big[::2, ::3]
    if layout == "reversed":
        return X[::-1, ::-1]
    if layout == "read-only":
        X.flags.writeable = False
        return X
    if layout == "unaligned" and X.dtype != object:
        raw = np.zeros(X.nbytes + 1, np.uint8)
        moved = raw[1:].view(X.dtype)[: X.size].reshape(X.shape) if X.size else X
        moved[...] = X
        return moved
    if layout == "transposed":
        return np.ascontiguousarray(X.T).T
    if layout == "broadcast" and len(X):
        return np.broadcast_to(X[:1], X.shape)
    if layout == "subclass":
        return X.view(Named)
    if layout == "masked":
        return np.ma.masked_array(X, mask=np.array([rng.random() < 0.1 for _ in range(X.size)]).reshape(X.shape))
    if layout == "matrix":
        return X.view(np.matrix)
    if layout == "list":
        return X.tolist()
    if layout == "ragged":
        return [row[: len(row) - (k % 2)] for k, row in enumerate(X.tolist())]
    if layout == "tuple":
        return tuple(map(tuple, X.tolist()))
    if layout == "flat":
        return X.ravel()
    if layout == "deep":
        return X[None]
    return rng.choice([X, X, X, X, None, 3, "x", b"", {}, iter([]), X.tolist]) if layout == "nothing" else X


def labels(n, rng):
    """Labels or numbers: mostly of the right length."""
    size = n if rng.random() < 0.9 else rng.randrange(n + 3)
    kind = rng.choice(["?", "?", "i8", "i8", "f8", "u1", ">i4", "f4", "O", "U", "list", "column", "strange"])
    some = [rng.randrange(2) for _ in range(size)]
    if kind == "strange":
        return rng.choice(
            [
                None,
                "y",
                3,
                [rng.choice(OBJECTS) for _ in range(size)],
                {},
                np.zeros((size, 2)),
                np.ma.masked_array(some, mask=[k == 0 for k in range(size)]),
            ]
        )
    if kind == "list":
        return some
    if kind == "U":
        return np.array(["no", "yes"])[some] if size else np.array([], dtype="U3")
    if kind == "column":
        return np.array(some).reshape(-1, 1)
    if kind == "f8" and rng.random() < 0.3:
        return np.array([rng.choice([*STRANGE, *NUMBERS[:6]]) for _ in range(size)], dtype=float)
    return np.array(some).astype(kind)
