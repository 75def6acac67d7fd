cdef void add_gram(const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, double *gram) noexcept nogil
