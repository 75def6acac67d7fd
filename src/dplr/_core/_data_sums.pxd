from dplr._core._loss cimport LossRows
from dplr._core._tiles cimport LossPass

cdef class DataSums:
    # `measure` fills `gradient` and, where asked, the upper triangle of `hessian`.
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t q
    cdef readonly Py_ssize_t calls
    cdef double[::1] gradient
    cdef double[:, ::1] hessian
    cdef int measure(self, double *coef, bint hessian) except -1

cdef class CalledSums(DataSums):
    cdef object call

cdef class NativeSums(DataSums):
    cdef LossRows rows
    cdef object kernel
    cdef LossPass plan
    cdef double[::1] low
    cdef object first_seen
