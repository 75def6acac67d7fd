"""Exact second moments of bounded rows: snap a block, add its Gram matrix, flush to integers.

Blocks of rows go through one of several CPU paths with the same bits: "portable" is Cython (`_snap`, `_gram`), the
others are the C kernels of `tiles.h`. What is odd in a block is settled by `_snap` on every path.
"""
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

from dplr._core._gram cimport add_column_sums, add_gram
from dplr._core._limbs cimport add_limbs
from dplr._core._row_map cimport RowMap
from dplr._core._snap cimport count_outside, settle_odd_rows, snap_block
from dplr._core._tiles cimport (
    FLUSH_ROWS, GRID, PACK_ROWS, PIECE_BYTES, STRIDE, Ahead, Map, Rows, Tiles, floating, gram_stride, number,
    prefetch_bytes, whole_vectors)

cdef struct Work:
    # Scratch of one thread, cut from one buffer.
    double *columns
    double *target
    double *gram
    double *sums
    double *squared_norm
    double *excess
    double *labels


cdef Py_ssize_t even(Py_ssize_t n_columns) noexcept nogil:
    """The portable Gram kernel takes columns in pairs."""
    return (n_columns + 1) & ~<Py_ssize_t> 1


cpdef Py_ssize_t moments_work_size(Py_ssize_t d) noexcept nogil:
    """Doubles of scratch that `add_moments` needs for d features."""
    cdef Py_ssize_t stride = gram_stride(d + 1)
    return 8 + even(d + 1) * STRIDE + stride * stride + stride + 3 * PACK_ROWS


cdef Work cut(double *buffer, Py_ssize_t d) noexcept nogil:
    """Cut and clear the scratch; columns begin on a cache line."""
    cdef Py_ssize_t stride = gram_stride(d + 1)
    cdef Work work
    memset(buffer, 0, moments_work_size(d) * sizeof(double))
    work.columns = <double *> ((<uintptr_t> buffer + 63) & ~<uintptr_t> 63)
    work.target = work.columns + d * STRIDE
    work.gram = work.columns + even(d + 1) * STRIDE
    work.sums = work.gram + stride * stride
    work.squared_norm = work.sums + stride
    work.excess = work.squared_norm + PACK_ROWS
    work.labels = work.excess + PACK_ROWS
    return work


cdef bint snap_with_tiles(
    const Tiles *tiles, const Rows *X, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid, Work *work, Ahead *ahead,
    int *beyond
) noexcept nogil:
    """Do what `snap_block` does with the kernels of `tiles.h`; rows up to the next whole vector are zero."""
    cdef Py_ssize_t end = whole_vectors(rows), j
    cdef bint odd = tiles.snap_target(work.labels, rows, X.d, to_grid, work.target, work.excess)
    odd |= tiles.snap_rows(X, start, rows, to_grid, work.columns, work.squared_norm, work.excess, ahead, beyond)
    if end > rows:
        for j in range(X.d + 1):
            memset(work.columns + j * STRIDE + rows, 0, (end - rows) * sizeof(double))
    return odd


cdef Ahead ahead_of(const Rows *X, Py_ssize_t start) noexcept nogil:
    """Where the block from row `start` on lies in memory; the last block names itself."""
    cdef Py_ssize_t size = sizeof(float) if X.single else sizeof(double)
    cdef Py_ssize_t rows = min(PACK_ROWS, X.n - start)
    cdef Ahead ahead = Ahead(X.data + (start - PACK_ROWS) * X.row_stride, 0, 1)
    if rows > 0:
        ahead.data = X.data + start * X.row_stride
        if X.row_stride == size:
            ahead.step, ahead.pieces = X.column_stride, X.d
        elif X.row_stride > 0:
            ahead.step, ahead.pieces = PIECE_BYTES, (rows * X.row_stride + PIECE_BYTES - 1) // PIECE_BYTES
    return ahead


cdef void flush(
    Work *work, Py_ssize_t d, Py_ssize_t stride, double intercept, Py_ssize_t rows, int64_t[:, ::1] hi,
    int64_t[:, ::1] lo
) noexcept nogil:
    """Move the sums of at most FLUSH_ROWS rows into limbs. Products with the constant are multiples of the sums."""
    cdef Py_ssize_t last = hi.shape[0] - 1, i, j
    for i in range(d):
        for j in range(i, d):
            add_limbs(work.gram[i * stride + j], &hi[i, j], &lo[i, j])
        add_limbs(work.gram[i * stride + d], &hi[i, last], &lo[i, last])
    add_limbs(work.gram[d * stride + d], &hi[last, last], &lo[last, last])
    if intercept > 0:
        for i in range(d):
            add_limbs(intercept * work.sums[i], &hi[i, d], &lo[i, d])
        add_limbs(intercept * intercept * <double> rows, &hi[d, d], &lo[d, d])
        add_limbs(intercept * work.sums[d], &hi[d, last], &lo[d, last])
    memset(work.gram, 0, stride * stride * sizeof(double))
    memset(work.sums, 0, (d + 1) * sizeof(double))


cdef void load_labels(const number[:] y, Py_ssize_t start, Py_ssize_t rows, double *labels) noexcept nogil:
    """Raw targets in float64, with copies of the last one behind it up to a whole vector."""
    cdef Py_ssize_t r
    cdef const number *side_by_side = &y[start]
    if y.strides[0] == sizeof(number):
        prefetch_bytes(<const char *> (side_by_side + rows), rows * sizeof(number))
        for r in range(rows):
            labels[r] = <double> side_by_side[r]
    else:
        for r in range(rows):
            labels[r] = <double> y[start + r]
    for r in range(rows, whole_vectors(rows)):
        labels[r] = labels[rows - 1]


def add_moments(
    const floating[:, :] X, const number[:] y, RowMap row_map not None, double[::1] scratch, int64_t[:, ::1] hi,
    int64_t[:, ::1] lo, int64_t[::1] faults, int64_t[::1] outside,
):
    """Add the second moments of the rows (x, intercept, y), in units of 2^-40, to hi * 2^32 + lo.

    Parameters
    ----------
    X, y : the block; any strides. y holds labels where the map has them, else numbers.
    row_map : the way of a row into the scaled problem.
    scratch : of `moments_work_size(d)` doubles. Contents on entry do not matter.
    hi, lo : (q, q) limbs, upper triangle, q = d + (intercept > 0) + 1; 0 <= lo < 2^32 on entry and on return.
    faults : (2,) rows with a NaN or an infinity, which count as x = 0 and y = 0; other rows with an unknown label,
        which count as y = 0.
    outside : (d + 1,) values outside their bounds per column, target last; without `box`, [0] counts rows.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], q = hi.shape[0], block, start, rows, stride, unflushed = 0
    cdef bint odd
    cdef int beyond = 0
    cdef const Tiles *tiles = row_map.widest
    cdef const Map *to_grid = &row_map.map
    cdef double intercept = row_map.intercept * GRID
    cdef Ahead ahead
    cdef Work work
    cdef Rows raw
    if y.shape[0] != n or hi.shape[1] != q or lo.shape[0] != q or lo.shape[1] != q or faults.shape[0] != 2:
        raise ValueError("shapes of X, y, hi, lo and faults do not fit together")
    if d != row_map.d or q != d + (intercept > 0) + 1 or outside.shape[0] != d + 1:
        raise ValueError("shapes of X, the map, hi and outside do not fit together")
    if scratch.shape[0] < moments_work_size(d):
        raise ValueError("scratch must have the size of moments_work_size")
    if n == 0:
        return
    raw = Rows(<const char *> &X[0, 0], n, d, X.strides[0], X.strides[1], sizeof(floating) == sizeof(float))
    stride = even(d + 1) if tiles == NULL else gram_stride(d + 1)
    with nogil:
        work = cut(&scratch[0], d)
        for block in range((n + PACK_ROWS - 1) // PACK_ROWS):
            start = block * PACK_ROWS
            rows = min(PACK_ROWS, n - start)
            load_labels(y, start, rows, work.labels)
            if tiles == NULL:
                odd = snap_block(
                    X, work.labels, start, rows, to_grid, work.columns, work.target, work.squared_norm, work.excess)
            else:
                ahead = ahead_of(&raw, start + PACK_ROWS)
                odd = snap_with_tiles(tiles, &raw, start, rows, to_grid, &work, &ahead, &beyond)
            if odd:
                settle_odd_rows(
                    X, work.labels, start, rows, to_grid, work.columns, work.target, work.squared_norm, &faults[0],
                    &outside[0])
            elif beyond:
                outside[0] += count_outside(work.squared_norm, rows, d)
            if tiles == NULL:
                add_gram(work.columns, even(d + 1), STRIDE, PACK_ROWS, work.gram)
                if intercept > 0:
                    add_column_sums(work.columns, d + 1, STRIDE, PACK_ROWS, work.sums)
            else:
                tiles.add_gram(
                    work.columns, d + 1, whole_vectors(rows), work.gram, work.sums if intercept > 0 else NULL, &ahead)
            unflushed += rows
            if unflushed > FLUSH_ROWS - PACK_ROWS:
                flush(&work, d, stride, intercept, unflushed, hi, lo)
                unflushed = 0
        flush(&work, d, stride, intercept, unflushed, hi, lo)
