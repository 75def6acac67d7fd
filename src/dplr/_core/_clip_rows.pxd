from dplr._core._tiles cimport ClipModel, ClipPanel, ClipPass, ClipWork

cdef void measure_rows_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
) noexcept nogil

cdef void add_clipped_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
) noexcept nogil

cdef void add_clipped_many_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count, double *block
) noexcept nogil
