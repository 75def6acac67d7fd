"""The last steps to a minimum in pairs of float64 numbers: exact enough, the same on every path, and sure to end."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import own_losses
from dplr._core import add_fine_gradient, cpu_paths
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, soft_huber, soft_logistic
from dplr.rows import ArrayRows
from dplr.rows import base as minimise_rows
from dplr.rows.exact import kernel_of
from dplr.rows.losses import FineGradient, native_rows
from dplr.solvers import fine as fine_solver
from dplr.solvers.certificate import (
    NEWTON_PASSES,
    NotCertified,
    Objective,
    descent_steps,
    fine_rounding_bound,
    least_tolerance,
    pass_limit,
)
from objectives import plain_objective
from sixty_digits import distance_to_minimum, gradient_of, mp

SVM, CUTS = huber_svm(0.5), [soft_logistic(0.3), soft_logistic(2.0**-90), soft_huber(0.1), soft_huber(2.0**90)]
LOSSES = [LOGISTIC, SVM, SQUARED, huber_residual(0.1), *CUTS, *own_losses.KNOTTED]


def hard_rows(n, d, loss, seed=0):
    """Rows inside, on and far outside the ball, and tiny ones; targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) * rng.choice([1e-150, 0.1, 1.0, 1e200], (n, 1))
    y = rng.integers(0, 2, n).astype(float) if loss.classification else rng.uniform(-1, 1, n)
    return X, y, ball_prep(d, True, (0.0, 1.0) if loss.classification else None)


def fine_sums(X, y, prep, loss, high, low):
    hi, lo = np.zeros(len(high) + 1), np.zeros(len(high) + 1)
    add_fine_gradient(native_rows(X, y, prep), kernel_of(loss), loss.width, high, low, hi, lo)
    return hi[:-1], lo[:-1]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
@pytest.mark.parametrize(("d", "size"), [(1, 1.0), (5, 1.0), (5, 40.0), (40, 1e4)])
def test_gradients_in_pairs_are_as_exact_as_their_bound_says_and_the_same_on_every_path(loss, d, size, monkeypatch):
    n = 40
    X, y, prep = hard_rows(n, d, loss)
    rng = np.random.default_rng(1)
    high = size * rng.normal(size=d + 1)
    low = 1e-17 * high * rng.normal(size=d + 1)
    found = {}
    for path in cpu_paths():
        monkeypatch.setenv("DPLR_ISA", path)
        found[path] = fine_sums(X, y, prep, loss, high, low)
    hi, lo = found["portable"]
    for path in found:
        assert_array_equal(found[path][0], hi, err_msg=path)
        assert_array_equal(found[path][1], lo, err_msg=path)
    exact = gradient_of(X, y, prep, loss, high, low)
    error = float(mp.norm([mp.mpf(a) + mp.mpf(b) - g for a, b, g in zip(hi.tolist(), lo.tolist(), exact, strict=True)]))
    assert error <= fine_rounding_bound(loss, n, d, math.sqrt(1.25), float(np.linalg.norm(high)), 0.0, 0.0, 0.0)


def test_rows_in_a_box_and_in_single_precision_are_those_of_the_other_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-3, 9, (700, 3)).astype(np.float32), rng.integers(0, 2, 700)
    prep = box_prep([(-2.0, 4.0), (0.0, 1.0), (1.0, 9.0)], True, (0.0, 1.0))
    high, low = rng.normal(size=4), np.zeros(4)
    hi, lo = fine_sums(np.asfortranarray(X), y, prep, LOGISTIC, high, low)
    exact = gradient_of(X, y, prep, LOGISTIC, high, low)
    assert max(abs(mp.mpf(a) + mp.mpf(b) - g) for a, b, g in zip(hi.tolist(), lo.tolist(), exact, strict=True)) < 1e-24


def test_faulty_rows_count_as_zero_and_threads_change_no_bit():
    X, y, prep = hard_rows(20_000, 3, LOGISTIC)
    coef = np.array([np.ones(4), np.zeros(4)])
    query = FineGradient(LOGISTIC, 3, True)
    one, three = (ArrayRows(X, y, prep, threads=threads).sum(query, coef) for threads in (1, 3))
    assert_array_equal(one.hi, three.hi)
    assert_array_equal(one.lo, three.lo)
    bad, targets = X.copy(), y.copy()
    bad[3, 1], bad[9, 0], targets[77] = np.nan, -np.inf, 7.0
    kept = np.delete(X, [3, 9, 77], axis=0), np.delete(y, [3, 9, 77])
    spoiled = sum(fine_sums(bad, targets, prep, LOGISTIC, *coef))
    assert np.abs(spoiled - sum(fine_sums(*kept, prep, LOGISTIC, *coef))).max() < 1e-11


def copies(kind, n, d, seed=0):
    """Few different rows and how often each is there: all that a sum in 60 digits needs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-9)
    y = np.array([1.0, 0.0, 1.0, 0.0])
    if kind == "contradicting":
        X[1::2] = X[::2]
    if kind == "separable":
        X[1::2] = -X[::2]
    if kind == "short and long":  # short rows want long coefficients, which long rows must bear
        X[0] *= 1e-4
        X[1], y[1] = X[0], 1.0
    counts = np.array([n - n // 2 - n // 4 - n // 8, n // 2, n // 4, n // 8])
    return X, y, counts


@pytest.mark.parametrize("kind", ["plain", "contradicting", "separable", "short and long"])
@pytest.mark.parametrize("loss", [LOGISTIC, SVM], ids=lambda loss: loss.name)
@pytest.mark.parametrize("ridge", [1e-6, 4.0, 1e15])
@pytest.mark.parametrize(("n", "d"), [(8, 2), (3000, 3), (1_000_000, 2)])
@pytest.mark.parametrize("noise", [0.0, 50.0, 1e4])
def test_the_least_tolerance_is_reached_on_adversarial_rows(kind, loss, ridge, n, d, noise):
    X, y, counts = copies(kind, n, d)
    prep = ball_prep(d, False, (0.0, 1.0))
    linear = noise * np.random.default_rng(2).normal(size=d)
    objective = Objective(loss, ridge, np.zeros(d), linear)
    norms = 0.0, float(np.linalg.norm(linear)) * (1 + 1e-12)
    tau = least_tolerance(loss, n, d, 1.0, ridge, *norms)
    limit = pass_limit(loss, n, 1.0, ridge, tau, norms[1])
    coef, bound = ArrayRows(np.repeat(X, counts, axis=0), np.repeat(y, counts), prep).minimise(objective, tau, limit)
    assert bound <= tau
    if loss is LOGISTIC and n < 10**6:
        assert distance_to_minimum(X, y, counts, prep, objective, coef) * ridge <= tau


def slow(monkeypatch):
    def missed(*_):
        raise NotCertified

    monkeypatch.setattr(minimise_rows, "_in_float64", missed)


@pytest.mark.parametrize("certificate", [True, False])
@pytest.mark.parametrize("n", [30, 400])
def test_the_descent_ends_within_the_tolerance_after_the_steps_that_were_proved(n, certificate, monkeypatch):
    slow(monkeypatch)
    if not certificate:
        monkeypatch.setattr(fine_solver.FineObjective, "bound", lambda *_: math.inf)
    X, y, counts = copies("plain", n, 2)
    prep = ball_prep(2, False, (0.0, 1.0))
    objective = Objective(LOGISTIC, 10.0, np.array([0.5, -3.0]), np.array([40.0, 1.0]))
    norms = float(np.linalg.norm(objective.center)), float(np.linalg.norm(objective.linear))
    tau = least_tolerance(LOGISTIC, n, 2, 1.0, 10.0, *norms)
    rows = ArrayRows(np.repeat(X, counts, axis=0), np.repeat(y, counts), prep)
    coef, bound = rows.minimise(objective, tau, pass_limit(LOGISTIC, n, 1.0, 10.0, tau, norms[1], norms[0]))
    assert bound <= tau
    assert distance_to_minimum(X, y, counts, prep, objective, coef) * 10.0 <= tau


def test_the_descent_is_not_begun_with_fewer_passes_than_were_proved(monkeypatch):
    slow(monkeypatch)
    X, y, counts = copies("plain", 30, 2)
    rows = ArrayRows(np.repeat(X, counts, axis=0), np.repeat(y, counts), ball_prep(2, False, (0.0, 1.0)))
    steps = descent_steps(LOGISTIC, 30, 1.0, 1.0, 1e-9)
    for cap in (NEWTON_PASSES, NEWTON_PASSES + steps - 1):
        with pytest.raises(NotCertified):
            rows.minimise(plain_objective(LOGISTIC, 1.0, 2), 1e-9, cap)
    assert rows.minimise(plain_objective(LOGISTIC, 1.0, 2), 1e-9, NEWTON_PASSES + steps)[1] <= 1e-9


def test_newton_in_pairs_gives_up_where_the_gradient_does_not_fall():
    objective = plain_objective(LOGISTIC, 1.0, 2)
    fine = fine_solver.FineObjective(
        objective, 1, 1.0, lambda high, low: (np.ones(2), np.zeros(2)), lambda coef: np.zeros((2, 2))
    )
    assert fine_solver.refine(fine, np.zeros(2), 1e-9) is not None
    away = fine_solver.FineObjective(
        objective, 1, 1.0, lambda high, low: (np.ones(2), np.zeros(2)), lambda coef: -1.5 * np.eye(2)
    )
    assert fine_solver.refine(away, np.zeros(2), 1e-9) is None
