from dplr._core._tiles cimport KnotsShape, LossPass, LossShape, LossWork, Rows

cdef void settle_rows(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const double *targets, const LossWork *work
) noexcept nogil

cdef void add_loss_portably(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil

cdef double raw_entry(const Rows *X, Py_ssize_t i, Py_ssize_t j) noexcept nogil

cdef bint is_finite_raw(const Rows *X, Py_ssize_t i) noexcept nogil

cdef double sigmoid(double z) noexcept nogil

cdef double softplus(double z) noexcept nogil

cdef void bound_rows(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, double *targets, const LossWork *work
) noexcept nogil

cdef void curve(
    const LossShape *shape, double m, double target, double *residual, double *weight, double *loss
) noexcept nogil

cdef double slope_at(const KnotsShape *knots, double place, const double **piece, double *part) noexcept nogil
