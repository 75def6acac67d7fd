"""Exact second moments of bounded rows: load a block, bound and snap it, add its Gram matrix, flush to integers.

Rows are snapped to multiples of 2^-20 and held as integers in float64. Every operation before the snap acts on one row
and public constants, in a fixed order without fused multiply-add, so a row snaps to the same point whatever block,
thread, memory order or input type it comes in.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from dplr._core._gram cimport add_gram

cdef enum:
    PACK_ROWS = 128          # rows packed at once: the packed columns stay in the L1 cache
    FLUSH_ROWS = 8192        # 2^13 products of at most 2^40 sum to at most 2^53, exact in float64

cdef double GRID = 1048576.0                       # 2^20 grid units are 1.0
cdef double SQUARED_GRID = 1099511627776.0         # 2^40: the squared norm of a row on the unit sphere
cdef double ROUNDER = 6755399441055744.0           # 1.5 * 2^52: adding it rounds to the nearest integer, ties to even
cdef double HUGE = 1.7976931348623157e308

ctypedef fused floating:
    float
    double


cdef void load(const floating[:, :] X, Py_ssize_t start, Py_ssize_t rows, double *columns) noexcept nogil:
    """Transpose rows [start, start + rows) into columns of PACK_ROWS, zeros behind the last row."""
    cdef Py_ssize_t d = X.shape[1], r, j
    if rows < PACK_ROWS:
        memset(columns, 0, d * PACK_ROWS * sizeof(double))
    if X.strides[0] < X.strides[1]:
        for j in range(d):
            for r in range(rows):
                columns[j * PACK_ROWS + r] = X[start + r, j]
    else:
        for r in range(rows):
            for j in range(d):
                columns[j * PACK_ROWS + r] = X[start + r, j]


cdef inline bint all_finite(const double *values, Py_ssize_t rows) noexcept nogil:
    cdef Py_ssize_t r
    cdef int64_t bad = 0
    for r in range(rows):
        bad |= <int64_t> (not (fabs(values[r]) <= HUGE))
    return bad == 0


cdef int64_t mark_bad_rows(
    double *columns, Py_ssize_t d, Py_ssize_t rows, double *target, double legal_target, double *bad
) noexcept nogil:
    """Mark rows that hold a NaN or an infinity, give them legal values for now, and count them. Rare slow path."""
    cdef Py_ssize_t r, j
    cdef int64_t bad_rows = 0
    for r in range(rows):
        bad[r] = <double> (not (fabs(target[r]) <= HUGE))
        for j in range(d):
            if not (fabs(columns[j * PACK_ROWS + r]) <= HUGE):
                bad[r] = 1.0
        if bad[r]:
            bad_rows += 1
            target[r] = legal_target
            for j in range(d):
                columns[j * PACK_ROWS + r] = 0.0
    return bad_rows


cdef void zero_bad_rows(
    double *columns, Py_ssize_t d, Py_ssize_t rows, double *target, const double *bad
) noexcept nogil:
    cdef Py_ssize_t r, j
    for r in range(rows):
        if bad[r]:
            target[r] = 0.0
            for j in range(d):
                columns[j * PACK_ROWS + r] = 0.0


cdef int64_t snap_to_box(
    double *column, Py_ssize_t rows, double shift, double scale, double low, double high
) noexcept nogil:
    """Affine map to grid units, clamp to [low, high], round. Returns how many values lay outside."""
    cdef Py_ssize_t r
    cdef int64_t outside = 0
    cdef double v
    for r in range(rows):
        v = (column[r] - shift) * scale
        # A value on its bound may land a fraction of a unit outside: that is rounding, not a value out of bounds.
        outside += <int64_t> (v > high + 1.0) + <int64_t> (v < low - 1.0)
        v = v if v < high else high
        v = v if v > low else low
        column[r] = (v + ROUNDER) - ROUNDER
    return outside


cdef void snap_to_grid(double *column, double *squared_norm) noexcept nogil:
    """Round to grid units, and add the squares to the rows' squared norms. Values beyond 2 mean the row is outside."""
    cdef Py_ssize_t r
    cdef double v
    for r in range(PACK_ROWS):
        v = column[r] * GRID
        v = v if v < 2.0 * GRID else 2.0 * GRID
        v = v if v > -2.0 * GRID else -2.0 * GRID
        v = (v + ROUNDER) - ROUNDER
        squared_norm[r] += v * v
        column[r] = v


cdef void project_row(const floating[:, :] X, Py_ssize_t i, double *columns, Py_ssize_t r) noexcept nogil:
    """Snap row i rescaled to norm (2^20 - sqrt(d)/2)(1 - 2^-40): after rounding its squared norm is at most 2^40."""
    cdef Py_ssize_t d = X.shape[1], j
    cdef double largest = 0.0, total = 0.0, v, factor, k, squared_norm = 0.0
    for j in range(d):
        v = fabs(<double> X[i, j])
        largest = v if v > largest else largest
    for j in range(d):
        v = <double> X[i, j] / largest
        total += v * v
    factor = (GRID - 0.5 * sqrt(<double> d)) * (1.0 - 1.0 / SQUARED_GRID) / sqrt(total)
    for j in range(d):
        k = ((<double> X[i, j] / largest) * factor + ROUNDER) - ROUNDER
        columns[j * PACK_ROWS + r] = k
        squared_norm += k * k
    if squared_norm > SQUARED_GRID:
        # The bound must not rest on the rounding analysis above: a row that misses it counts as zero.
        for j in range(d):
            columns[j * PACK_ROWS + r] = 0.0


cdef int64_t snap_to_ball(
    const floating[:, :] X, Py_ssize_t start, Py_ssize_t rows, double *columns, double *squared_norm
) noexcept nogil:
    """Snap a block and project the rows outside the unit ball. Returns how many lay outside by more than rounding."""
    cdef Py_ssize_t d = X.shape[1], r, j
    cdef int64_t outside = 0
    cdef double clearly = (GRID + 0.5 * sqrt(<double> d)) * (GRID + 0.5 * sqrt(<double> d))
    memset(squared_norm, 0, PACK_ROWS * sizeof(double))
    for j in range(d):
        snap_to_grid(columns + j * PACK_ROWS, squared_norm)
    for r in range(rows):
        if squared_norm[r] > SQUARED_GRID:
            outside += <int64_t> (squared_norm[r] > clearly)
            project_row(X, start + r, columns, r)
    return outside


cdef int64_t snap_labels(double *target, Py_ssize_t rows, double negative, double positive) noexcept nogil:
    """Map the two labels to -2^20 and +2^20, anything else to 0. Returns the number of those."""
    cdef Py_ssize_t r
    cdef int64_t unknown = 0
    cdef double y
    for r in range(rows):
        y = target[r]
        if y == positive:
            target[r] = GRID
        elif y == negative:
            target[r] = -GRID
        else:
            unknown += 1
            target[r] = 0.0
    return unknown


cdef void flush(double *gram, Py_ssize_t padded, int64_t[:, ::1] hi, int64_t[:, ::1] lo) noexcept nogil:
    """Move an exact block sum into two limbs: value = hi * 2^32 + lo."""
    cdef Py_ssize_t q = hi.shape[0], i, j
    cdef int64_t v
    for i in range(q):
        for j in range(i, q):
            v = <int64_t> gram[i * padded + j]
            hi[i, j] += v >> 32
            lo[i, j] += v & 0xFFFFFFFF
    memset(gram, 0, padded * padded * sizeof(double))


def add_moments(
    const floating[:, :] X, const double[:] y, const double[::1] shift, const double[::1] scale,
    const double[::1] low, const double[::1] high, bint box, double intercept,
    bint labels, double negative, double positive, double[::1] work, int64_t[:, ::1] hi, int64_t[:, ::1] lo,
    int64_t[::1] faults, int64_t[::1] outside,
):
    """Add the second moments of the rows (x, intercept, y), in units of 2^-40, to hi * 2^32 + lo.

    Parameters
    ----------
    X, y : the block; any strides. y holds labels when `labels`, else numbers.
    shift, scale, low, high : (d + 1,) affine map to grid units and clamp, target last. Without `box` the features'
        entries are unused and rows are projected onto the unit ball.
    intercept : appended constant in grid units; 0 for none.
    negative, positive : the two labels; unused without `labels`.
    work : scratch of `moments_work_size` doubles. Contents on entry do not matter.
    hi, lo : (q, q) limbs, upper triangle, q = d + (intercept > 0) + 1.
    faults : (2,) rows with a NaN or an infinity, rows with an unknown label; such rows count as x = 0, y = 0.
    outside : (d + 1,) values outside their bounds per column, target last; without `box`, [0] counts rows.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], q = hi.shape[0], padded = (q + 3) & ~<Py_ssize_t> 3
    cdef Py_ssize_t start, rows, r, j, unflushed = 0
    cdef bint finite
    cdef double *columns = &work[0]
    cdef double *target = columns + (q - 1) * PACK_ROWS
    cdef double *gram = columns + padded * PACK_ROWS
    cdef double *squared_norm = gram + padded * padded
    cdef double *bad = squared_norm + PACK_ROWS
    if y.shape[0] != n or hi.shape[1] != q or lo.shape[0] != q or lo.shape[1] != q or faults.shape[0] != 2:
        raise ValueError("shapes of X, y, hi, lo and faults do not fit together")
    if q != d + (intercept > 0) + 1 or outside.shape[0] != d + 1 or work.shape[0] < moments_work_size(q):
        raise ValueError("shapes of X, hi, outside and work do not fit together")
    if shift.shape[0] != d + 1 or scale.shape[0] != d + 1 or low.shape[0] != d + 1 or high.shape[0] != d + 1:
        raise ValueError("shift, scale, low and high must have one entry for each column of X and one for y")
    with nogil:
        memset(columns, 0, (padded * PACK_ROWS + padded * padded) * sizeof(double))
        for start in range(0, n, PACK_ROWS):
            rows = min(PACK_ROWS, n - start)
            load(X, start, rows, columns)
            memset(target, 0, PACK_ROWS * sizeof(double))
            for r in range(rows):
                target[r] = y[start + r]
            finite = all_finite(target, rows)
            for j in range(d):
                finite = finite and all_finite(columns + j * PACK_ROWS, rows)
            if not finite:
                faults[0] += mark_bad_rows(columns, d, rows, target, negative if labels else shift[d], bad)
            if labels:
                faults[1] += snap_labels(target, rows, negative, positive)
            else:
                outside[d] += snap_to_box(target, rows, shift[d], scale[d], low[d], high[d])
            if box:
                for j in range(d):
                    outside[j] += snap_to_box(columns + j * PACK_ROWS, rows, shift[j], scale[j], low[j], high[j])
            else:
                outside[0] += snap_to_ball(X, start, rows, columns, squared_norm)
            if not finite:
                zero_bad_rows(columns, d, rows, target, bad)
            if intercept > 0:
                for r in range(PACK_ROWS):
                    columns[d * PACK_ROWS + r] = intercept if r < rows else 0.0
            add_gram(columns, padded, PACK_ROWS, gram)
            unflushed += rows
            if unflushed > FLUSH_ROWS - PACK_ROWS:
                flush(gram, padded, hi, lo)
                unflushed = 0
        flush(gram, padded, hi, lo)


cpdef Py_ssize_t moments_work_size(Py_ssize_t q) noexcept nogil:
    """Doubles of scratch that `add_moments` needs for q = d + intercept + 1 columns."""
    cdef Py_ssize_t padded = (q + 3) & ~<Py_ssize_t> 3
    return padded * PACK_ROWS + padded * padded + 2 * PACK_ROWS
