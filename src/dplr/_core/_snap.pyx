"""Bounded rows on the grid, the portable way: load a block, bound and snap it, settle what is odd in it.

Rows are snapped to multiples of 2^-20 and held as integers in float64. Every operation before the snap acts on one row
and public constants, in a fixed order without fused multiply-add, so a row snaps to the same point whatever block,
thread, memory order, input type or CPU path it comes in. `tile_snap.h` has the same sequence for vectors; odd rows are
settled here on every path.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from dplr._core._tiles cimport GRID, LARGEST, PACK_ROWS, ROUNDER, SLACK, SQUARED_GRID, STRIDE


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
    """Whether a value lies outside its bounds, by the excess that `snap_to_box` adds, so that all paths agree."""
    cdef double v = (value - to_grid.shift[j]) * to_grid.scale[j]
    cdef double clamped = v if v < to_grid.high[j] else to_grid.high[j]
    clamped = clamped if clamped > to_grid.low[j] else to_grid.low[j]
    return fabs(v - clamped) > SLACK


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


cdef int64_t count_outside(const double *squared_norm, Py_ssize_t rows, Py_ssize_t d) noexcept nogil:
    """How many rows on the grid are outside the ball by more than rounding: what a user is told of."""
    cdef double reach = GRID + 0.5 * sqrt(<double> d), limit = reach * reach
    cdef int64_t count = 0
    cdef Py_ssize_t r
    for r in range(rows):
        count += <int64_t> (not (squared_norm[r] <= limit))
    return count


cdef int64_t snap_labels(double *target, Py_ssize_t rows, double negative, double positive) noexcept nogil:
    """Map the positive label to 2^20 and everything else to -2^20. Returns how many were neither; a NaN is neither."""
    cdef Py_ssize_t r
    cdef int64_t known = 0
    for r in range(rows):
        known += (target[r] == positive) | (target[r] == negative)
    for r in range(rows):
        target[r] = GRID if target[r] == positive else -GRID
    return rows - known


cdef bint snap_block(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, double *squared_norm, double *excess
) noexcept nogil:
    """Load and snap rows [start, start + rows). Returns whether something is odd: outside, not finite, unknown."""
    cdef Py_ssize_t d = X.shape[1], r, j
    cdef int64_t odd = 0
    memset(squared_norm, 0, PACK_ROWS * sizeof(double))
    memset(excess, 0, PACK_ROWS * sizeof(double))
    load(X, start, rows, columns)
    memset(target, 0, PACK_ROWS * sizeof(double))
    memcpy(target, labels, rows * sizeof(double))
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
    return odd != 0


cdef void settle_odd_rows(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, const double *squared_norm, int64_t *faults, int64_t *outside
) noexcept nogil:
    """Project, zero and count odd rows one by one from the raw values. The rare slow path of every CPU path."""
    cdef Py_ssize_t d = X.shape[1], r, j
    cdef double label
    for r in range(rows):
        label = labels[r]
        if not is_finite_row(X, start + r, label):
            faults[0] += 1
            target[r] = 0.0
            zero_row(columns, d, r)
            continue
        if to_grid.box:
            for j in range(d):
                outside[j] += is_outside(<double> X[start + r, j], to_grid, j)
        elif not (squared_norm[r] <= SQUARED_GRID):
            outside[0] += count_outside(squared_norm + r, 1, d)
            project_row(X, start + r, columns, r)
        if not to_grid.labels:
            outside[d] += is_outside(label, to_grid, d)
        elif label != to_grid.positive and label != to_grid.negative:
            faults[1] += 1
            target[r] = 0.0
