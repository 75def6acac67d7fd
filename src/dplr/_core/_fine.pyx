"""Gradients of a loss in pairs of float64 numbers, for the last steps of a minimisation: see `fine.h` and `loss.md`.

Rows go through in blocks of FINE_ROWS; chunks of CHUNK_ROWS are added in order, so that threads change no bit.
"""
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from libc.math cimport NAN, fabs, frexp, ldexp
from libc.string cimport memset

from dplr._core._dense cimport add_exactly, add_pair
from dplr._core._loss cimport LossRows, loss_shape
from dplr._core._targets cimport load_targets
from dplr._core._tiles cimport FINE_ROWS, GRID, GROUP_ROWS, FineBlock, LossPass, Tiles, add_fine

from dplr._core._loss import CHUNK_ROWS, turn_of

cdef Py_ssize_t _CHUNK_ROWS = CHUNK_ROWS
# Rows with a longer entry are divided by a power of two before they are projected: products of them would overflow.
cdef double _LONG = 2.0**400


@lru_cache
def square_low(double cut):
    """The rounding error of the squared slope at the turn of the soft logistic loss: exact minus rounded."""
    with localcontext(Context(prec=80, traps=[])):
        c = Decimal(cut)
        size = c / (1 + (1 - c).sqrt())
        return float(size * size - Decimal(turn_of(cut)[1]))


cdef bint load_row(const LossPass *p, Py_ssize_t i, double *x) noexcept nogil:
    """Row i into every FINE_ROWS-th place of x: clamped to the box, or up to a factor. Returns whether it is finite."""
    cdef const char *place = p.X.data + i * p.X.row_stride
    cdef Py_ssize_t j
    cdef double v, nothing = 0.0, largest = 0.0
    cdef int power = 0
    for j in range(p.X.d):
        v = (<const float *> place)[0] if p.X.single else (<const double *> place)[0]
        place += p.X.column_stride
        nothing += v - v    # of a NaN or an infinity: NaN
        if p.map.box:
            v = (v - p.map.shift[j]) * p.map.scale[j]
            v = v if v < p.map.high[j] else p.map.high[j]
            v = (v if v > p.map.low[j] else p.map.low[j]) / GRID
        x[j * FINE_ROWS] = v
        largest = fabs(v) if fabs(v) > largest else largest
    if largest > _LONG:
        frexp(largest, &power)
        for j in range(p.X.d):
            x[j * FINE_ROWS] = ldexp(x[j * FINE_ROWS], 1 - power)   # the longest is at least 1
    return nothing == 0.0


cdef void sum_chunk(
    LossRows rows, const LossPass *p, FineBlock *block, Py_ssize_t start, Py_ssize_t n, void (*add)(const FineBlock *)
    noexcept nogil
) noexcept nogil:
    """Sums of n rows from `start` on, each place of a block by itself, into the block's sums."""
    cdef Py_ssize_t d = p.X.d, group, begin, block_number, count, r, j, k
    cdef double *x = <double *> block.x
    cdef double *target = <double *> block.target
    cdef double *weight = <double *> block.weight
    memset(block.sum, 0, (d + 1) * FINE_ROWS * sizeof(double))
    memset(block.rest, 0, (d + 1) * FINE_ROWS * sizeof(double))
    for group in range((n + GROUP_ROWS - 1) // GROUP_ROWS):
        begin = group * GROUP_ROWS
        count = min(GROUP_ROWS, n - begin)
        load_targets(&rows.targets, p, start + begin, count, &rows.work)
        for block_number in range((count + FINE_ROWS - 1) // FINE_ROWS):
            for r in range(FINE_ROWS):
                k = block_number * FINE_ROWS + r
                target[r] = rows.work.target[k] if k < count else 0.0
                weight[r] = rows.work.weight[k] if k < count else 0.0
                if k >= count or target[r] != target[r] or not load_row(p, start + begin + k, x + r):
                    target[r] = NAN
                    for j in range(d):
                        x[j * FINE_ROWS + r] = 0.0
            add(block)


def add_fine_gradient(
    LossRows rows, kernel, double width, const double[::1] high, const double[::1] low, double[::1] hi,
    double[::1] lo,
):
    """Add the gradient of the summed loss at high + low, (q,) each, to hi + lo, of at least q entries.

    Faulty rows count as zero. kernel : the loss's name, or its `Knots`.
    """
    cdef LossPass p = rows.base
    cdef Py_ssize_t q = rows.q, d = p.X.d, chunk, start, j, r
    cdef const Tiles *tiles = rows.row_map.tiles
    cdef FineBlock block
    cdef double total = 0.0, rest = 0.0
    if high.shape[0] != q or low.shape[0] != q or hi.shape[0] < q or lo.shape[0] < q:
        raise ValueError("high, low, hi and lo must have an entry for each column and the intercept")
    cdef double[:, ::1] memory = np.zeros((3 * d + 5, FINE_ROWS))
    cdef double[:, ::1] coef = np.zeros((2, d + 1))
    coef[0, :q], coef[1, :q] = high, low
    block.shape = loss_shape(kernel, width)
    block.square_low = square_low(width) if kernel == "soft_logistic" else 0.0
    block.intercept, block.edge, block.ball, block.d = p.intercept, p.edge, not p.map.box, d
    block.x, block.target = &memory[0, 0], &memory[d, 0]
    block.sum, block.rest = &memory[d + 1, 0], &memory[2 * d + 3, 0]
    block.weight = &memory[3 * d + 4, 0]
    block.high, block.low = &coef[0, 0], &coef[1, 0]
    rows.seen[:] = 0
    with nogil:
        for chunk in range((rows.n + _CHUNK_ROWS - 1) // _CHUNK_ROWS):
            start = chunk * _CHUNK_ROWS
            sum_chunk(rows, &p, &block, start, min(_CHUNK_ROWS, rows.n - start), add_fine if tiles == NULL else
                      tiles.add_fine)
            for j in range(q):
                total, rest = 0.0, 0.0
                for r in range(FINE_ROWS):
                    add_exactly(&total, &rest, block.sum[j * FINE_ROWS + r])
                    rest += block.rest[j * FINE_ROWS + r]
                add_pair(&hi[j], &lo[j], total, rest)
