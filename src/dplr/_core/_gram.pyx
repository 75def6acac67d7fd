"""Gram matrix of a packed block: exact, because the entries are integers held in float64.

Compiled with permission to reassociate sums. Every product is an integer of at most 2^40 and a block sum at most
2^53, so each order of summation gives the same bits; nothing else in the package may be compiled this way.
"""


cdef void add_tile_4(
    const double *a0, const double *a1, const double *b0, Py_ssize_t stride, Py_ssize_t rows, double *out0, double *out1
) noexcept nogil:
    """Products of two columns with four: eight sums that stay in registers."""
    cdef const double *b1 = b0 + stride
    cdef const double *b2 = b1 + stride
    cdef const double *b3 = b2 + stride
    cdef double s00 = 0.0, s01 = 0.0, s02 = 0.0, s03 = 0.0, s10 = 0.0, s11 = 0.0, s12 = 0.0, s13 = 0.0
    cdef Py_ssize_t r
    for r in range(rows):
        s00 += a0[r] * b0[r]
        s01 += a0[r] * b1[r]
        s02 += a0[r] * b2[r]
        s03 += a0[r] * b3[r]
        s10 += a1[r] * b0[r]
        s11 += a1[r] * b1[r]
        s12 += a1[r] * b2[r]
        s13 += a1[r] * b3[r]
    out0[0] += s00
    out0[1] += s01
    out0[2] += s02
    out0[3] += s03
    out1[0] += s10
    out1[1] += s11
    out1[2] += s12
    out1[3] += s13


cdef void add_tile_2(
    const double *a0, const double *a1, const double *b0, Py_ssize_t stride, Py_ssize_t rows, double *out0, double *out1
) noexcept nogil:
    """Products of two columns with two: what is left of an even number of columns."""
    cdef const double *b1 = b0 + stride
    cdef double s00 = 0.0, s01 = 0.0, s10 = 0.0, s11 = 0.0
    cdef Py_ssize_t r
    for r in range(rows):
        s00 += a0[r] * b0[r]
        s01 += a0[r] * b1[r]
        s10 += a1[r] * b0[r]
        s11 += a1[r] * b1[r]
    out0[0] += s00
    out0[1] += s01
    out1[0] += s10
    out1[1] += s11


cdef void add_gram(
    const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, Py_ssize_t rows, double *gram
) noexcept nogil:
    """Add columns' columns to the upper triangle of `gram`, which is row-major (n_columns, n_columns).

    Column j is `columns[j * stride : j * stride + rows]`; n_columns is even. Tiles on the diagonal also write one entry
    below it, which nobody reads.
    """
    cdef Py_ssize_t i, j
    cdef const double *a0
    cdef double *row
    for i in range(0, n_columns, 2):
        a0 = columns + i * stride
        row = gram + i * n_columns
        for j in range(i, n_columns - 3, 4):
            add_tile_4(a0, a0 + stride, columns + j * stride, stride, rows, row + j, row + n_columns + j)
        if (n_columns - i) % 4:
            j = n_columns - 2
            add_tile_2(a0, a0 + stride, columns + j * stride, stride, rows, row + j, row + n_columns + j)


cdef void add_column_sums(
    const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, Py_ssize_t rows, double *sums
) noexcept nogil:
    """Add the sum of each column: what products with a constant column need."""
    cdef Py_ssize_t j, r
    cdef double total
    for j in range(n_columns):
        total = 0.0
        for r in range(rows):
            total += columns[j * stride + r]
        sums[j] += total


def gram(const double[:, ::1] columns, double[:, ::1] out):
    """Add columns @ columns.T to the upper triangle of `out`; for tests of the inner kernel alone."""
    if columns.shape[0] % 2 or out.shape[0] != columns.shape[0] or out.shape[1] != columns.shape[0]:
        raise ValueError("columns must be (2k, rows) and out (2k, 2k)")
    if columns.shape[0] and columns.shape[1]:
        with nogil:
            add_gram(&columns[0, 0], columns.shape[0], columns.shape[1], columns.shape[1], &out[0, 0])
