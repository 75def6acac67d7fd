"""The shares of knots in the numbers of a curve."""
from libc.stdint cimport int64_t

from dplr._core._codes cimport Knots, knots_up_to


cdef inline int64_t write_shares(
    const Knots *known, bint line, bint filled, double filler, Py_ssize_t mark, const double *values, Py_ssize_t n,
    double *out, Py_ssize_t width
) noexcept nogil:
    """Write each number, and its shares of the two knots beside it; how many are missing and count as something."""
    cdef const double *knots = known.knots
    cdef double low = knots[0], high = knots[known.count - 1], value, share
    cdef Py_ssize_t k, lower
    cdef int64_t missing = 0
    cdef double *row
    for k in range(n):
        row, value = out + k * width, values[k]
        if value != value and filled:
            missing += 1
            value = filler
            if mark:
                row[mark] = 1.0
                if line:
                    row[0] = value
                continue
        if line or value - value != 0:  # refused, where it is not finite
            row[0] = value
        if value - value != 0:
            continue
        value = min(max(value, low), high)
        lower = min(knots_up_to(known, value), known.count - 1) - 1
        share = (value - knots[lower]) / (knots[lower + 1] - knots[lower])
        row[line + lower], row[line + lower + 1] = 1.0 - share, share
    return missing
