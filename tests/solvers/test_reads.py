"""How often rows that lie far away are read: three times as a rule, and with a model hardly more than without.

The certificate decides what is returned. The model only saves reads.
"""

import math

import numpy as np
import pytest

import own_losses
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, soft_huber, soft_logistic
from dplr.rows import ALL, ArrayRows
from dplr.rows import base as minimise_rows
from dplr.rows.losses import FineGradient, LossGradient, LossGradientHessian
from dplr.solvers import refine, sample_step
from dplr.solvers.certificate import Objective, least_tolerance, pass_limit
from dplr.solvers.fine import FineObjective
from objectives import plain_objective
from row_weights import of_rows
from sixty_digits import distance_to_minimum

LOSSES = [LOGISTIC, huber_svm(0.5), SQUARED, huber_residual(0.1), soft_logistic(0.3), soft_huber(0.1)]
TAU = 2.0**-13  # what output perturbation asks for, in sum form


class Far(ArrayRows):
    """Rows that only a whole read can sum, beside a sample in memory; remembers what was read."""

    def __init__(self, rows, in_memory=False):
        self.rows, self.prep, self.read = rows, rows.prep, []
        self.in_memory = in_memory

    def __len__(self):
        return len(self.rows)

    @property
    def units(self):
        return self.rows.units

    def sum(self, query, coef, rows=ALL):
        assert rows.step == 1
        self.read.append(type(query))
        return self.rows.sum(query, coef)

    def loss_gradients(self, loss, coefs):
        self.read.append("many")
        return self.rows.loss_gradients(loss, coefs)

    def loss_rows(self, step=1):
        return None if step == 1 else self.rows.loss_rows(step)

    @property
    def sample_step(self):
        return self.rows.sample_step


def table(kind, n, d, loss, seed=0):
    """Rows in the ball or in a box, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    z = 4 * X @ rng.normal(size=d)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    if kind == "nearly separable":
        y = z + 0.05 * rng.normal(size=n) > 0
    if kind == "separable":
        y = z > 0
    if kind == "one class":
        y[:] = True
    if kind == "sorted":
        order = np.lexsort((X[:, 0], y))
        X, y, z = X[order], y[order], z[order]
    if kind == "scales":
        X *= 10.0 ** -np.linspace(0, 6, d)
    if kind == "twins":
        X[:, d // 2 :], X[:, 0] = X[:, : d - d // 2], 0
    if kind == "duplicates":
        X = X[rng.integers(0, 5, n)]
    if kind == "rare levels":
        X = 0.7 * np.eye(d)[np.minimum(rng.geometric(0.3, n) - 1, d - 1)]
    if kind == "long and short":
        X *= 0.05 * np.exp(2 * rng.normal(size=(n, 1)))
    labels = (0.0, 1.0) if loss.classification else None
    target = y.astype(float) if labels else np.clip(z, -1, 1)
    if kind == "box":
        return math.sqrt(d) * X, target, box_prep([(-1.0, 1.0)] * d, True, labels)
    return X, target, ball_prep(d, False, labels)


def gradient_norm(rows, objective, coef):
    """Of the objective at the point, in pairs of numbers: another kernel, which test_fine.py holds to sixty digits."""
    query = FineGradient(objective.loss, rows.geometry.d, rows.geometry.intercept > 0)
    gradient = rows.sum(query, np.array([coef, np.zeros_like(coef)])).gradient
    return np.linalg.norm(gradient + objective.ridge * (coef - objective.center) + objective.linear)


@pytest.mark.parametrize("kind", ["plain", "box", "sorted", "scales", "nearly separable"])
@pytest.mark.parametrize("l2", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize(("n", "d"), [(20_000, 8), (60_000, 13), (60_000, 25)])
def test_far_rows_are_read_three_times_and_four_with_a_small_ridge_or_sample(kind, l2, n, d):
    X, y, prep = table(kind, n, d, LOGISTIC)
    far, q = Far(ArrayRows(X, y, prep)), prep.geometry.n_coefs
    linear = 10 * np.random.default_rng(1).normal(size=q)
    objective = Objective(LOGISTIC, l2 * n, np.zeros(q), linear)
    coef, bound = far.minimise(objective, TAU, 100)
    assert bound <= TAU
    assert gradient_norm(far.rows, objective, coef) <= TAU
    assert len(far.read) <= (3 if l2 >= 1e-4 and d < 20 else 4)


HOSTILE = ["separable", "one class", "twins", "duplicates", "rare levels", "long and short"]


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("loss", [*LOSSES, *own_losses.FORMS], ids=lambda loss: loss.label)
@pytest.mark.parametrize(("ridge", "away"), [(1e-4, 0.0), (1.0, 50.0), (1e6, -1e4)])
def test_on_hostile_rows_a_model_costs_at_most_two_reads_more_than_none(kind, loss, ridge, away, monkeypatch):
    n, d = 6000, 6
    X, y, prep = table(kind, n, d, loss)
    objective = Objective(loss, ridge, np.full(d, away), np.zeros(d))
    tau = max(1e-9 * n, least_tolerance(loss, n, d, 1.0, ridge, abs(away) * math.sqrt(d), 0.0, fine=False))
    far, without = Far(ArrayRows(X, y, prep)), Far(ArrayRows(X, y, prep))
    coef, bound = far.minimise(objective, tau, 1000)
    assert bound <= tau
    assert gradient_norm(far.rows, objective, coef) <= tau
    monkeypatch.setattr(minimise_rows, "_hessian_price", lambda *_: math.inf)
    without.minimise(objective, tau, 1000)
    assert len(far.read) <= len(without.read) + 2


def test_weights_are_in_the_sample_too():
    n, d = 40_000, 5
    X, y, prep = table("plain", n, d, LOGISTIC)
    weights = np.random.default_rng(2).uniform(0, 1, n) ** 4
    far = Far(ArrayRows(X, y, prep, weights=of_rows(weights)))
    objective = plain_objective(LOGISTIC, 5.0, d)
    coef, bound = far.minimise(objective, TAU, 100)
    assert bound <= TAU
    assert gradient_norm(far.rows, objective, coef) <= TAU
    assert len(far.read) <= 3


def copies(n):
    """Few different rows, how often each is there, and their objective: what sixty digits can check."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-9)
    counts = rng.multinomial(n, np.full(5, 0.2))
    return X, np.array([1.0, 0.0, 1.0, 0.0, 1.0]), counts, rng.normal(size=3)


@pytest.mark.parametrize("ridge", [4.0, 1e4])
def test_at_the_least_tolerance_pairs_of_numbers_take_the_hessian_that_is_known(ridge):
    n = 40_000
    X, y, counts, linear = copies(n)
    prep, objective = ball_prep(3, False, (0.0, 1.0)), Objective(LOGISTIC, ridge, np.zeros(3), linear)
    norm = float(np.linalg.norm(linear)) * (1 + 1e-12)
    tau = least_tolerance(LOGISTIC, n, 3, 1.0, ridge, 0.0, norm)
    order = np.random.default_rng(4).permutation(n)
    far = Far(ArrayRows(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order], prep))
    coef, bound = far.minimise(objective, tau, pass_limit(LOGISTIC, n, 1.0, ridge, tau, norm))
    assert bound <= tau
    assert distance_to_minimum(X, y, counts, prep, objective, coef) * ridge <= tau
    fine = far.read.index(FineGradient)
    assert set(far.read[:fine]) <= {LossGradient, LossGradientHessian}
    assert set(far.read[fine:]) == {FineGradient}
    assert len(far.read[fine:]) <= 2
    assert fine <= 6


@pytest.mark.parametrize("tau", [2e-10, 1e-11])
def test_below_what_float64_certifies_one_pass_in_pairs_is_enough(tau):
    """Sums in float64 are far better than their bound, and a read in pairs is dear: it only confirms them."""
    n, d = 40_000, 5
    X, y, prep = table("plain", n, d, LOGISTIC)
    for in_memory in (False, True):
        far = Far(ArrayRows(X, y, prep), in_memory)
        coef, bound = far.minimise(plain_objective(LOGISTIC, 40.0, d), tau, 100)
        assert bound <= tau
        assert gradient_norm(far.rows, plain_objective(LOGISTIC, 40.0, d), coef) <= tau
        assert far.read.count(FineGradient) == 1
        assert far.read[-1] is FineGradient


@pytest.mark.parametrize(("factor", "measured"), [(1.0, 0), (1.02, 0), (3.0, 1), (0.3, 1), (-1.0, 1)])
def test_a_known_hessian_serves_while_it_cuts_the_gradient_tenfold(factor, measured):
    """Of a quadratic, whose Hessian is 8 in all directions, ridge included."""
    calls = []

    def hessian(coef):
        calls.append(coef)
        return 7 * np.eye(2)

    objective = plain_objective(LOGISTIC, 1.0, 2)
    fine = FineObjective(objective, 1, 1.0, lambda high, low: (7 * high - 8.0, 7 * low), hessian)
    known = (8 * factor - 1) * np.eye(2)
    coef, bound = refine(fine, np.full(2, 1.5), 1e-9, known)
    assert bound <= 1e-9
    assert np.linalg.norm(coef - 1) <= 1e-9
    assert len(calls) == measured


def test_many_far_objectives_share_their_reads():
    n, d = 20_000, 6
    X, y, prep = table("plain", n, d, LOGISTIC)
    rng = np.random.default_rng(5)
    objectives = [Objective(LOGISTIC, 20.0, np.zeros(d), 5 * rng.normal(size=d)) for _ in range(12)]
    far = Far(ArrayRows(X, y, prep))
    _, bounds = far.minimise_many(objectives, TAU, 100)
    assert (bounds <= TAU).all()
    alone = [read for read in far.read if read != "many"]
    assert len(alone) <= 3  # where all of them start, and no Hessian for that
    assert len(far.read) <= 8


@pytest.mark.parametrize("n", [4999, 5000, 10**5, 10**6, 10**8, 10**10])
@pytest.mark.parametrize("q", [1, 13, 16, 17, 100, 500, 4097])
def test_a_sample_is_large_enough_to_help_and_small_enough_to_keep(n, q):
    step = sample_step(n, q)
    if n < max(5000, 100 * q):
        assert step == 1
        return
    rows = -(-n // step)
    assert rows <= 10**6
    assert 8 * q * rows <= 2**28
    assert rows >= min(2048, n // 32)
    assert step == 1 or rows >= min(20 * q, 2**25 // q // 2)
