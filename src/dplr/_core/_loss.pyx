"""Sums of a loss's gradient, Hessian and value over bounded rows: groups, compensation, and the call from Python.

Rows go through one CPU path in groups of GROUP_ROWS, summed plainly; groups and chunks of CHUNK_ROWS are added with
compensation. Chunks are merged in order, so that threads, which take whole chunks, change no bit. `loss.md` bounds the
rounding error.
"""
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy, memset

from dplr._core._dense cimport add_exactly, add_pair
from dplr._core._knots cimport Knots
from dplr._core._loss_rows cimport add_loss_portably, settle_rows, sigmoid, softplus
from dplr._core._row_map cimport RowMap, tiles_of
from dplr._core._targets cimport load_targets, sign_labels_portably
from dplr._core._tiles cimport (
    GRID, GROUP_ROWS, HUBER_RESIDUAL, HUBER_SVM, KNOTTED, LOGISTIC, MOST_BLOCK_ROWS, PACK_ROWS, SOFT_HUBER,
    SOFT_LOGISTIC, SQUARED, STRIDE, LossPass, LossShape, LossWork, Tiles, floating, gram_stride, number,
    whole_vectors)
from dplr._core._weights cimport check_weights

CHUNK_ROWS = 8192
cdef Py_ssize_t _CHUNK_ROWS = CHUNK_ROWS
KINDS = {
    "logistic": LOGISTIC, "huber_svm": HUBER_SVM, "squared": SQUARED, "huber_residual": HUBER_RESIDUAL,
    "soft_logistic": SOFT_LOGISTIC, "soft_huber": SOFT_HUBER}
# Widths of the soft losses: far from where squares of them are no longer normal numbers.
SOFT_WIDTHS = {"soft_logistic": (2.0**-100, 1.0), "soft_huber": (2.0**-100, 2.0**100)}


@lru_cache
def turn_of(double cut):
    """The turn of the soft logistic loss, its squared slope there, and its constant below it, each rounded once."""
    if cut == 1:
        return -np.inf, 1.0, 0.0
    with localcontext(Context(prec=80, traps=[])):
        c = Decimal(cut)
        root = (1 - c).sqrt()
        size = c / (1 + root)   # 1 - root
        turn = (root / size).ln()
        return float(turn), float(size * size), float(c * turn - (1 - c).ln() / 2 - (c - size))


cdef LossShape loss_shape(kernel, double width) except *:
    """The constants of a loss, by its name or its knots, which the caller keeps alive.

    ValueError for a width that no proof covers.
    """
    cdef LossShape shape
    memset(&shape, 0, sizeof(shape))
    shape.width = width
    if isinstance(kernel, Knots):
        shape.kind, shape.knots = KNOTTED, (<Knots> kernel).shape
        return shape
    shape.kind = KINDS[kernel]
    if kernel in SOFT_WIDTHS:
        least, largest = SOFT_WIDTHS[kernel]
        if not least <= width <= largest:
            raise ValueError(f"width must be between {least:.3g} and {largest:.3g} with the loss {kernel}")
    if shape.kind == SOFT_LOGISTIC:
        shape.turn, shape.square, shape.offset = turn_of(width)
    return shape


cdef void merge(const Sums *part, Py_ssize_t q, Sums *out) noexcept nogil:
    """Add the sums of a chunk."""
    cdef Py_ssize_t j
    for j in range(q + 1):
        add_pair(&out.hi[j], &out.lo[j], part.hi[j], part.lo[j])
    if out.hessian != NULL:
        for j in range(q * q):
            out.hessian[j] += part.hessian[j]


cdef double *carve(double **place, Py_ssize_t n) noexcept nogil:
    """Cut n doubles, in whole cache lines, from the front of a buffer."""
    cdef double *begin = place[0]
    place[0] += whole_vectors(n)
    return begin


def _attach_rows(LossRows self, const floating[:, :] X):
    cdef const char *data = <const char *> &X[0, 0] if X.shape[0] else NULL
    self.base.X.data = data
    self.base.X.n, self.base.X.d = X.shape[0], X.shape[1]
    self.base.X.row_stride, self.base.X.column_stride = X.strides[0], X.strides[1]
    self.base.X.single = sizeof(floating) == sizeof(float)


def _attach_targets(LossRows self, const number[:] y):
    self.targets.data = <const char *> &y[0] if y.shape[0] else NULL
    self.targets.stride = y.strides[0]
    self.targets.kind = 0 if number is double else 1 if number is int64_t else 2


cdef class LossRows:
    """Rows and targets of one array with the scratch of one thread. Any strides; y float64, int64 or bytes.

    Parameters
    ----------
    X, y : (n, d) float64 or float32, and (n,). Referenced, not copied.
    row_map : the map from raw rows to scaled rows.
    weights : (n,) from 0 to 1, by which a row's residual, second derivative and loss are multiplied; None for ones.
        Referenced where they lie side by side.
    """

    def __init__(self, X, y, RowMap row_map not None, weights=None):
        cdef const Tiles *tiles = row_map.tiles
        cdef const double[::1] factors
        cdef Py_ssize_t d
        _attach_rows(self, X)
        _attach_targets(self, y)
        d = self.base.X.d
        if d != row_map.d or len(y) != self.base.X.n:
            raise ValueError("X must have the columns of the map, and y one entry for each row")
        self.n, self.q = self.base.X.n, d + (row_map.intercept > 0)
        self.row_map, self.owners = row_map, [X, y]
        if weights is not None:
            factors = np.ascontiguousarray(weights)
            check_weights(factors, self.n)
            self.targets.weights = &factors[0] if self.n else NULL
            self.owners.append(factors)
        self.base.map, self.base.intercept = row_map.map, row_map.intercept
        self.base.edge = 1.0 - (d + 8) * 2.0**-52
        self.base.far = (1.0 + 0.5 * <double> d**0.5 / GRID) ** 2
        self.base.settle = settle_rows
        self.add_rows = add_loss_portably if tiles == NULL else tiles.add_loss
        self.targets.sign_labels = sign_labels_portably if tiles == NULL else tiles.sign_labels
        self.gram_stride = (self.q + 1) & ~<Py_ssize_t> 1 if tiles == NULL else gram_stride(self.q)
        self._allocate()

    def _allocate(self):
        cdef Py_ssize_t q = self.q, stride = whole_vectors(self.base.X.d + 1)
        cdef Py_ssize_t columns = whole_vectors(self.gram_stride * STRIDE), gram = whole_vectors(self.gram_stride**2)
        cdef Py_ssize_t doubles = (
            8 + 2 * (GROUP_ROWS + 8) + (MOST_BLOCK_ROWS + 3) * stride + 4 * PACK_ROWS + columns + gram + 8
            + 2 * whole_vectors(q + 1) + whole_vectors(q * q))
        cdef Py_ssize_t i
        cdef double *place
        self.memory = np.zeros(doubles)
        self.seen = np.zeros(self.base.X.d + 3, np.int64)
        place = <double *> ((<uintptr_t> &self.memory[0] + 63) & ~<uintptr_t> 63)
        self.coef = carve(&place, stride)
        self.work.target = carve(&place, GROUP_ROWS + 8)
        self.work.weight = carve(&place, GROUP_ROWS + 8)
        for i in range(GROUP_ROWS + 8):
            self.work.weight[i] = 1.0
        self.work.stride = stride
        self.work.block = carve(&place, MOST_BLOCK_ROWS * stride)
        self.work.live = carve(&place, PACK_ROWS)
        self.work.residual = carve(&place, PACK_ROWS)
        self.work.root = carve(&place, PACK_ROWS)
        self.work.constant = carve(&place, PACK_ROWS)
        self.work.partial = carve(&place, stride)
        self.work.gradient = carve(&place, stride)
        self.work.columns = carve(&place, columns)
        self.work.gram = carve(&place, gram)
        self.work.sums = carve(&place, 8)
        self.chunk.hi = carve(&place, q + 1)
        self.chunk.lo = carve(&place, q + 1)
        self.chunk.hessian = carve(&place, q * q)
        self.work.faults = &self.seen[0]
        self.work.outside = &self.seen[2]

    cdef void sum_chunk(self, const LossPass *p, Py_ssize_t start, Py_ssize_t rows) noexcept nogil:
        """Sums of rows [start, start + rows) into `chunk`."""
        cdef LossWork *work = &self.work
        cdef Py_ssize_t q = self.q, d = p.X.d, group, first, n, i, j
        work.sums[2] = 0.0
        memset(self.chunk.hi, 0, (q + 1) * sizeof(double))
        memset(self.chunk.lo, 0, (q + 1) * sizeof(double))
        if p.hessian:
            memset(work.gram, 0, self.gram_stride * self.gram_stride * sizeof(double))
        for group in range((rows + GROUP_ROWS - 1) // GROUP_ROWS):
            first = group * GROUP_ROWS
            n = min(GROUP_ROWS, rows - first)
            memset(work.gradient, 0, work.stride * sizeof(double))
            work.sums[0] = work.sums[1] = 0.0
            load_targets(&self.targets, p, start + first, n, work)
            self.add_rows(p, start + first, n, work)
            for j in range(d):
                add_exactly(&self.chunk.hi[j], &self.chunk.lo[j], work.gradient[j])
            if p.intercept > 0:
                add_exactly(&self.chunk.hi[d], &self.chunk.lo[d], work.sums[0] * p.intercept)
            if p.loss:
                add_exactly(&self.chunk.hi[q], &self.chunk.lo[q], work.sums[1])
        if p.hessian:
            for i in range(q):
                memcpy(
                    self.chunk.hessian + i * q + i, work.gram + i * self.gram_stride + i, (q - i) * sizeof(double))

    cdef void sum_rows(self, const LossPass *p, const double *coef, Py_ssize_t n, Sums *out) noexcept nogil:
        """Add the sums over the first n rows at `coef`, chunk by chunk."""
        cdef Py_ssize_t chunk, start
        self.beyond = False
        memcpy(self.coef, coef, self.q * sizeof(double))
        for chunk in range((n + _CHUNK_ROWS - 1) // _CHUNK_ROWS):
            start = chunk * _CHUNK_ROWS
            self.sum_chunk(p, start, min(_CHUNK_ROWS, n - start))
            merge(&self.chunk, self.q, out)
            self.beyond |= self.work.sums[2] > 0

    def add(
        self, kernel, double width, const double[::1] coef, bint loss, bint count_outside, double[::1] hi,
        double[::1] lo, double[:, ::1] hessian, int64_t[::1] faults, int64_t[::1] outside,
    ):
        """Add the sums over all rows at `coef` (q,) to hi + lo, (q + 1,) with the loss last, and to `hessian`.

        Later passes over the same object need no norms where this one found every row in the ball.

        kernel : the loss's name, or its `Knots`.

        hessian : (q, q), upper triangle only; (0, 0) when it is not wanted.
        faults, outside : counted as in `add_moments`.
        """
        cdef LossPass p = self.base
        cdef Py_ssize_t q = self.q, j
        cdef Sums out
        if coef.shape[0] != q or hi.shape[0] != q + 1 or lo.shape[0] != q + 1:
            raise ValueError("coef must have an entry for each column and the intercept, hi and lo one more")
        if faults.shape[0] != 2 or outside.shape[0] != p.X.d + 1 or hessian.shape[0] not in (0, q):
            raise ValueError("shapes of hessian, faults and outside do not fit")
        if hessian.shape[1] != hessian.shape[0]:
            raise ValueError("hessian must be square")
        p.shape = loss_shape(kernel, width)
        p.hessian, p.loss, p.count_outside = hessian.shape[0] > 0, loss, count_outside
        p.coef = self.coef
        out = Sums(&hi[0], &lo[0], NULL)
        if p.hessian:
            out.hessian = &hessian[0, 0]
        self.seen[:] = 0
        with nogil:
            self.sum_rows(&p, &coef[0], self.n, &out)
        self.base.inside = not p.map.box and not self.beyond
        for j in range(2):
            faults[j] += self.seen[j]
        for j in range(p.X.d + 1):
            outside[j] += self.seen[2 + j]


def curves(const double[::1] z, const char *path):
    """1 / (1 + e^-z) and log(1 + e^z) as a CPU path computes them; for tests."""
    cdef const Tiles *tiles = tiles_of(path)
    cdef double[::1] whole = np.zeros(whole_vectors(z.shape[0]) + 8)
    cdef double[::1] sigmoids = np.zeros_like(whole), soft = np.zeros_like(whole)
    cdef Py_ssize_t i, n = z.shape[0]
    whole[:n] = z
    if tiles == NULL:
        for i in range(n):
            sigmoids[i], soft[i] = sigmoid(z[i]), softplus(z[i])
    else:
        tiles.sigmoids(&whole[0], whole_vectors(n), &sigmoids[0])
        tiles.softplus(&whole[0], whole_vectors(n), &soft[0])
    return np.asarray(sigmoids)[:n], np.asarray(soft)[:n]
