from libc.stdint cimport int64_t

from dplr._core._tiles cimport ClipPass, Tiles


cdef class GridRows:
    cdef ClipPass base
    cdef const Tiles *tiles
    cdef const Tiles *widest
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t q
    cdef readonly object faults
    cdef object owners
    cdef object allocate

    cdef survey(self, double[::1] inverse, int64_t[::1] faults)
    cdef copy_rows(self, bint by_columns, float *out)
