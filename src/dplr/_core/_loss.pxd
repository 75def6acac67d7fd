from libc.stdint cimport int64_t

from dplr._core._row_map cimport RowMap
from dplr._core._targets cimport Targets
from dplr._core._tiles cimport LossPass, LossShape, LossWork

ctypedef void (*AddRows)(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil

cdef struct Sums:
    # Compensated sums hi + lo of gradient (q) and loss (1), and the Hessian (q, q), upper triangle; NULL for none.
    double *hi
    double *lo
    double *hessian

cdef LossShape loss_shape(kernel, double width) except *

cdef class LossRows:
    cdef LossPass base          # rows and public constants; loss and point are set for each pass
    cdef Targets targets
    cdef AddRows add_rows
    cdef bint beyond            # whether the last pass saw a row that was not surely inside the ball
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t q
    cdef Py_ssize_t gram_stride
    cdef LossWork work
    cdef Sums chunk
    cdef double *coef           # zeros behind the coefficients
    cdef double[::1] memory
    cdef int64_t[::1] seen
    cdef RowMap row_map
    cdef object owners
    cdef void sum_chunk(self, const LossPass *p, Py_ssize_t start, Py_ssize_t rows) noexcept nogil
    cdef void sum_rows(self, const LossPass *p, const double *coef, Py_ssize_t n, Sums *out) noexcept nogil
