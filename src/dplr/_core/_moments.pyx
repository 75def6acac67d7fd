"""Exact second moments of bounded rows: load a block, bound and snap it, add its Gram matrix, flush to integers.

Rows are snapped to multiples of 2^-20 and held as integers in float64. Every operation before the snap acts on one row
and public constants, in a fixed order without fused multiply-add, so a row snaps to the same point whatever block,
thread, memory order or input type it comes in.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from dplr._core._gram cimport add_gram

cdef extern from *:
    """
    #if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
    #error "dplr rounds rows to a grid and looks for NaN: it cannot be compiled with -ffast-math"
    #endif
    /* Rows packed at once: the packed columns stay in the L1 cache. */
    #define PACK_ROWS 128
    /* Distance of two columns: not a power of two, so that they do not share sets of the cache. */
    #define STRIDE 136
    /* 2^13 products of at most 2^40 sum to at most 2^53, exact in float64. */
    #define FLUSH_ROWS 8192
    /* 2^20 grid units are 1.0; a row on the unit sphere has squared norm 2^40. */
    #define GRID 1048576.0
    #define SQUARED_GRID 1099511627776.0
    /* 1.5 * 2^52: adding and subtracting it rounds to the nearest integer, ties to even. */
    #define ROUNDER 6755399441055744.0
    #define LARGEST 1.7976931348623157e308
    /* Of a grid unit: more than rounding moves a value that lies on its bound. */
    #define SLACK 0.0009765625
    #define LOW_LIMB 4294967295LL
    """
    const Py_ssize_t PACK_ROWS
    const Py_ssize_t STRIDE
    const Py_ssize_t FLUSH_ROWS
    const double GRID
    const double SQUARED_GRID
    const double ROUNDER
    const double LARGEST
    const double SLACK
    const int64_t LOW_LIMB

ctypedef fused floating:
    float
    double

cdef struct Map:
    # From raw values to grid units: public constants only.
    const double *shift
    const double *scale
    const double *low
    const double *high
    bint box
    bint labels
    double negative
    double positive


cdef void load(const floating[:, :] X, Py_ssize_t start, Py_ssize_t rows, double *columns) noexcept nogil:
    """Transpose rows [start, start + rows) into columns, zeros behind the last row."""
    cdef Py_ssize_t d = X.shape[1], r, j
    if rows < PACK_ROWS:
        memset(columns, 0, d * STRIDE * sizeof(double))
    if X.strides[0] < X.strides[1]:
        for j in range(d):
            for r in range(rows):
                columns[j * STRIDE + r] = X[start + r, j]
    else:
        # Four rows at a time: their entries lie side by side in a column and are stored together.
        for r in range(0, rows - 3, 4):
            for j in range(d):
                columns[j * STRIDE + r] = X[start + r, j]
                columns[j * STRIDE + r + 1] = X[start + r + 1, j]
                columns[j * STRIDE + r + 2] = X[start + r + 2, j]
                columns[j * STRIDE + r + 3] = X[start + r + 3, j]
        for r in range(rows - rows % 4, rows):
            for j in range(d):
                columns[j * STRIDE + r] = X[start + r, j]


cdef void snap_to_box(
    double *column, double *excess, Py_ssize_t rows, double shift, double scale, double low, double high
) noexcept nogil:
    """Affine map to grid units, clamp to [low, high], round. Adds how far a row was outside to `excess` (NaN: NaN)."""
    cdef Py_ssize_t r
    cdef double v, clamped
    for r in range(rows):
        v = (column[r] - shift) * scale
        clamped = v if v < high else high
        clamped = clamped if clamped > low else low
        excess[r] += fabs(v - clamped)
        column[r] = (clamped + ROUNDER) - ROUNDER


cdef inline bint is_outside(double value, const Map *to_grid, Py_ssize_t j) noexcept nogil:
    cdef double v = (value - to_grid.shift[j]) * to_grid.scale[j]
    return v > to_grid.high[j] + SLACK or v < to_grid.low[j] - SLACK


cdef void snap_to_grid(double *column, double *squared_norm) noexcept nogil:
    """Round to grid units and add the squares to the rows' squared norms.

    Far outside the ball the rounding trick fails, but the square is still above 2^40, or a NaN for a NaN.
    """
    cdef Py_ssize_t r
    cdef double k
    for r in range(PACK_ROWS):
        k = (column[r] * GRID + ROUNDER) - ROUNDER
        squared_norm[r] += k * k
        column[r] = k


cdef bint is_finite_row(const floating[:, :] X, Py_ssize_t i, double y) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(X.shape[1]):
        if not (fabs(<double> X[i, j]) <= LARGEST):
            return False
    return fabs(y) <= LARGEST


cdef void zero_row(double *columns, Py_ssize_t d, Py_ssize_t r) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(d):
        columns[j * STRIDE + r] = 0.0


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
        columns[j * STRIDE + r] = k
        squared_norm += k * k
    if not (squared_norm <= SQUARED_GRID):
        # The bound must not rest on the rounding analysis above: a row that misses it counts as zero.
        zero_row(columns, d, r)


cdef int64_t snap_labels(double *target, Py_ssize_t rows, double negative, double positive) noexcept nogil:
    """Map the positive label to 2^20 and everything else to -2^20. Returns how many were neither label; a NaN is."""
    cdef Py_ssize_t r
    cdef int64_t known = 0
    for r in range(rows):
        known += (target[r] == positive) | (target[r] == negative)
    for r in range(rows):
        target[r] = GRID if target[r] == positive else -GRID
    return rows - known


cdef int64_t snap_block(
    const floating[:, :] X, const double[:] y, Py_ssize_t start, Py_ssize_t rows, Map *to_grid, double *columns,
    double *target, double *squared_norm, double *excess
) noexcept nogil:
    """Load and snap rows [start, start + rows). Returns how often something is odd: outside, not finite, unknown."""
    cdef Py_ssize_t d = X.shape[1], r, j
    cdef int64_t odd = 0
    memset(squared_norm, 0, PACK_ROWS * sizeof(double))
    memset(excess, 0, PACK_ROWS * sizeof(double))
    memset(target, 0, PACK_ROWS * sizeof(double))
    load(X, start, rows, columns)
    for r in range(rows):
        target[r] = y[start + r]
    if to_grid.labels:
        odd = snap_labels(target, rows, to_grid.negative, to_grid.positive)
    else:
        snap_to_box(target, excess, rows, to_grid.shift[d], to_grid.scale[d], to_grid.low[d], to_grid.high[d])
    for j in range(d):
        if to_grid.box:
            snap_to_box(
                columns + j * STRIDE, excess, rows, to_grid.shift[j], to_grid.scale[j], to_grid.low[j], to_grid.high[j])
        else:
            snap_to_grid(columns + j * STRIDE, squared_norm)
    for r in range(rows):
        odd += <int64_t> (not (squared_norm[r] <= SQUARED_GRID)) + <int64_t> (not (excess[r] <= SLACK))
    return odd


cdef void settle_odd_rows(
    const floating[:, :] X, const double[:] y, Py_ssize_t start, Py_ssize_t rows, Map *to_grid, double *columns,
    double *target, const double *squared_norm, int64_t *faults, int64_t *outside
) noexcept nogil:
    """Project, zero and count what `snap_block` found odd, row by row from the raw values. The rare slow path."""
    cdef Py_ssize_t d = X.shape[1], r, j
    cdef double reach = GRID + 0.5 * sqrt(<double> d)
    cdef double label
    for r in range(rows):
        label = y[start + r]
        if not is_finite_row(X, start + r, label):
            faults[0] += 1
            target[r] = 0.0
            zero_row(columns, d, r)
            continue
        if to_grid.box:
            for j in range(d):
                outside[j] += is_outside(<double> X[start + r, j], to_grid, j)
        elif not (squared_norm[r] <= SQUARED_GRID):
            outside[0] += not (squared_norm[r] <= reach * reach)     # by more than rounding
            project_row(X, start + r, columns, r)
        if not to_grid.labels:
            outside[d] += is_outside(label, to_grid, d)
        elif label != to_grid.positive and label != to_grid.negative:
            faults[1] += 1
            target[r] = 0.0


cdef void flush(double *gram, Py_ssize_t padded, int64_t[:, ::1] hi, int64_t[:, ::1] lo) noexcept nogil:
    """Move an exact block sum into two limbs: value = hi * 2^32 + lo."""
    cdef Py_ssize_t q = hi.shape[0], i, j
    cdef int64_t v
    for i in range(q):
        for j in range(i, q):
            v = <int64_t> gram[i * padded + j]
            hi[i, j] += v >> 32
            lo[i, j] += v & LOW_LIMB
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
    faults : (2,) rows with a NaN or an infinity, which count as x = 0 and y = 0; other rows with an unknown label,
        which count as y = 0.
    outside : (d + 1,) values outside their bounds per column, target last; without `box`, [0] counts rows.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], q = hi.shape[0], padded = (q + 1) & ~<Py_ssize_t> 1
    cdef Py_ssize_t block, start, rows, r, unflushed = 0
    cdef double *columns = &work[0]
    cdef double *constant = columns + d * STRIDE
    cdef double *target = columns + (q - 1) * STRIDE
    cdef double *gram = columns + padded * STRIDE
    cdef double *squared_norm = gram + padded * padded
    cdef double *excess = squared_norm + PACK_ROWS
    cdef Map to_grid
    if y.shape[0] != n or hi.shape[1] != q or lo.shape[0] != q or lo.shape[1] != q or faults.shape[0] != 2:
        raise ValueError("shapes of X, y, hi, lo and faults do not fit together")
    if d < 1 or q != d + (intercept > 0) + 1 or outside.shape[0] != d + 1 or work.shape[0] < moments_work_size(q):
        raise ValueError("shapes of X, hi, outside and work do not fit together")
    if shift.shape[0] != d + 1 or scale.shape[0] != d + 1 or low.shape[0] != d + 1 or high.shape[0] != d + 1:
        raise ValueError("shift, scale, low and high must have one entry for each column of X and one for y")
    to_grid = Map(&shift[0], &scale[0], &low[0], &high[0], box, labels, negative, positive)
    with nogil:
        memset(columns, 0, (padded * STRIDE + padded * padded) * sizeof(double))
        for block in range((n + PACK_ROWS - 1) // PACK_ROWS):
            start = block * PACK_ROWS
            rows = min(PACK_ROWS, n - start)
            if snap_block(X, y, start, rows, &to_grid, columns, target, squared_norm, excess):
                settle_odd_rows(
                    X, y, start, rows, &to_grid, columns, target, squared_norm, &faults[0], &outside[0])
            if intercept > 0:
                for r in range(PACK_ROWS):
                    constant[r] = intercept if r < rows else 0.0
            add_gram(columns, padded, STRIDE, PACK_ROWS, gram)
            unflushed += rows
            if unflushed > FLUSH_ROWS - PACK_ROWS:
                flush(gram, padded, hi, lo)
                unflushed = 0
        flush(gram, padded, hi, lo)


cpdef Py_ssize_t moments_work_size(Py_ssize_t q) noexcept nogil:
    """Doubles of scratch that `add_moments` needs for q = d + intercept + 1 columns."""
    cdef Py_ssize_t padded = (q + 1) & ~<Py_ssize_t> 1
    return padded * STRIDE + padded * padded + 2 * PACK_ROWS
