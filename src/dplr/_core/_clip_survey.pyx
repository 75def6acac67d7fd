"""A survey of rows before the first pass of clipped gradients: norms, faults, and projections onto the ball."""
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

from dplr._core._tiles cimport GRID, LARGEST, MOST_BLOCK_ROWS, SLACK, SQUARED_GRID, Rows

# Covers the roundings of the norm, its inverse and the product with the clip.
cdef double INVERSE = GRID * (1.0 - 2.0**-50)


cdef double inverse_norm(const ClipPass *p, double squared_norm) noexcept nogil:
    """A little less than 1 / norm of a row with its constant; 0 for a row of zeros."""
    cdef double constant = p.constants[p.X.d] if p.q > p.X.d else 0.0
    cdef double total = squared_norm + constant * constant
    return INVERSE / sqrt(total) if total > 0 else 0.0


cdef double read_row(const Rows *X, Py_ssize_t i, double *row) noexcept nogil:
    """Copy raw row i. Returns its largest size, or infinity where an entry is not finite."""
    cdef const char *place = X.data + i * X.row_stride
    cdef double largest = 0.0
    cdef Py_ssize_t j
    for j in range(X.d):
        row[j] = (<const float *> place)[0] if X.single else (<const double *> place)[0]
        if not fabs(row[j]) <= LARGEST:
            return INFINITY
        largest = max(largest, fabs(row[j]))
        place += X.column_stride
    return largest


cdef Py_ssize_t survey_rows(
    ClipPass *p, MeasureRows measure, double *scratch, double *inverse, int64_t *faults
) noexcept nogil:
    """Multiply signs by inverse norms. Returns the number of rows that are not finite, or outside the ball."""
    cdef double *squared = scratch + MOST_BLOCK_ROWS * p.stride
    cdef double *excess = squared + MOST_BLOCK_ROWS + 8
    cdef Py_ssize_t start = 0, rows, r, i, odd = 0
    cdef bint inside
    while start < p.X.n:
        rows = min(MOST_BLOCK_ROWS, p.X.n - start)
        measure(p, start, rows, scratch, squared, excess)
        for r in range(rows):
            i = start + r
            inside = squared[r] <= SQUARED_GRID and excess[r] <= SLACK
            if inverse[i] != inverse[i] or (not inside and not read_row(&p.X, i, scratch) <= LARGEST):
                faults[0] += 1
                inverse[i] = 0.0
                odd += not inside
                continue
            faults[1] += inverse[i] == 0
            if squared[r] <= SQUARED_GRID:
                inverse[i] *= inverse_norm(p, squared[r])
            else:
                odd += 1
                if p.map.box:      # a box that is not inside the ball: no bound may rest on the caller's checks
                    inverse[i] = 0.0
        start += rows
    return odd


cdef void project_rows(
    ClipPass *p, MeasureRows measure, double *scratch, double *inverse, double *scale
) noexcept nogil:
    """Give every row a scale, and rows outside the ball theirs; a row whose integers leave the ball counts as zero."""
    cdef double *squared = scratch + MOST_BLOCK_ROWS * p.stride
    cdef double *unused = squared + MOST_BLOCK_ROWS + 8
    cdef double *projected = unused + MOST_BLOCK_ROWS + 8
    cdef Py_ssize_t start = 0, rows, r, i
    cdef double largest
    cdef bint outside[MOST_BLOCK_ROWS]
    while start < p.X.n:
        rows = min(MOST_BLOCK_ROWS, p.X.n - start)
        p.scale = NULL
        measure(p, start, rows, scratch, squared, unused)
        p.scale = scale
        for r in range(rows):
            i = start + r
            largest = read_row(&p.X, i, scratch) if not squared[r] <= SQUARED_GRID else INFINITY
            outside[r] = largest <= LARGEST
            if outside[r]:
                scale[i] = scale_onto_ball(scratch, p.X.d, largest)
        measure(p, start, rows, scratch, projected, unused)
        for r in range(rows):
            i = start + r
            if outside[r]:
                inverse[i] = inverse[i] * inverse_norm(p, projected[r]) if projected[r] <= SQUARED_GRID else 0.0
        start += rows


cdef double scale_onto_ball(double *row, Py_ssize_t d, double largest) noexcept nogil:
    """Grid units in 1.0 that take a row to norm (2^20 - sqrt(d)/2)(1 - 2^-40): still inside when rounded."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(d):
        row[j] /= largest
    for j in range(d):
        total += row[j] * row[j]
    return (GRID - 0.5 * sqrt(<double> d)) * (1.0 - 1.0 / SQUARED_GRID) / sqrt(total) / largest
