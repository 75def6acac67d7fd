"""Gram matrix of a packed block: exact, because the entries are integers held in float64.

Compiled with permission to reassociate sums. Every product is an integer of at most 2^40 and a block sum at most
2^53, so each order of summation gives the same bits; nothing else in the package may be compiled this way.
"""


cdef void add_gram(
    const double *columns, Py_ssize_t n_columns, Py_ssize_t stride, Py_ssize_t rows, double *gram
) noexcept nogil:
    """Add columns' columns to the upper triangle of `gram`.

    Column j is `columns[j * stride : j * stride + rows]`; `gram` is row-major (n_columns, n_columns). n_columns is a
    multiple of 4. Tiles of 2 x 4 columns keep eight sums in registers; those on the diagonal also write a few entries
    of the lower triangle, which nobody reads.
    """
    cdef Py_ssize_t i, j, r
    cdef const double *a0
    cdef const double *a1
    cdef const double *b0
    cdef const double *b1
    cdef const double *b2
    cdef const double *b3
    cdef double *row
    cdef double s00, s01, s02, s03, s10, s11, s12, s13
    for i in range(0, n_columns, 2):
        a0 = columns + i * stride
        a1 = a0 + stride
        for j in range(i & ~<Py_ssize_t>3, n_columns, 4):
            b0 = columns + j * stride
            b1 = b0 + stride
            b2 = b1 + stride
            b3 = b2 + stride
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
            for r in range(rows):
                s00 += a0[r] * b0[r]
                s01 += a0[r] * b1[r]
                s02 += a0[r] * b2[r]
                s03 += a0[r] * b3[r]
                s10 += a1[r] * b0[r]
                s11 += a1[r] * b1[r]
                s12 += a1[r] * b2[r]
                s13 += a1[r] * b3[r]
            row = gram + i * n_columns + j
            row[0] += s00
            row[1] += s01
            row[2] += s02
            row[3] += s03
            row += n_columns
            row[0] += s10
            row[1] += s11
            row[2] += s12
            row[3] += s13


def gram(const double[:, ::1] columns, double[:, ::1] out):
    """Add columns @ columns.T to the upper triangle of `out`; for tests of the inner kernel alone."""
    if columns.shape[0] % 4 or out.shape[0] != columns.shape[0] or out.shape[1] != columns.shape[0]:
        raise ValueError("columns must be (4k, rows) and out (4k, 4k)")
    if columns.shape[0] and columns.shape[1]:
        with nogil:
            add_gram(&columns[0, 0], columns.shape[0], columns.shape[1], columns.shape[1], &out[0, 0])
