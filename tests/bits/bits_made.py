"""Rows made of raw words of PCG64, which NumPy promises to keep, and how what is computed becomes a hash."""

import hashlib
import os

import numpy as np

from dplr._core import cpu_paths
from dplr.bounds.scaling import ball_prep, box_prep


def each_path():
    """The CPU paths of this machine, each one while it is taken."""
    before = os.environ.get("DPLR_ISA")
    try:
        for path in cpu_paths():
            os.environ["DPLR_ISA"] = path
            yield path
    finally:
        os.environ.pop("DPLR_ISA", None)
        if before is not None:
            os.environ["DPLR_ISA"] = before


def unit(size, seed):
    """Multiples of 2^-53 in [0, 1)."""
    return (np.random.PCG64(seed).random_raw(int(np.prod(size))) >> np.uint64(11)).reshape(size) * 2.0**-53


def words(size, seed):
    """int64 numbers of all sizes."""
    return np.random.PCG64(seed).random_raw(size).astype(np.uint64).view(np.int64)


def made(kind, n, d, *, labels=True, seed=1):
    """X, y and the map of rows in the ball or the box, of which some lie outside."""
    X = 3.0 * unit((n, d), seed) - 1.5
    y = unit(n, seed + 1)
    y = np.where(y < 0.4, 1.0, 0.0) if labels else 4.0 * y - 2.0
    pair, target = ((0.0, 1.0), None) if labels else (None, (-1.5, 1.5))
    if kind == "ball":
        return X, y, ball_prep(d, True, pair, target)
    return X, y, box_prep([(-1.25, 1.0 + 0.125 * j) for j in range(d)], True, pair, target)


def digest(*parts):
    """Of arrays, whole numbers, texts and bytes: in little-endian order, with types and shapes."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            plain = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("<"))
            found.update(f"{plain.dtype.str}{plain.shape}".encode() + plain.tobytes())
        else:
            found.update(f"{part!r};".encode())
    return found.hexdigest()
