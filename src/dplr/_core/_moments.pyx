"""Exact second moments of bounded rows: snap a block, add its Gram matrix, flush to integers.

Blocks of rows go through one of several CPU paths with the same bits: "portable" is Cython (`_snap`, `_gram`), the
others are the C kernels of `tiles.h`. What is odd in a block is settled by `_snap` on every path.

A row may have a multiplier A, an integer from 0 to 2^30: each of its entries k, the constant's too, becomes
sign(k) ((|k| A) >> 30) once the row is settled. The product is below 2^53 and exact in float64, so no path rounds it.
Rows with weights, multiples of 2^-30, have the largest multiple of 2^11 whose square is at most 2^60 times the weight.
"""
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memset

from dplr._core._gram cimport add_column_sums, add_gram
from dplr._core._limbs cimport add_limbs
from dplr._core._row_map cimport RowMap
from dplr._core._snap cimport count_outside, settle_odd_rows, snap_block
from dplr._core._tiles cimport (
    FLUSH_ROWS, GRID, PACK_ROWS, PIECE_BYTES, STRIDE, Ahead, Map, Rows, Tiles, floating, gram_stride, number,
    prefetch_bytes, whole_vectors)
from dplr._core._weights cimport are_multipliers, check_weights, root_of_weight

cdef double MULTIPLIER_ONE = 1073741824.0

cdef struct Work:
    # Scratch of one thread, cut from one buffer.
    double *columns
    double *target
    double *constant
    double *gram
    double *sums
    double *squared_norm
    double *excess
    double *labels


cdef Py_ssize_t even(Py_ssize_t n_columns) noexcept nogil:
    """The number of columns, rounded up to an even one: the portable Gram kernel takes columns in pairs."""
    return (n_columns + 1) & ~<Py_ssize_t> 1


cpdef Py_ssize_t moments_work_size(Py_ssize_t d) noexcept nogil:
    """Doubles of scratch that `add_moments` needs for d features."""
    cdef Py_ssize_t stride = gram_stride(d + 2)
    return 8 + even(d + 2) * STRIDE + stride * stride + stride + 3 * PACK_ROWS


cdef Work cut(double *buffer, Py_ssize_t d) noexcept nogil:
    """Cut and clear the scratch; columns begin on a cache line. Of multiplied rows the constant is a column too."""
    cdef Py_ssize_t stride = gram_stride(d + 2)
    cdef Work work
    memset(buffer, 0, moments_work_size(d) * sizeof(double))
    work.columns = <double *> ((<uintptr_t> buffer + 63) & ~<uintptr_t> 63)
    work.target = work.columns + d * STRIDE
    work.constant = work.target + STRIDE
    work.gram = work.columns + even(d + 2) * STRIDE
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


cdef void flush_multiplied(
    Work *work, Py_ssize_t d, Py_ssize_t stride, int64_t[:, ::1] hi, int64_t[:, ::1] lo
) noexcept nogil:
    """Move the sums of multiplied rows into limbs. The constant is the column behind the target."""
    cdef Py_ssize_t last = hi.shape[0] - 1, columns = d + 1 + (last > d), i, j, row, column
    for i in range(columns):
        for j in range(i, columns):
            row = last if i == d else d if i > d else i
            column = last if j == d else d if j > d else j
            add_limbs(work.gram[i * stride + j], &hi[min(row, column), max(row, column)],
                      &lo[min(row, column), max(row, column)])
    memset(work.gram, 0, stride * stride * sizeof(double))


cdef void load_factors(
    const Tiles *tiles, const int64_t *multipliers, const double *weights, Py_ssize_t start, Py_ssize_t rows,
    double *factors
) noexcept nogil:
    """What multiplies rows from `start` on, by multipliers if there are any; 0 behind the last up to a whole vector."""
    cdef Py_ssize_t r
    if multipliers != NULL:
        for r in range(rows):
            factors[r] = <double> multipliers[start + r] * (1.0 / MULTIPLIER_ONE)
    elif tiles != NULL:
        tiles.roots_of_weights(weights + start, rows, factors)
    else:
        for r in range(rows):
            factors[r] = root_of_weight(weights[start + r])
    for r in range(rows, whole_vectors(rows)):
        factors[r] = 0.0


cdef void multiply_rows(
    const Tiles *tiles, Work *work, Py_ssize_t columns, Py_ssize_t rows, double intercept, const double *factors
) noexcept nogil:
    """Multiply the entries of settled rows, and of the constant behind them: exact products, truncated."""
    cdef Py_ssize_t j, r
    cdef double *column
    for r in range(rows):
        work.constant[r] = intercept
    memset(work.constant + rows, 0, (STRIDE - rows) * sizeof(double))
    if tiles == NULL:
        for j in range(columns):
            column = work.columns + j * STRIDE
            for r in range(rows):
                column[r] = <double> <int32_t> (column[r] * factors[r])
    else:
        tiles.multiply_columns(work.columns, columns, whole_vectors(rows), factors)


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
    int64_t[:, ::1] lo, int64_t[::1] faults, int64_t[::1] outside, const int64_t[::1] multipliers=None,
    const double[::1] weights=None,
):
    """Add the second moments of the rows (x, intercept, y), in units of 2^-40, to hi * 2^32 + lo.

    Parameters
    ----------
    X, y : the block; any strides. y holds labels where the map has them, else numbers.
    row_map : the map from raw rows to scaled rows.
    scratch : of `moments_work_size(d)` doubles. Contents on entry do not matter.
    hi, lo : (q, q) limbs, upper triangle, q = d + (intercept > 0) + 1; 0 <= lo < 2^32 on entry and on return.
    faults : (2,) rows with a NaN or an infinity, which count as x = 0 and y = 0; other rows with an unknown label,
        which count as y = 0.
    outside : (d + 1,) values outside their bounds per column, target last; without `box`, [0] counts rows.
    multipliers : (n,) integers A from 0 to 2^30; entries k of a row and its constant become sign(k) ((|k| A) >> 30).
        None for rows as they are, which are those of 2^30.
    weights : (n,) multiples of 2^-30 from 0 to 1, in place of multipliers.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], q = hi.shape[0], block, start, rows, stride, unflushed = 0
    cdef Py_ssize_t columns = d + 1
    cdef bint odd
    cdef int beyond = 0
    cdef const Tiles *tiles = row_map.widest
    cdef const Map *to_grid = &row_map.map
    cdef double intercept = row_map.intercept * GRID
    cdef Ahead ahead
    cdef Work work
    cdef Rows raw
    cdef bint multiplied = multipliers is not None or weights is not None
    cdef const int64_t *given = NULL
    cdef const double *of_rows = NULL
    if weights is not None:
        check_weights(weights, n)
    if multipliers is not None and not are_multipliers(multipliers, n):
        raise ValueError("multipliers must be one integer from 0 to 2^30 for each row")
    if y.shape[0] != n or hi.shape[1] != q or lo.shape[0] != q or lo.shape[1] != q or faults.shape[0] != 2:
        raise ValueError("shapes of X, y, hi, lo and faults do not fit together")
    if d != row_map.d or q != d + (intercept > 0) + 1 or outside.shape[0] != d + 1:
        raise ValueError("shapes of X, the map, hi and outside do not fit together")
    if scratch.shape[0] < moments_work_size(d):
        raise ValueError("scratch must have the size of moments_work_size")
    if n == 0:
        return
    if multipliers is not None:
        given = &multipliers[0]
    elif weights is not None:
        of_rows = &weights[0]
    raw = Rows(<const char *> &X[0, 0], n, d, X.strides[0], X.strides[1], sizeof(floating) == sizeof(float))
    columns += multiplied and intercept > 0
    stride = even(columns) if tiles == NULL else gram_stride(columns)
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
            if multiplied:
                # The rows are settled, so the scratch of the excess is free for the factors.
                load_factors(tiles, given, of_rows, start, rows, work.excess)
                multiply_rows(tiles, &work, columns, rows, intercept, work.excess)
            if tiles == NULL:
                add_gram(work.columns, even(columns), STRIDE, PACK_ROWS, work.gram)
                if intercept > 0 and not multiplied:
                    add_column_sums(work.columns, d + 1, STRIDE, PACK_ROWS, work.sums)
            else:
                tiles.add_gram(
                    work.columns, columns, whole_vectors(rows), work.gram,
                    work.sums if intercept > 0 and not multiplied else NULL, &ahead)
            unflushed += rows
            if unflushed > FLUSH_ROWS - PACK_ROWS or start + rows == n:
                if multiplied:
                    flush_multiplied(&work, d, stride, hi, lo)
                else:
                    flush(&work, d, stride, intercept, unflushed, hi, lo)
                unflushed = 0
