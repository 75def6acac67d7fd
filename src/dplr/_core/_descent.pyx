"""Two helpers of the descent: exact sums in whole grid units, before noise, and a step along the gradient, after it."""
from libc.stdint cimport int64_t


def floor_limbs(const int64_t[::1] hi, const int64_t[::1] lo, int shift, int64_t[::1] out):
    """Write (hi * 2^32 + lo) / 2^shift, rounded down, for 0 <= lo < 2^32 and 0 <= shift <= 32.

    Returns whether all are below 2^62 and were written.
    """
    cdef Py_ssize_t i
    cdef int64_t limit
    if not 0 <= shift <= 32:
        raise ValueError("shift must be in [0, 32]")
    limit = (<int64_t> 1) << (30 + shift)
    if hi.shape[0] != out.shape[0] or lo.shape[0] != out.shape[0]:
        raise ValueError("hi, lo and out must have equal lengths")
    for i in range(out.shape[0]):
        if not -limit < hi[i] < limit:
            return False
        out[i] = hi[i] * ((<int64_t> 1) << (32 - shift)) + (lo[i] >> shift)
    return True


def go_down(
    const double[:, :] gradients, double rows, double l2, const double[::1] center, double momentum,
    double learning_rate, double[:, ::1] velocity, double[:, ::1] coefs,
):
    """One step of each model: velocity and coefs (models, q) become those after it.

    With s = gradients / rows + l2 (coefs - center), velocity <- momentum velocity + (1 - momentum) s, and
    coefs <- coefs - learning_rate velocity. Every operation rounds once, in this order.
    """
    cdef Py_ssize_t m, j
    cdef double slope, share = 1 - momentum
    if gradients.shape[0] != coefs.shape[0] or velocity.shape[0] != coefs.shape[0]:
        raise ValueError("gradients, velocity and coefs must have a row for each model")
    if gradients.shape[1] != coefs.shape[1] or velocity.shape[1] != coefs.shape[1] or center.shape[0] != coefs.shape[1]:
        raise ValueError("gradients, center, velocity and coefs must have an entry for each coefficient")
    for m in range(coefs.shape[0]):
        for j in range(coefs.shape[1]):
            slope = gradients[m, j] / rows
            if l2 != 0:
                slope += l2 * (coefs[m, j] - center[j])
            velocity[m, j] = velocity[m, j] * momentum + slope * share
            coefs[m, j] -= learning_rate * velocity[m, j]
