"""Sums of losses over rows with weights, and their minima: every path, both precisions, one model and many."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import own_losses
import reference
from dplr._core import add_fine_gradient, cpu_paths, gradients_of_many
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, soft_huber, soft_logistic
from dplr.rows import ArrayRows, RowWeights, chosen, every
from dplr.rows.exact import kernel_of
from dplr.rows.losses import FineGradient, LossGradient, LossGradientHessian, native_rows
from dplr.solvers.certificate import (
    Objective,
    fine_rounding_bound,
    gradient_rounding_bound,
    least_tolerance,
    pass_limit,
)
from loops import loop
from made_rows import make_data, make_prep
from objectives import plain_objective
from row_weights import drawn_weights, of_rows
from sixty_digits import gradient_of, mp

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LABELLED = [LOGISTIC, huber_svm(0.5), soft_logistic(0.5), *own_losses.FORMS[:1]]
LOSSES = [*LABELLED, SQUARED, huber_residual(0.3), soft_huber(0.3), *own_losses.FORMS[1:]]
# Norms of rows that were seen inside the ball are not computed again: those have a path of their own.
KINDS = ["inside", "ball", "cube", "corner"]


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def case(kind, n, d, loss):
    prep = make_prep("ball" if kind == "inside" else kind, d, fit_intercept=kind != "corner", labels=loss in LABELLED)
    X, y = make_data("ball" if kind == "inside" else kind, n, d, labels=loss in LABELLED)
    if kind == "inside":
        X /= np.maximum(1, 1.01 * np.linalg.norm(X, axis=1, keepdims=True))
    size = d + (prep.geometry.intercept > 0)
    return X, y, prep, drawn_weights(n), 3 * np.random.default_rng(7).normal(size=size)


def total(X, y, prep, loss, coef, weights, selection=None, **options):
    query = LossGradientHessian(loss, prep.geometry.d, prep.geometry.intercept > 0, True)
    rows = ArrayRows(X, y, prep, weights=None if weights is None else of_rows(weights), **options)
    return rows.total(query, coef) if selection is None else rows.total(query, coef, selection)


def check(value, expected):
    gradient, hessian, loss = expected
    assert_allclose(value.gradient, gradient, rtol=1e-11, atol=1e-11)
    assert_allclose(value.hessian, hessian, rtol=1e-11, atol=1e-11)
    assert_allclose(value.loss, loss, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
@loop("kind", KINDS)
@loop(("n", "d"), [(131, 1), (1100, 3), (131, 8), (131, 33), (49, 105)])
def test_weighted_sums_equal_the_numpy_twin(path, kind, loss, n, d):
    X, y, prep, weights, coef = case(kind, n, d, loss)
    check(total(X, y, prep, loss, coef, weights), sums_of_the_twin(kind, loss, n, d))


@functools.cache  # the twin is slow, and has no path
def sums_of_the_twin(kind, loss, n, d):
    X, y, prep, weights, coef = case(kind, n, d, loss)
    return reference.loss_sums(X, y, prep, loss, coef, weights)


@pytest.mark.parametrize("kind", ["ball", "cube"])
def test_layouts_types_and_selections_hold_the_same_weighted_rows(path, kind):
    X, y, prep, weights, coef = case(kind, 1500, 9, LOGISTIC)
    X = X.astype(np.float32).astype(float)
    expected = reference.loss_sums(X, y, prep, LOGISTIC, coef, weights)
    for other in (X.astype(np.float32), np.asfortranarray(X), pd.DataFrame(X), X.astype(">f8")):
        check(total(other, y, prep, LOGISTIC, coef, weights), expected)
        for selection, part in ((every(3), slice(None, None, 3)), (chosen([5, 5, 0, 1400, 17]), [5, 5, 0, 1400, 17])):
            alone = reference.loss_sums(X[part], y[part], prep, LOGISTIC, coef, weights[part])
            check(total(other, y, prep, LOGISTIC, coef, weights, selection), alone)
    check(total(X, y, prep, LOGISTIC, coef, np.repeat(weights, 2)[::2]), expected)
    check(total(X, y, prep, LOGISTIC, coef, weights, block_rows=700), expected)


@pytest.mark.parametrize("d", [2, 13, 50])
def test_bits_of_weighted_sums_do_not_depend_on_threads(path, d):
    X, y, prep, weights, coef = case("ball", 30_000, d, LOGISTIC)
    one = total(X, y, prep, LOGISTIC, coef, weights, threads=1)
    three = total(X, y, prep, LOGISTIC, coef, weights, threads=3)
    for part in ("hi", "lo", "upper"):
        assert_array_equal(getattr(three, part), getattr(one, part))


def pairs(X, y, prep, loss, high, low, weights):
    hi, lo = np.zeros(len(high)), np.zeros(len(high))
    add_fine_gradient(native_rows(X, y, prep, weights), kernel_of(loss), loss.width, high, low, hi, lo)
    return hi, lo


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
@loop("kind", KINDS)
@loop("d", [3, 40])
def test_weights_of_one_change_no_bit_of_any_sum(path, kind, loss, d):
    X, y, prep, _, coef = case(kind, 1100, d, loss)
    ones, points = np.ones(len(y)), np.array([coef * scale for scale in np.linspace(-1, 1, 35)])
    weighted, plain = total(X, y, prep, loss, coef, ones), total(X, y, prep, loss, coef, None)
    for part in ("hi", "lo", "upper"):
        assert_array_equal(getattr(weighted, part), getattr(plain, part))
    many = [gradients_of_many(native_rows(X, y, prep, w), kernel_of(loss), loss.width, points) for w in (ones, None)]
    assert_array_equal(*many)
    fine = [pairs(X, y, prep, loss, coef, 1e-17 * coef, w) for w in (ones, None)]
    assert_array_equal(*fine)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
def test_gradients_of_many_models_have_weights_too(path, kind, loss):
    X, y, prep, weights, coef = case(kind, 1100, 7, loss)
    points = np.array([coef * scale for scale in np.linspace(-1, 1, 35)])
    rows = ArrayRows(X, y, prep, weights=of_rows(weights))
    for few in (points, points[:3]):
        expected = [reference.loss_sums(X, y, prep, loss, each, weights)[0] for each in few]
        assert_allclose(rows.loss_gradients(loss, few), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
@pytest.mark.parametrize(("d", "size"), [(1, 1.0), (5, 40.0), (40, 1e4)])
def test_weighted_gradients_are_as_exact_as_their_bounds_say(loss, d, size, monkeypatch):
    rng, n, labels = np.random.default_rng(0), 40, loss.classification
    X = rng.uniform(-1, 1, (n, d)) * rng.choice([1e-150, 0.1, 1.0, 1e200], (n, 1))
    y = rng.integers(0, 2, n).astype(float) if labels else rng.uniform(-1, 1, n)
    prep, weights = ball_prep(d, True, (0.0, 1.0) if labels else None), drawn_weights(n) / 16
    high = size * rng.normal(size=d + 1)
    low = 1e-17 * high * rng.normal(size=d + 1)
    norms, found = (math.sqrt(1.25), float(np.linalg.norm(high)), 0.0, 0.0, 0.0), {}
    exact = gradient_of(X, y, prep, loss, high, low, weights)
    plain = gradient_of(X, y, prep, loss, high, np.zeros(d + 1), weights)
    for path in cpu_paths():
        monkeypatch.setenv("DPLR_ISA", path)
        found[path] = pairs(X, y, prep, loss, high, low, weights)
        assert_array_equal(found[path], found["portable"], err_msg=path)
        coarse = ArrayRows(X, y, prep, weights=of_rows(weights)).total(LossGradient(loss, d, True), high).gradient
        error = float(mp.norm([mp.mpf(a) - g for a, g in zip(coarse.tolist(), plain, strict=True)]))
        assert error <= gradient_rounding_bound(loss, float(weights.sum()), d, *norms)
    together = zip(*(part.tolist() for part in found["portable"]), exact, strict=True)
    error = float(mp.norm([mp.mpf(a) + mp.mpf(b) - g for a, b, g in together]))
    assert error <= fine_rounding_bound(loss, float(weights.sum()), d, *norms)


def test_pairs_of_weighted_rows_are_the_same_on_threads_and_without_those_of_weight_zero():
    X, y, prep, weights, coef = case("ball", 20_000, 3, LOGISTIC)
    query, at = FineGradient(LOGISTIC, 3, True), np.array([coef, 0 * coef])
    one, three = (ArrayRows(X, y, prep, weights=of_rows(weights), threads=t).sum(query, at) for t in (1, 3))
    assert_array_equal(one.hi, three.hi)
    assert_array_equal(one.lo, three.lo)
    some = np.arange(len(y)) % 3 > 0
    zeros = ArrayRows(X, y, prep, weights=of_rows(some * 1.0)).sum(query, at)
    few = ArrayRows(X[some], y[some], prep).sum(query, at)
    assert np.abs((zeros.hi - few.hi) + (zeros.lo - few.lo)).max() < 1e-25


@pytest.mark.grid(5)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.label)
@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"block_rows": 5000}])
@pytest.mark.parametrize("layout", ["C", "converted"])
def test_the_minimum_is_that_of_the_weighted_losses(loss, options, layout):
    X, y, prep, weights, _ = case("ball", 6000, 4, loss)
    objective = plain_objective(loss, 5.0, 5)
    kept = X if layout == "C" else X.astype(">f8")
    coef, bound = ArrayRows(kept, y, prep, weights=of_rows(weights), **options).minimise(objective, 1e-7, 10**6)
    gradient = reference.loss_sums(X, y, prep, loss, coef, weights)[0] + objective.ridge * coef
    assert bound <= 1e-7
    assert np.linalg.norm(gradient) < 2e-7


def test_refits_of_weighted_rows_are_their_minima():
    X, y, prep, weights, _ = case("ball", 6000, 4, LOGISTIC)
    draws = np.random.default_rng(0).normal(size=(12, 5))
    objectives = [Objective(LOGISTIC, 5.0, np.zeros(5), linear) for linear in draws]
    coefs, bounds = ArrayRows(X, y, prep, weights=of_rows(weights)).minimise_many(objectives, 1e-7, 10**6)
    for coef, linear, bound in zip(coefs, draws, bounds, strict=True):
        gradient = reference.loss_sums(X, y, prep, LOGISTIC, coef, weights)[0] + 5.0 * coef + linear
        assert bound <= 1e-7
        assert np.linalg.norm(gradient) < 2e-7


@pytest.mark.parametrize("many", [False, True])
def test_tolerances_that_are_planned_for_persons_are_kept_with_all_their_rows(many):
    """Persons of 40 rows each: a bound for all rows would be five times the least tolerance."""
    m, persons, ridge = 40, 60, 1e-3
    X, y, prep, _, _ = case("ball", m * persons, 3, LOGISTIC)
    weights = np.full(m * persons, np.floor(2.0**30 / m) / 2**30)
    rows = ArrayRows(X, y, prep, weights=RowWeights(weights, np.repeat(np.arange(persons), m), persons))
    radius = math.hypot(1.0, prep.geometry.intercept)
    tau = least_tolerance(LOGISTIC, persons, 3, radius, ridge, 0.0, 0.0)
    cap = pass_limit(LOGISTIC, persons, radius, ridge, tau)
    objective = plain_objective(LOGISTIC, ridge, 4)
    bound = rows.minimise_many([objective] * 2, tau, cap)[1].max() if many else rows.minimise(objective, tau, cap)[1]
    assert bound <= tau
    assert len(rows) == m * rows.units
