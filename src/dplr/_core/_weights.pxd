# Factors of rows: weights and, in the Gram kernel, multipliers.
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from dplr._core._tiles cimport ROOT_UNITS


cdef inline int check_weights(const double[::1] weights, Py_ssize_t n) except -1:
    """ValueError unless they are n numbers from 0 to 1."""
    cdef Py_ssize_t r, outside = 0
    for r in range(weights.shape[0]):
        outside += 0 if (weights[r] >= 0.0) & (weights[r] <= 1.0) else 1
    if outside or weights.shape[0] != n:
        raise ValueError("weights must be one number from 0 to 1 for each row")
    return 0


cdef inline bint are_multipliers(const int64_t[::1] multipliers, Py_ssize_t n) noexcept nogil:
    """Whether they are n integers from 0 to 2^30."""
    cdef Py_ssize_t r
    cdef bint fine = multipliers.shape[0] == n
    for r in range(multipliers.shape[0]):
        fine &= 0 <= multipliers[r] <= <int64_t> 1073741824
    return fine


cdef inline double root_of_weight(double weight) noexcept nogil:
    """The root of a weight truncated to a multiple of 1 / ROOT_UNITS, exactly: weight * ROOT_UNITS^2 is whole."""
    return <double> <int64_t> (sqrt(weight) * ROOT_UNITS) * (1.0 / ROOT_UNITS)
