# Vectors and small dense matrices, for Newton's method and its sums. Plain loops in a fixed order, so that results do
# not depend on the version of a library.
from libc.math cimport sqrt


cdef inline double dot(const double *a, const double *b, Py_ssize_t q) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t j
    for j in range(q):
        total += a[j] * b[j]
    return total


cdef inline double length(const double *a, Py_ssize_t q) noexcept nogil:
    return sqrt(dot(a, a, q))


cdef inline void add_scaled(double *out, double factor, const double *a, Py_ssize_t q) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(q):
        out[j] += factor * a[j]


cdef inline void apply_upper(const double *upper, Py_ssize_t q, const double *x, double *out) noexcept nogil:
    """out := the symmetric matrix in the upper triangle, times x."""
    cdef Py_ssize_t j, k
    for j in range(q):
        out[j] = 0.0
    for j in range(q):
        out[j] += dot(upper + j * q + j, x + j, q - j)
        for k in range(j + 1, q):
            out[k] += upper[j * q + k] * x[j]


cdef inline void add_exactly(double *hi, double *lo, double value) noexcept nogil:
    """hi + lo + value, without error in hi: Knuth's sum of two numbers."""
    cdef double total = hi[0] + value, part = total - hi[0]
    lo[0] += (hi[0] - (total - part)) + (value - part)
    hi[0] = total


cdef inline void settle_pair(double *hi, double *lo) noexcept nogil:
    """Make hi the rounded hi + lo, and lo the rest."""
    cdef double low = lo[0]
    lo[0] = 0.0
    add_exactly(hi, lo, low)


cdef inline void add_pair(double *hi, double *lo, double value, double rest) noexcept nogil:
    """hi + lo + (value + rest), settled: what lo loses stays as small as its own last place.

    Whether value + rest was settled before changes no bit.
    """
    settle_pair(&value, &rest)
    add_exactly(hi, lo, value)
    lo[0] += rest
    settle_pair(hi, lo)


cdef inline bint factorise(double *upper, Py_ssize_t q) noexcept nogil:
    """Cholesky factor U of the symmetric matrix in the upper triangle, U'U = matrix, row by row and in place.

    Pivots are kept above rounding, so that the factor is that of a positive definite matrix nearby. Returns whether
    rounding explains all that was negative.
    """
    cdef Py_ssize_t i, j, k
    cdef double largest = 0.0, pivot
    cdef bint convex = True
    cdef double *row
    for k in range(q):
        largest = max(largest, upper[k * q + k])
    for k in range(q):
        row = upper + k * q
        convex &= not row[k] < -1e-10 * largest
        pivot = row[k] if row[k] > 1e-15 * largest else 1e-15 * largest
        pivot = sqrt(pivot)
        row[k] = pivot
        for j in range(k + 1, q):
            row[j] /= pivot
        for i in range(k + 1, q):
            add_scaled(upper + i * q + i, -row[i], row + i, q - i)
    return convex


cdef inline void solve_factorised(const double *upper, Py_ssize_t q, double *x) noexcept nogil:
    """x := (U'U)^-1 x."""
    cdef Py_ssize_t k
    for k in range(q):
        x[k] /= upper[k * q + k]
        add_scaled(x + k + 1, -x[k], upper + k * q + k + 1, q - k - 1)
    for k in range(q - 1, -1, -1):
        x[k] = (x[k] - dot(upper + k * q + k + 1, x + k + 1, q - k - 1)) / upper[k * q + k]
