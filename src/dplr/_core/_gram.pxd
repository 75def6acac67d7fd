cdef void add_gram(
    const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, Py_ssize_t rows, double *gram
) noexcept nogil

cdef void add_column_sums(
    const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, Py_ssize_t rows, double *sums
) noexcept nogil
