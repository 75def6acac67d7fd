"""Rows in the cells of a signed exponential grid, counted as whole numbers.

A cell is a function of one value alone: of its sign, its power of two and the first bits of its fraction.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef enum:
    BITS_OF_FRACTION = 10   # of a cell: 2^10 cells in each power of two
    LEAST_POWER = -30       # smaller numbers are in the cell of zero,
    END_POWER = 50          # larger ones in the last cell of their sign

FRACTION_BITS = BITS_OF_FRACTION
POWERS = (LEAST_POWER, END_POWER)
cdef int64_t LAST = (END_POWER - LEAST_POWER) << BITS_OF_FRACTION


def count_cells(const double[::1] values, const int64_t[::1] shares, int64_t[::1] counts, int64_t unit=1):
    """Add the share of each value to its cell; a NaN is in no cell.

    Parameters
    ----------
    values : (n,) numbers.
    shares : (n,) whole numbers from 0 on; None for `unit` each.
    counts : (2 LAST + 1,) sums by cell, from the largest negative numbers over zero to the largest ones.
    """
    cdef Py_ssize_t k, n = values.shape[0]
    cdef uint64_t bits = 0
    cdef int64_t cell
    cdef double value
    if counts.shape[0] != 2 * LAST + 1 or (shares is not None and shares.shape[0] != n):
        raise ValueError("counts must have a number for each cell, and shares one for each value")
    with nogil:
        for k in range(n):
            value = values[k]
            if value != value:
                continue
            memcpy(&bits, &value, 8)
            cell = <int64_t> (bits >> (52 - BITS_OF_FRACTION) & ((<uint64_t> 1 << (11 + BITS_OF_FRACTION)) - 1))
            cell -= ((<int64_t> 1023 + LEAST_POWER) << BITS_OF_FRACTION) - 1
            cell = 0 if cell < 0 else LAST if cell > LAST else cell
            cell = LAST - cell if bits >> 63 else LAST + cell
            counts[cell] += unit if shares is None else shares[k]
