"""Gradients of many models in one pass over the rows: refits that differ in their linear term or their ridge.

Rows are bounded once and used for all models, in panels of PANEL_MODELS that lie side by side. Sums are rounded no
worse than those of one model.
"""
import numpy as np

from libc.string cimport memset

from dplr._core._dense cimport add_exactly
from dplr._core._loss cimport LossRows, loss_shape
from dplr._core._loss_rows cimport bound_rows, curve
from dplr._core._targets cimport load_targets
from dplr._core._tiles cimport GROUP_ROWS, MOST_BLOCK_ROWS, PANEL_MODELS, LossPass, LossShape, Tiles


cdef void add_losses_portably(
    const LossShape *shape, const double *x, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t q, const double *target,
    const double *factors, const double *coefs, double *margins, double *gradients
) noexcept nogil:
    """Add a panel's gradients. The block is summed by itself: short sums keep the rounding error small."""
    cdef Py_ssize_t i, j, k
    cdef double entry, weight = 0.0, loss = 0.0
    cdef double sums[PANEL_MODELS]
    cdef double *of_row
    for i in range(rows):
        of_row = margins + i * PANEL_MODELS
        memset(of_row, 0, PANEL_MODELS * sizeof(double))
        for j in range(q):
            entry = x[i * stride + j]
            for k in range(PANEL_MODELS):
                of_row[k] += entry * coefs[j * PANEL_MODELS + k]
        for k in range(PANEL_MODELS):
            curve(shape, of_row[k], target[i], &of_row[k], &weight, &loss)
            of_row[k] *= factors[i]
    for j in range(q):
        memset(sums, 0, sizeof(sums))
        for i in range(rows):
            entry = x[i * stride + j]
            for k in range(PANEL_MODELS):
                sums[k] += entry * margins[i * PANEL_MODELS + k]
        for k in range(PANEL_MODELS):
            gradients[j * PANEL_MODELS + k] += sums[k]


def gradients_of_many(LossRows rows, kernel, double width, const double[:, ::1] coefs):
    """Gradients (models, q) of the summed loss at each of `coefs` (models, q); faulty rows count as zero."""
    cdef const Tiles *tiles = rows.row_map.widest
    cdef LossPass p = rows.base
    cdef Py_ssize_t models = coefs.shape[0], q = rows.q, count = (models + PANEL_MODELS - 1) // PANEL_MODELS
    cdef Py_ssize_t size = q * PANEL_MODELS, panel, group, block, start, first, n, m, j
    if coefs.shape[1] != q or models < 1:
        raise ValueError("coefs must have rows, of one entry for each coefficient")
    p.shape = loss_shape(kernel, width)
    packed = np.zeros((count, q, PANEL_MODELS))
    for panel in range(count):
        m = min(PANEL_MODELS, models - panel * PANEL_MODELS)
        packed[panel, :, :m] = np.asarray(coefs[panel * PANEL_MODELS:panel * PANEL_MODELS + m]).T
    cdef double[:, :, ::1] points = packed
    cdef double[:, :, ::1] hi = np.zeros_like(packed), lo = np.zeros_like(packed), sums = np.zeros_like(packed)
    cdef double[::1] margins = np.empty(MOST_BLOCK_ROWS * PANEL_MODELS)
    cdef double *block_rows = rows.work.block
    cdef double *h
    cdef double *l
    cdef double *s
    with nogil:
        for group in range((rows.n + GROUP_ROWS - 1) // GROUP_ROWS):
            start = group * GROUP_ROWS
            n = min(GROUP_ROWS, rows.n - start)
            load_targets(&rows.targets, &p, start, n, &rows.work)
            memset(&sums[0, 0, 0], 0, count * size * sizeof(double))
            for block in range((n + MOST_BLOCK_ROWS - 1) // MOST_BLOCK_ROWS):
                first = block * MOST_BLOCK_ROWS
                m = min(MOST_BLOCK_ROWS, n - first)
                bound_rows(&p, start + first, m, rows.work.target + first, &rows.work)
                for panel in range(count):
                    if tiles == NULL:
                        add_losses_portably(
                            &p.shape, block_rows, rows.work.stride, m, q, rows.work.target + first,
                            rows.work.weight + first, &points[panel, 0, 0], &margins[0], &sums[panel, 0, 0])
                    else:
                        tiles.add_losses(
                            &p.shape, block_rows, rows.work.stride, m, q, rows.work.target + first,
                            rows.work.weight + first, &points[panel, 0, 0], &margins[0], &sums[panel, 0, 0])
            h, l, s = &hi[0, 0, 0], &lo[0, 0, 0], &sums[0, 0, 0]
            for j in range(count * size):
                add_exactly(&h[j], &l[j], s[j])
    result = np.asarray(hi) + np.asarray(lo)
    return np.ascontiguousarray(result.transpose(0, 2, 1).reshape(-1, q)[:models])
