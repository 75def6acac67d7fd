from libc.stdint cimport int64_t

from dplr._core._tiles cimport Map, floating

cdef bint snap_block(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, double *squared_norm, double *excess
) noexcept nogil

cdef int64_t count_outside(const double *squared_norm, Py_ssize_t rows, Py_ssize_t d) noexcept nogil

cdef void settle_odd_rows(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, const double *squared_norm, int64_t *faults, int64_t *outside
) noexcept nogil
