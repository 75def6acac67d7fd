from libc.stdint cimport int64_t

from dplr._core._tiles cimport ClipPass

ctypedef void (*MeasureRows)(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
) noexcept nogil

cdef double inverse_norm(const ClipPass *p, double squared_norm) noexcept nogil

cdef Py_ssize_t survey_rows(
    ClipPass *p, MeasureRows measure, double *scratch, double *inverse, int64_t *faults
) noexcept nogil

cdef void project_rows(
    ClipPass *p, MeasureRows measure, double *scratch, double *inverse, double *scale
) noexcept nogil
