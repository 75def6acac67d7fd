from libc.stdint cimport int64_t

from dplr._core._clip_rows cimport ClipModel, ClipPanel, ClipPass, ClipWork

cdef extern from "clip.h":
    ctypedef struct Tiles:
        void (*measure_rows)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
        ) noexcept nogil
        void (*add_clipped)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
        ) noexcept nogil
        void (*add_clipped_many)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count,
            double *block
        ) noexcept nogil
        void (*add_columns)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *models, Py_ssize_t count,
            double *sums, double *gradients
        ) noexcept nogil


cdef class GridRows:
    cdef ClipPass base
    cdef const Tiles *tiles
    cdef const Tiles *widest
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t q
    cdef readonly object faults
    cdef object owners

    cdef survey(self, double[::1] inverse, int64_t[::1] faults)
    cdef copy_rows(self, bint by_columns, float *out)
