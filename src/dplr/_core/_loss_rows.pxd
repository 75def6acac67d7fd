from libc.stdint cimport int64_t

from dplr._core._snap cimport Map

cdef extern from "loss.h":
    const Py_ssize_t GROUP_ROWS
    const Py_ssize_t MOST_BLOCK_ROWS
    const double LARGE
    const int LOGISTIC
    const int HUBER_SVM
    const int SQUARED
    const int HUBER_RESIDUAL

    ctypedef struct Rows:
        const char *data
        Py_ssize_t n
        Py_ssize_t d
        Py_ssize_t row_stride
        Py_ssize_t column_stride
        bint single

    ctypedef struct LossWork:
        double *target
        double *block
        Py_ssize_t stride
        double *live
        double *residual
        double *root
        double *constant
        double *partial
        double *columns
        double *gradient
        double *gram
        double *sums
        int64_t *faults
        int64_t *outside

    ctypedef struct LossPass:
        Rows X
        Map map
        double intercept
        int kind
        double width
        bint hessian
        bint loss
        bint count_outside
        bint inside
        double edge
        double far
        const double *coef
        void (*settle)(
            const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const double *targets, const LossWork *work
        ) noexcept nogil

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
    int kind, double width, double m, double target, double *residual, double *weight, double *loss
) noexcept nogil
