from libc.stdint cimport int64_t

cdef extern from "tiles.h":
    const Py_ssize_t PACK_ROWS
    const Py_ssize_t STRIDE
    const Py_ssize_t FLUSH_ROWS
    const double GRID
    const double SQUARED_GRID
    const double ROUNDER
    const double LARGEST
    const double SLACK
    const int64_t LOW_LIMB

    ctypedef struct Map:
        # From raw values to grid units: public constants only.
        const double *shift
        const double *scale
        const double *low
        const double *high
        bint box
        bint labels
        double negative
        double positive

ctypedef fused floating:
    float
    double

cdef bint snap_block(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, double *squared_norm, double *excess
) noexcept nogil

cdef void settle_odd_rows(
    const floating[:, :] X, const double *labels, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid,
    double *columns, double *target, const double *squared_norm, int64_t *faults, int64_t *outside
) noexcept nogil
