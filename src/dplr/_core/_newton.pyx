"""Newton's method with a certificate, for the sum of convex losses and a ridge, over any source of sums.

Few rows: Newton. Many rows: Newton on a sample; then minima of a model, which is the sample corrected to agree with all
rows where they were read; and where the model does not help, L-BFGS. Nothing here decides how small the gradient must
be, and nothing raises, warns or counts except for the caller. `loss.md` says why, and proves that the steps end.
"""
import numpy as np

from libc.math cimport pow, sqrt
from libc.string cimport memcpy

from dplr._core._data_sums cimport DataSums
from dplr._core._dense cimport add_scaled, apply_upper, dot, factorise, length, solve_factorised

cdef double MODEL_GAIN = 1e-5   # a model's minimum is sought to this share of the gradient
cdef double MOST_PRICE = 1.25   # of a Hessian, in gradients: two of them may be read, and two to four gradients saved

cdef enum:
    PAIRS = 10              # of steps and gradients that L-BFGS remembers
    SAMPLE_STEPS = 60       # Newton steps on the sample, which only makes a start
    MODEL_PASSES = 20       # over the sample, towards the minimum of one model
    SHORTENINGS = 60        # of one step


cdef class Model(DataSums):
    """The sum over all rows, guessed from a sample: scaled, plus a quadratic and a linear term that correct it.

    Parameters
    ----------
    sample : sums over some of the rows.
    n : the number of all rows.
    """
    cdef DataSums sample
    cdef double scale
    cdef double[::1] tilt
    cdef double[:, ::1] bend
    cdef double[:, ::1] exact       # the Hessian of all rows that was taken over last
    cdef double[:, ::1] products

    def __init__(self, DataSums sample, Py_ssize_t n):
        cdef Py_ssize_t q = sample.q
        self.sample, self.n, self.q, self.scale = sample, n, q, <double> n / sample.n
        self.tilt, self.bend, self.exact = np.zeros(q), np.zeros((q, q)), np.zeros((q, q))
        self.gradient, self.hessian, self.products = np.zeros(q), np.zeros((q, q)), np.zeros((3, q))

    cdef int measure(self, double *coef, bint hessian) except -1:
        cdef Py_ssize_t q = self.q, j, k
        self.calls += 1
        self.sample.measure(coef, hessian)
        apply_upper(&self.bend[0, 0], q, coef, &self.products[0, 0])
        for j in range(q):
            self.gradient[j] = self.scale * self.sample.gradient[j] + self.tilt[j] + self.products[0, j]
            if hessian:
                for k in range(j, q):
                    self.hessian[j, k] = self.scale * self.sample.hessian[j, k] + self.bend[j, k]
        return 0

    cdef void adopt(self, DataSums every, const double *coef, bint hessian) noexcept:
        """Take over the gradient of all rows, and with `hessian` that too, at `coef`: both were measured there last."""
        cdef Py_ssize_t q = self.q, j, k
        if hessian:
            for j in range(q):
                for k in range(j, q):
                    self.exact[j, k] = every.hessian[j, k] - self.hessian[j, k]
                    self.bend[j, k] += self.exact[j, k]
            apply_upper(&self.exact[0, 0], q, coef, &self.products[0, 0])
            add_scaled(&self.gradient[0], 1.0, &self.products[0, 0], q)
            self.exact[:] = every.hessian
            self.hessian[:] = every.hessian
        for j in range(q):
            self.tilt[j] += every.gradient[j] - self.gradient[j]
            self.gradient[j] = every.gradient[j]

    cdef double left(self, const double *step) noexcept:
        """An estimate of the share of the gradient that remains after a step to the model's minimum.

        The correction's share of the curvature along the step, times how much that changed since it was corrected.
        """
        cdef Py_ssize_t q = self.q
        cdef double *before = &self.products[0, 0]
        cdef double *change = &self.products[1, 0]
        cdef double *correction = &self.products[2, 0]
        apply_upper(&self.exact[0, 0], q, step, before)
        apply_upper(&self.hessian[0, 0], q, step, change)
        apply_upper(&self.bend[0, 0], q, step, correction)
        add_scaled(change, -1.0, before, q)
        return 3.0 * length(correction, q) * length(change, q) / dot(before, before, q)


cdef class Search:
    """The state of a search for the minimum: a point, its gradient, and the data of the next step.

    The objective is the sum of losses + ridge ||w - center||^2 / 2 + linear.w. `hessian` is that of the losses at the
    point, measured if `is_measured` and else modelled; None where it is not known.
    """
    cdef DataSums sums
    cdef double[:, ::1] hessian
    cdef bint is_measured
    cdef Py_ssize_t q
    cdef double ridge, gradient_norm, mark
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

    def __init__(self, DataSums sums, double ridge, const double[::1] center, const double[::1] linear):
        cdef Py_ssize_t q = sums.q
        self.sums, self.q, self.ridge, self.center, self.linear = sums, q, ridge, center, linear
        self.vectors = np.zeros((5, q))
        self.point, self.gradient = &self.vectors[0, 0], &self.vectors[1, 0]
        self.trial, self.trial_gradient = &self.vectors[2, 0], &self.vectors[3, 0]
        self.direction = &self.vectors[4, 0]
        self.factor = np.zeros((q, q))

    cdef int measure(self, double *point, double *gradient, bint hessian) except -1:
        """Gradient of the objective; with `hessian` that of the losses is left in sums.hessian."""
        cdef Py_ssize_t j
        self.sums.measure(point, hessian)
        for j in range(self.q):
            gradient[j] = (self.sums.gradient[j] + self.ridge * (point[j] - self.center[j])) + self.linear[j]
        return 0

    cdef bint adopt_hessian(self) noexcept:
        """Factorise the Hessian. Returns whether it is convex, which only that of a model may not be."""
        cdef Py_ssize_t j, q = self.q
        cdef double *out = &self.factor[0, 0]
        memcpy(out, &self.hessian[0, 0], q * q * sizeof(double))
        for j in range(q):
            out[j * q + j] += self.ridge
        return factorise(out, q)

    cdef int begin(self, const double *point, bint hessian) except -1:
        memcpy(self.point, point, self.q * sizeof(double))
        self.measure(self.point, self.gradient, hessian)
        self.gradient_norm = self.mark = length(self.gradient, self.q)
        self.is_measured = hessian
        self.hessian = self.sums.hessian if hessian else None
        return 0

    cdef void follow(self, Search other) noexcept:
        """Copy point and gradient from another search. The Hessian must be known there already."""
        memcpy(self.point, other.point, self.q * sizeof(double))
        memcpy(self.gradient, other.gradient, self.q * sizeof(double))
        self.gradient_norm = self.mark = other.gradient_norm

    cdef void move(self) noexcept:
        """Make the trial point the point."""
        memcpy(self.point, self.trial, self.q * sizeof(double))
        memcpy(self.gradient, self.trial_gradient, self.q * sizeof(double))
        self.gradient_norm = length(self.gradient, self.q)
        if self.gradient_norm <= 0.5 * self.mark:
            self.mark = self.gradient_norm

    cdef int newton_step(self) except -1:
        """One step with the Hessian at the point; measures that at the next point.

        Accepted are a point where the function still falls along the step, which for a convex function proves descent
        without its value, and the whole step where it halves the shortest gradient so far. Otherwise the step is
        shortened. Returns whether the Hessian was convex.
        """
        cdef bint convex
        cdef double t = 1.0, slope, downhill
        cdef Py_ssize_t q = self.q, j, shortening
        convex = self.adopt_hessian()
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
        self.hessian, self.is_measured = self.sums.hessian, True
        return convex

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
        cdef Py_ssize_t j
        self.two_loops()
        for j in range(self.q):
            self.trial[j] = self.point[j] + self.direction[j]
        self.measure(self.trial, self.trial_gradient, False)
        return self.take_shorter(0.5)

    cdef bint model_step(self, Search guess, Model model, double goal, double price) except -1:
        """Read all rows at the model's minimum, and correct it there. Returns whether that cut the gradient tenfold.

        goal : the gradient that is sought in the end.
        price : how many gradients a Hessian costs.
        """
        cdef Py_ssize_t q = self.q, j, last = model.calls + MODEL_PASSES
        cdef bint hessian, short
        guess.follow(self)
        while guess.gradient_norm > max(MODEL_GAIN * self.gradient_norm, 0.1 * goal):
            if model.calls >= last or not guess.newton_step():
                return False
        for j in range(q):
            self.trial[j] = guess.point[j]
            self.direction[j] = guess.point[j] - self.point[j]
        # Two reads, this one and the next, should do; a Hessian is worth those that it saves.
        hessian = pow(model.left(self.direction), 2.0 + price) * self.gradient_norm > goal
        self.measure(self.trial, self.trial_gradient, hessian)
        if not length(self.trial_gradient, q) < self.gradient_norm:
            return False
        model.adopt(self.sums, self.trial, hessian)
        short = self.take_shorter(0.1)
        self.hessian, self.is_measured = model.exact if hessian else model.hessian, hessian
        return short

    cdef bint polish(self) except -1:
        """One more full step, where rounding may hide what is left. Returns whether it halved the gradient."""
        cdef double[:, ::1] hessian = self.hessian
        cdef bint halved
        if hessian is not None:
            self.adopt_hessian()
            self.pairs = 0
        halved = self.quasi_newton_step()
        self.hessian = hessian
        return halved

    cdef bint take_shorter(self, double share) except -1:
        """Move to the trial point if its gradient is shorter. Returns whether it is by that share."""
        cdef Py_ssize_t q = self.q, j, k = self.pairs % PAIRS
        cdef double before = self.gradient_norm
        if not length(self.trial_gradient, q) < before:
            return False
        for j in range(q):
            self.steps[k, j] = self.direction[j]
            self.changes[k, j] = self.trial_gradient[j] - self.gradient[j]
        self.products[k] = dot(&self.steps[k, 0], &self.changes[k, 0], q)
        self.pairs += self.products[k] > 0
        self.move()
        self.hessian, self.is_measured = None, False
        return self.gradient_norm <= share * before

    cdef void remember(self):
        """Allocate the pairs of L-BFGS."""
        self.steps, self.changes = np.zeros((PAIRS, self.q)), np.zeros((PAIRS, self.q))
        self.products = np.zeros(PAIRS)
        self.pairs = 0


cdef Search start_on(Model model, double ridge, const double[::1] center, const double[::1] linear):
    """Newton's method on the sample, closer to its minimum than that is from the minimum over all rows."""
    cdef Search start = Search(model, ridge, center, linear)
    cdef double target
    start.begin(&center[0], True)
    target = 0.1 * start.gradient_norm / sqrt(<double> model.sample.n) * sqrt(<double> model.q)
    while start.gradient_norm > target and model.calls < SAMPLE_STEPS:
        start.newton_step()
    return start


def minimise(
    DataSums sums, sample, double ridge, const double[::1] center, const double[::1] linear, double tau,
    double rounding, double rounding_slope, Py_ssize_t cap, double price,
):
    """Coefficients at which gradient + rounding error <= tau, or None when `cap` calls of `sums` were not enough.

    Where rounding may be half of tau, it ends at a gradient of eight times that at most, for others to go on from
    there: at a quarter of tau, as it is computed, or where a step no longer halves it.

    Parameters
    ----------
    sums : over all rows.
    sample : `DataSums` over some of them, or None for Newton on all rows.
    ridge, center, linear : the objective beside the losses, in sum form.
    rounding, rounding_slope : the computed gradient at w is off by at most rounding + rounding_slope ||w||.
    price : how many gradients a Hessian of all rows costs beside its own. Up to MOST_PRICE it is worth the reads that
        it saves, and the sample becomes a model of all rows.

    Returns
    -------
    coef (q,) and the certified bound on the gradient's norm, above tau if rounding hides more; or None, infinity. Then
    the losses' Hessian there, its upper triangle, as it was measured or modelled; or None.
    """
    cdef Search search = Search(sums, ridge, center, linear), guess
    cdef Model model
    cdef double bound, hidden
    # For L-BFGS: with the sample's Hessian, then with all rows'.
    cdef Py_ssize_t q = sums.q, chances = 0 if sample is None else 2
    cdef bint corrected = sample is not None and price <= MOST_PRICE, blurred, stuck = False
    if center.shape[0] != q or linear.shape[0] != q:
        raise ValueError("center and linear must have one entry for each coefficient")
    search.remember()
    if sample is None:
        search.begin(&center[0], True)
    else:
        model = Model(sample, sums.n)
        guess = start_on(model, ridge, center, linear)
        search.begin(guess.point, corrected)
        if corrected:
            model.adopt(sums, search.point, True)
            search.hessian = model.exact
        else:
            guess.adopt_hessian()
            search.factor = guess.factor
    while True:
        # The last factors cover the rounding of the two norms.
        hidden = rounding + rounding_slope * length(search.point, q) * (1 + 1e-12)
        bound = search.gradient_norm * (1 + 1e-12) + hidden
        blurred = tau <= 2 * hidden and search.gradient_norm <= 8 * hidden
        if bound <= tau or blurred and (stuck or search.gradient_norm <= 0.25 * tau):
            return (
                np.array(search.vectors[0]), bound, None if search.hessian is None else np.array(search.hessian))
        if sums.calls >= cap:
            return None, np.inf, None
        if blurred:
            stuck = not search.polish()
        elif corrected:
            corrected = search.model_step(guess, model, max(tau - hidden, 8 * hidden), price)
            if not corrected:
                chances = 0 if search.is_measured else 1
                search.hessian = model.exact
                search.adopt_hessian()
        elif chances == 0:
            search.newton_step()
        elif not search.quasi_newton_step():
            chances -= 1
            search.measure(search.point, search.gradient, True)
            search.hessian, search.is_measured = sums.hessian, True
            search.factor = np.zeros((q, q))
            search.adopt_hessian()
            search.pairs = 0
