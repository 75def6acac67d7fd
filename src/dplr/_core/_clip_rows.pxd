from libc.stdint cimport int64_t

from dplr._core._loss_rows cimport Rows
from dplr._core._snap cimport Map

cdef extern from "clip.h":
    enum: PANEL_MODELS
    enum: TILE_ROWS
    enum: MOST_COLUMNS
    const float POWER_1
    const float POWER_2
    const float POWER_3
    const float POWER_4
    const float POWER_5
    const float LOG2_OF_E
    const float STEEPEST
    const float ROUNDER_SINGLE

    ctypedef struct ClipPass:
        Rows X
        Map map
        Py_ssize_t q
        Py_ssize_t stride
        double cube
        const double *constants
        const double *scale
        const double *inverse
        const double *target
        const float *kept
        const float *columns
        const int64_t *index
        int kind
        double width
        double slope

    ctypedef struct ClipModel:
        const double *coef
        double per_unit
        double clip

    ctypedef struct ClipWork:
        double *block
        double *residual
        double *gradient

    ctypedef struct ClipPanel:
        const double *coefs
        const double *per_unit
        const double *clip
        double *margins
        double *gradients

cdef void measure_rows_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
) noexcept nogil

cdef void add_clipped_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
) noexcept nogil

cdef void add_clipped_many_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count, double *block
) noexcept nogil
