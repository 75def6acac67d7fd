"""Arrays between pages that may not be touched, and kernels run on them: `python tests/helpers/fenced.py PATH KERNEL`.

A read or write past an end kills the process with a signal, and nothing is needed for it that a release build lacks.
What lies in the gaps of an array is NaN.
"""

import ctypes
import mmap
import sys

import numpy as np

from dplr._core import (
    ClippedRows,
    LossRows,
    RowMap,
    add_fine_gradient,
    add_moments,
    gradients_of_many,
    moments_work_size,
)
from made_rows import make_data, make_prep

# Every remainder of a vector, a block and its neighbours, two blocks; columns around fours, tiles and panels.
NUMBERS_OF_ROWS = [*range(1, 10), 15, 16, 17, 127, 128, 129, 135, 259]
NUMBERS_OF_COLUMNS = [1, 2, 3, 4, 5, 6, 7, 9, 16, 22]
LAYOUTS = {
    "rows": lambda n, d, size: (d * size, size),
    "padded rows": lambda n, d, size: ((d + 3) * size, size),
    "columns": lambda n, d, size: (size, n * size),
    "padded columns": lambda n, d, size: (size, (n + 3) * size),
    "strided": lambda n, d, size: (3 * d * size, 3 * size),
    "rows backwards": lambda n, d, size: (-d * size, size),
    "columns backwards": lambda n, d, size: (size, -n * size),
    "both backwards": lambda n, d, size: (-d * size, -size),
}


def protect(address, n_bytes):
    """Forbid to touch whole pages."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(address, n_bytes, 0):
        raise OSError(ctypes.get_errno(), "mprotect failed")


def fenced(array, side, strides=None):
    """A copy of `array` with `strides` in bytes (default: C order) that touches a fence at its "start" or "end"."""
    kind, page = array.dtype, mmap.PAGESIZE
    strides = np.ascontiguousarray(array).strides if strides is None else strides
    reach = [(count - 1) * stride for count, stride in zip(array.shape, strides, strict=True)]
    below, span = -sum(r for r in reach if r < 0), sum(abs(r) for r in reach) + kind.itemsize
    inner = -(-span // page) * page
    memory = mmap.mmap(-1, inner + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect(address, page)
    protect(address + page + inner, page)
    begin = page + (inner - span if side == "end" else 0)
    if kind.kind == "f":
        np.frombuffer(memory, kind, span // kind.itemsize, begin)[:] = np.nan
    view = np.ndarray(array.shape, kind, memory, begin + below, strides)
    view[...] = array
    return view


def targets(y, side):
    """One for each type that the kernel reads, and one backwards."""
    return [fenced(y.astype(kind), side) for kind in (np.float64, np.int64, np.uint8)] + [fenced(y, side, (-8,))]


def row_map_between_fences(path, kind, side, prep):
    constants = [fenced(part, side) for part in (prep.shift, prep.scale, prep.low, prep.high)]
    return RowMap(*constants, kind != "ball", prep.geometry.intercept, (0.0, 1.0), path.encode())


def sum_between_fences(path, kind, side, n, d):
    """One call of the kernel for every layout and type, every array of it at a fence; half of them with weights."""
    prep = make_prep(kind, d, fit_intercept=d % 2 == 0)
    X, y = make_data(kind, n, d)
    q = d + (prep.geometry.intercept > 0) + 1
    way = row_map_between_fences(path, kind, side, prep)
    scratch = fenced(np.empty(moments_work_size(d)), side)
    sums = [fenced(np.zeros(shape, np.int64), side) for shape in ((q, q), (q, q), 2, d + 1)]
    ys, weights = targets(y, side), fenced(np.linspace(0, 1, n), side)
    for count, (name, strides) in enumerate(LAYOUTS.items()):
        for real in (np.float64, np.float32):
            rows = fenced(X.astype(real), side, strides(n, d, np.dtype(real).itemsize))
            print(f"{kind}, {n} x {d}, {name}, {np.dtype(real).name}, fence at the {side}", flush=True)
            add_moments(rows, ys[count % 4], way, scratch, *sums, None, weights if count % 2 else None)


def clip_between_fences(path, kind, side, n, d):
    """The same for clipped gradients, which read rows in place: all rows, chosen rows and several models."""
    prep = make_prep(kind, d, fit_intercept=d % 2 == 0)
    X, y = make_data(kind, n, d)
    q, unit = d + (prep.geometry.intercept > 0), 2.0**20
    way = row_map_between_fences(path, kind, side, prep)
    coef, coefs = fenced(np.arange(q) * 1.0, side), fenced(np.ones((33, q)), side)
    ones = fenced(np.full(33, unit), side)
    index = fenced(np.arange(n)[::-1] // 2, side)
    sums = [fenced(np.zeros(shape, np.int64), side) for shape in (q, q, (33, q), (33, q))]
    weights = fenced(np.linspace(0, 1, n), side)
    for count, (name, strides) in enumerate(LAYOUTS.items()):
        for real in (np.float64, np.float32):
            rows = fenced(X.astype(real), side, strides(n, d, np.dtype(real).itemsize))
            print(f"clipped {kind}, {n} x {d}, {name}, {np.dtype(real).name}, fence at the {side}", flush=True)
            known = ClippedRows(rows, fenced(y, side), way, weights if count % 3 else None)
            for chosen in (None, index):
                known.add("logistic", 0.0, coef, unit, unit, 0, n, chosen, *sums[:2])
                known.add_many("logistic", 0.0, coefs, ones, ones, 0, n, chosen, *sums[2:])


def loss_between_fences(path, kind, side, n, d):
    """The same for losses of rows with weights: gradient and Hessian, pairs of numbers, and several models."""
    prep = make_prep(kind, d, fit_intercept=d % 2 == 0)
    X, y = make_data(kind, n, d)
    q, way = d + (prep.geometry.intercept > 0), row_map_between_fences(path, kind, side, prep)
    coef, coefs = fenced(np.ones(q), side), fenced(np.ones((3, q)), side)
    sums = [fenced(np.zeros(shape), side) for shape in (q + 1, q + 1, (q, q))]
    counts = [fenced(np.zeros(size, np.int64), side) for size in (2, d + 1)]
    ys, weights = targets(y, side), fenced(np.linspace(0, 1, n), side)
    for count, (name, strides) in enumerate(LAYOUTS.items()):
        for real in (np.float64, np.float32):
            rows = fenced(X.astype(real), side, strides(n, d, np.dtype(real).itemsize))
            print(f"loss {kind}, {n} x {d}, {name}, {np.dtype(real).name}, fence at the {side}", flush=True)
            known = LossRows(rows, ys[count % 4], way, weights)
            known.add("logistic", 0.0, coef, True, True, *sums, *counts)
            add_fine_gradient(known, "logistic", 0.0, coef, coef, *sums[:2])
            gradients_of_many(known, "logistic", 0.0, coefs)


KERNELS = {"moments": sum_between_fences, "clipped": clip_between_fences, "loss": loss_between_fences}

if __name__ == "__main__":
    for kind in ("ball", "cube"):
        for side in ("start", "end"):
            for n in NUMBERS_OF_ROWS:
                for d in NUMBERS_OF_COLUMNS:
                    KERNELS[sys.argv[2]](sys.argv[1], kind, side, n, d)
