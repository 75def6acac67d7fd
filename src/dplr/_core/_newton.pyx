"""Newton's method with a certificate, for sums of convex losses and a ridge, wherever the sums come from.

Few rows: Newton. Many rows: Newton on a sample, whose Hessian then preconditions L-BFGS on all rows. Nothing here
decides how small the gradient must be, and nothing raises, warns or counts except for the caller. `loss.md` proves that
the steps end.
"""
import numpy as np

from libc.math cimport sqrt
from libc.string cimport memcpy

from dplr._core._data_sums cimport DataSums
from dplr._core._dense cimport add_scaled, dot, factorise, length, solve_factorised

cdef enum:
    PAIRS = 10              # of steps and gradients that L-BFGS remembers
    SAMPLE_STEPS = 60       # Newton steps on the sample, which only makes a start
    SHORTENINGS = 60        # of one step


cdef class Search:
    """A point, its gradient, and the way from there.

    The objective is scale * sum of losses + ridge ||w - center||^2 / 2 + linear.w; scale is 1 except for a sample.
    """
    cdef DataSums sums
    cdef Py_ssize_t q
    cdef double scale, ridge, gradient_norm, mark
    cdef const double[::1] center
    cdef const double[::1] linear
    cdef double[:, ::1] vectors     # point, gradient, trial point, its gradient, direction
    cdef double[:, ::1] factor
    cdef double[:, ::1] steps
    cdef double[:, ::1] changes
    cdef double[::1] products
    cdef Py_ssize_t pairs
    cdef double *point
    cdef double *gradient
    cdef double *trial
    cdef double *trial_gradient
    cdef double *direction

    def __init__(self, DataSums sums, double scale, double ridge, const double[::1] center, const double[::1] linear):
        cdef Py_ssize_t q = sums.q
        self.sums, self.q, self.scale, self.ridge, self.center, self.linear = sums, q, scale, ridge, center, linear
        self.vectors = np.zeros((5, q))
        self.point, self.gradient = &self.vectors[0, 0], &self.vectors[1, 0]
        self.trial, self.trial_gradient = &self.vectors[2, 0], &self.vectors[3, 0]
        self.direction = &self.vectors[4, 0]
        self.factor = np.zeros((q, q))

    cdef int measure(self, double *point, double *gradient, bint hessian) except -1:
        """Gradient of the objective; with `hessian` that of the losses is left in sums.hessian for `adopt_hessian`."""
        cdef Py_ssize_t j
        self.sums.measure(point, hessian)
        for j in range(self.q):
            gradient[j] = (
                (self.scale * self.sums.gradient[j] + self.ridge * (point[j] - self.center[j])) + self.linear[j])
        return 0

    cdef void adopt_hessian(self) noexcept:
        """Factorise the Hessian that was measured last."""
        cdef Py_ssize_t j, k, q = self.q
        cdef double *out = &self.factor[0, 0]
        memcpy(out, &self.sums.hessian[0, 0], q * q * sizeof(double))
        for j in range(q):
            for k in range(j, q):
                out[j * q + k] *= self.scale
            out[j * q + j] += self.ridge
        factorise(out, q)

    cdef int begin(self, const double *point, bint hessian) except -1:
        memcpy(self.point, point, self.q * sizeof(double))
        self.measure(self.point, self.gradient, hessian)
        self.gradient_norm = self.mark = length(self.gradient, self.q)
        return 0

    cdef void move(self) noexcept:
        """Make the trial point the point."""
        memcpy(self.point, self.trial, self.q * sizeof(double))
        memcpy(self.gradient, self.trial_gradient, self.q * sizeof(double))
        self.gradient_norm = length(self.gradient, self.q)
        if self.gradient_norm <= 0.5 * self.mark:
            self.mark = self.gradient_norm

    cdef int newton_step(self) except -1:
        """One step with the Hessian at the point, which was measured last; measures that at the next point.

        Accepted are a point where the function still falls along the step, which for a convex function proves descent
        without its value, and the whole step where it halves the shortest gradient so far. Otherwise the step is
        shortened.
        """
        cdef double t = 1.0, slope, downhill
        cdef Py_ssize_t q = self.q, j, shortening
        self.adopt_hessian()
        for j in range(q):
            self.direction[j] = -self.gradient[j]
        solve_factorised(&self.factor[0, 0], q, self.direction)
        downhill = -dot(self.gradient, self.direction, q)
        for shortening in range(SHORTENINGS):
            for j in range(q):
                self.trial[j] = self.point[j] + t * self.direction[j]
            self.measure(self.trial, self.trial_gradient, True)
            if shortening == 0 and length(self.trial_gradient, q) <= 0.5 * self.mark:
                break
            slope = dot(self.trial_gradient, self.direction, q)
            if slope <= 0:
                break
            # Where a parabola through both slopes has its minimum, within [t / 10, t / 2].
            t *= min(0.5, max(0.1, downhill / (downhill + slope))) if slope == slope else 0.1
        self.move()
        return 0

    cdef void two_loops(self) noexcept:
        """direction := -(L-BFGS matrix) gradient, the factor's inverse in its middle."""
        cdef Py_ssize_t q = self.q, age, k, kept = min(self.pairs, PAIRS), j
        cdef double weights[PAIRS]
        cdef double back
        for j in range(q):
            self.direction[j] = -self.gradient[j]
        for age in range(1, kept + 1):
            k = (self.pairs - age) % PAIRS
            weights[k] = dot(&self.steps[k, 0], self.direction, q) / self.products[k]
            add_scaled(self.direction, -weights[k], &self.changes[k, 0], q)
        solve_factorised(&self.factor[0, 0], q, self.direction)
        for age in range(kept, 0, -1):
            k = (self.pairs - age) % PAIRS
            back = dot(&self.changes[k, 0], self.direction, q) / self.products[k]
            add_scaled(self.direction, weights[k] - back, &self.steps[k, 0], q)

    cdef bint quasi_newton_step(self) except -1:
        """One full step of preconditioned L-BFGS. Returns whether it halved the gradient."""
        cdef Py_ssize_t q = self.q, j, k = self.pairs % PAIRS
        cdef double shorter
        cdef bint halved
        self.two_loops()
        for j in range(q):
            self.trial[j] = self.point[j] + self.direction[j]
        self.measure(self.trial, self.trial_gradient, False)
        shorter = length(self.trial_gradient, q)
        if not shorter < self.gradient_norm:
            return False
        for j in range(q):
            self.steps[k, j] = self.direction[j]
            self.changes[k, j] = self.trial_gradient[j] - self.gradient[j]
        self.products[k] = dot(&self.steps[k, 0], &self.changes[k, 0], q)
        self.pairs += self.products[k] > 0
        halved = shorter <= 0.5 * self.gradient_norm
        self.move()
        return halved

    cdef void remember(self):
        """Make room for L-BFGS."""
        self.steps, self.changes = np.zeros((PAIRS, self.q)), np.zeros((PAIRS, self.q))
        self.products = np.zeros(PAIRS)
        self.pairs = 0


def minimise(
    DataSums sums, sample, double ridge, const double[::1] center, const double[::1] linear, double tau,
    double rounding, double rounding_slope, Py_ssize_t cap,
):
    """Coefficients at which gradient + rounding error <= tau, or None when `cap` calls of `sums` were not enough.

    Where rounding may be half of tau, it ends at a gradient of eight times that, for others to go on from there.

    Parameters
    ----------
    sums : over all rows.
    sample : `DataSums` over some of them, or None for Newton on all rows.
    ridge, center, linear : the objective beside the losses, in sum form.
    rounding, rounding_slope : the computed gradient at w is off by at most rounding + rounding_slope ||w||.

    Returns
    -------
    coef (q,) and the certified bound on the gradient's norm, above tau if rounding hides more; or None, infinity.
    """
    cdef Search search = Search(sums, 1.0, ridge, center, linear), start
    cdef Py_ssize_t q = sums.q
    cdef double bound, hidden, target
    cdef Py_ssize_t chances = 0 if sample is None else 2    # for L-BFGS: with the sample's Hessian, then with all rows'
    cdef DataSums few
    if center.shape[0] != q or linear.shape[0] != q:
        raise ValueError("center and linear must have one entry for each coefficient")
    if chances:
        few = sample
        start = Search(few, <double> sums.n / few.n, ridge, center, linear)
        start.begin(&center[0], True)
        # Closer to the sample's minimum than that is from the minimum over all rows.
        target = 0.1 * start.gradient_norm / sqrt(<double> few.n) * sqrt(<double> q)
        while start.gradient_norm > target and few.calls < SAMPLE_STEPS:
            start.newton_step()
        start.adopt_hessian()
        search.factor = start.factor
        search.remember()
        search.begin(start.point, False)
    else:
        search.begin(&center[0], True)
    while True:
        # The last factors cover the rounding of the two norms.
        hidden = rounding + rounding_slope * length(search.point, q) * (1 + 1e-12)
        bound = search.gradient_norm * (1 + 1e-12) + hidden
        if bound <= tau or tau <= 2 * hidden and search.gradient_norm <= 8 * hidden:
            return np.array(search.vectors[0]), bound
        if sums.calls >= cap:
            return None, np.inf
        if chances == 0:
            search.newton_step()
        elif not search.quasi_newton_step():
            chances -= 1
            search.measure(search.point, search.gradient, True)
            search.factor = np.zeros((q, q))
            search.adopt_hessian()
            search.pairs = 0
