from dplr._core._tiles cimport LossPass, LossWork, Map

ctypedef bint (*SignLabels)(const Map *to_grid, Py_ssize_t rows, double *target) noexcept nogil

cdef struct Targets:
    # Raw targets, float64, int64 or bytes, and the CPU path's way from labels to signs; weights, NULL for ones.
    const char *data
    Py_ssize_t stride
    int kind
    SignLabels sign_labels
    const double *weights

cdef bint sign_labels_portably(const Map *to_grid, Py_ssize_t rows, double *target) noexcept nogil

cdef void load_targets(
    const Targets *targets, const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil
