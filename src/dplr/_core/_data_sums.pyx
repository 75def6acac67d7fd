"""Sums over rows for Newton's method: `NativeSums` reads an array on one thread without Python; `CalledSums` calls a
Python function, which may use threads or read files.
"""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset

from dplr._core._dense cimport add_scaled
from dplr._core._loss cimport LossRows, Sums, loss_shape


cdef class DataSums:
    """The base of sums over rows."""

    cdef int measure(self, double *coef, bint hessian) except -1:
        """Fill `gradient` and, where asked, the upper triangle of `hessian`. Abstract: Cython has no keyword for it."""
        raise NotImplementedError


cdef class CalledSums(DataSums):
    """Sums that measure(coef, hessian) returns as (gradient, hessian or None).

    Parameters
    ----------
    n, q : rows summed, and length of the coefficients.
    call : the function.
    """

    def __init__(self, Py_ssize_t n, Py_ssize_t q, call):
        self.n, self.q, self.call = n, q, call

    cdef int measure(self, double *coef, bint hessian) except -1:
        self.calls += 1
        gradient, matrix = self.call(np.array(<double[:self.q]> coef), hessian)
        self.gradient = gradient
        if hessian:
            self.hessian = matrix
        if self.gradient.shape[0] != self.q or hessian and (
                self.hessian.shape[0] != self.q or self.hessian.shape[1] != self.q):
            raise ValueError("gradient must have q entries, and hessian q rows of q")
        return 0


cdef class NativeSums(DataSums):
    """Sums over the rows of an array, on the calling thread.

    Parameters
    ----------
    rows : the array with its scratch.
    kernel, width : the loss; its name or its `Knots`.
    """

    def __init__(self, LossRows rows, kernel, double width):
        self.rows, self.kernel = rows, kernel
        self.n, self.q = rows.n, rows.q
        self.plan = rows.base
        self.plan.shape = loss_shape(kernel, width)
        self.plan.coef = rows.coef
        self.plan.count_outside = True
        self.gradient, self.low = np.empty(self.q + 1), np.empty(self.q + 1)
        self.hessian = np.empty((self.q, self.q))

    @property
    def seen(self):
        """Faults (2,) and values outside (d + 1,), as the first pass counted them; None before it."""
        return self.first_seen

    cdef int measure(self, double *coef, bint hessian) except -1:
        cdef Sums out
        cdef Py_ssize_t q = self.q
        PyErr_CheckSignals()
        out.hi, out.lo, out.hessian = &self.gradient[0], &self.low[0], NULL
        memset(out.hi, 0, (q + 1) * sizeof(double))
        memset(out.lo, 0, (q + 1) * sizeof(double))
        self.plan.hessian = hessian
        if hessian:
            out.hessian = &self.hessian[0, 0]
            memset(out.hessian, 0, q * q * sizeof(double))
        with nogil:
            self.rows.sum_rows(&self.plan, coef, self.n, &out)
            add_scaled(out.hi, 1.0, out.lo, q)
        if self.plan.count_outside:
            self.first_seen = np.array(self.rows.seen)
        self.plan.count_outside = False
        self.plan.inside = not self.plan.map.box and not self.rows.beyond
        self.calls += 1
        return 0
