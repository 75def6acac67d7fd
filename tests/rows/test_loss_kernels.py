"""Gradient, Hessian and value of a loss, against NumPy, mpmath and exact fractions, on every CPU path."""

import functools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import own_losses
import reference
from dplr._core import cpu_paths
from dplr._core._loss import curves
from dplr.bounds.scaling import ball_prep
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, soft_huber, soft_logistic
from dplr.rows import ArrayRows, chosen, every
from dplr.rows.exact import Moments
from dplr.rows.losses import LossGradient, LossGradientHessian
from dplr.solvers.certificate import gradient_rounding_bound
from loops import loop
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


SOFT_LABELLED = [soft_logistic(cut) for cut in (0.01, 0.5, 0.95)]
SOFT_NUMERIC = [soft_huber(width) for width in (0.05, 0.3, 20.0)]
LABELLED = [LOGISTIC, huber_svm(0.5), huber_svm(0.05), *SOFT_LABELLED, *own_losses.FORMS[:1]]
NUMERIC = [SQUARED, huber_residual(0.3), *SOFT_NUMERIC, *own_losses.FORMS[1:]]
LOSSES = LABELLED + NUMERIC


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def coefficients(prep, scale=3.0, seed=7):
    return scale * np.random.default_rng(seed).normal(size=prep.geometry.d + (prep.geometry.intercept > 0))


def total(X, y, prep, loss, coef, *, hessian=True, selection=None, **options):
    query = (LossGradientHessian if hessian else LossGradient)(loss, prep.geometry.d, prep.geometry.intercept > 0, True)
    rows = ArrayRows(X, y, prep, **options)
    return rows.total(query, coef) if selection is None else rows.total(query, coef, selection)


def check(value, expected):
    gradient, hessian, loss = expected
    assert_allclose(value.gradient, gradient, rtol=1e-11, atol=1e-11)
    assert_allclose(value.hessian, hessian, rtol=1e-11, atol=1e-11)
    assert_allclose(value.loss, loss, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.width}")
@loop("kind", ["ball", "cube", "corner"])
@loop("d", [1, 2, 3, 4, 7, 8, 9, 13, 16, 22, 31, 33, 64, 65, 105])
def test_sums_equal_the_numpy_twin(path, kind, loss, d):
    X, y, prep, coef, sums = with_sums_of_the_twin(kind, loss, d)
    check(total(X, y, prep, loss, coef), sums)


@functools.cache  # the twin is slow, and has no path
def with_sums_of_the_twin(kind, loss, d):
    labels = loss in LABELLED
    prep = make_prep(kind, d, fit_intercept=d % 2 == 1 and kind != "corner", labels=labels)
    X, y = make_data(kind, 131, d, labels=labels)
    coef = coefficients(prep)
    return X, y, prep, coef, reference.loss_sums(X, y, prep, loss, coef)


@pytest.mark.grid(4)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 9, 31, 33, 47, 48, 49, 127, 129, 511, 512, 513, 8191, 8193])
@pytest.mark.parametrize("d", [3, 40, 100])
def test_every_number_of_rows_is_summed(path, n, d):
    prep = make_prep("ball", d)
    X, y = make_data("ball", n, d)
    coef = coefficients(prep)
    expected = reference.loss_sums(X, y, prep, LOGISTIC, coef)
    check(total(X, y, prep, LOGISTIC, coef), expected)
    assert_allclose(total(X, y, prep, LOGISTIC, coef, hessian=False).gradient, expected[0], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", ["ball", "cube"])
def test_layouts_types_and_selections_hold_the_same_rows(path, kind):
    d, n = 9, 1500
    prep = make_prep(kind, d)
    X, y = make_data(kind, n, d)
    X = X.astype(np.float32).astype(float)
    coef = coefficients(prep)
    expected = reference.loss_sums(X, y, prep, LOGISTIC, coef)
    wide = np.zeros((2 * n, 3 * d))
    wide[::2, ::3] = X
    backwards = X[::-1, ::-1].copy()[::-1, ::-1]
    for other in (
        X.astype(np.float32),
        np.asfortranarray(X),
        wide[::2, ::3],
        pd.DataFrame(X),
        X.astype(">f8"),
        backwards,
    ):
        check(total(other, y, prep, LOGISTIC, coef), expected)
    for target in (y.astype(bool), y.astype(int), np.repeat(y, 2)[::2]):
        check(total(X, target, prep, LOGISTIC, coef), expected)
    check(total(X, y, prep, LOGISTIC, coef, selection=every(3)),
          reference.loss_sums(X[::3], y[::3], prep, LOGISTIC, coef))  # fmt: skip
    index = [5, 5, 0, 1400, 17]
    check(total(X, y, prep, LOGISTIC, coef, selection=chosen(index)),
          reference.loss_sums(X[index], y[index], prep, LOGISTIC, coef))  # fmt: skip


@pytest.mark.parametrize("d", [2, 13, 50])
def test_bits_do_not_depend_on_threads(path, d):
    prep = make_prep("ball", d)
    X, y = make_data("ball", 30_000, d)
    coef = coefficients(prep)
    one = total(X, y, prep, LOGISTIC, coef, threads=1)
    for threads in (2, 3):
        several = total(X, y, prep, LOGISTIC, coef, threads=threads)
        assert_array_equal(several.hi, one.hi)
        assert_array_equal(several.lo, one.lo)
        assert_array_equal(several.upper, one.upper)
        assert several.faults == one.faults


def test_totals_of_parts_merge_to_the_whole_and_travel(path):
    prep = make_prep("cube", 4)
    X, y = make_data("cube", 1000, 4)
    coef = coefficients(prep)
    parts = [total(X[a:b], y[a:b], prep, LOGISTIC, coef) for a, b in ((0, 300), (300, 1000))]
    merged = pickle.loads(pickle.dumps(parts[0])) + parts[1]
    check(merged, reference.loss_sums(X, y, prep, LOGISTIC, coef))
    assert merged.faults.rows == 1000
    with pytest.raises(ValueError, match="same query"):
        parts[0] + total(X, y, prep, LOGISTIC, coef, hessian=False)


@loop("kind", ["ball", "cube"])
@loop("labels", [True, False])
@loop("kept", [np.float64, np.float32])
@loop("d", [3, 40])
def test_rows_with_faults_count_as_zero_and_as_in_the_moments(path, kind, labels, kept, d):
    prep = make_prep(kind, d, labels=labels)
    X, y = make_data(kind, 700, d, labels=labels)
    X = X.astype(kept)
    X[3, 1], X[100, 0], X[101, 2], X[650, 0], X[651, 1] = np.nan, np.inf, -np.inf, np.finfo(kept).max, np.nan
    y[200], y[100], y[651] = np.nan, (7.0 if labels else np.inf), (9.0 if labels else 1.0)
    if labels:
        y[201] = 5.0
    loss = LOGISTIC if labels else NUMERIC[1]
    coef = coefficients(prep)
    query, moments = LossGradientHessian(loss, d, True, True), Moments(d, True)
    rows = ArrayRows(X, y, prep)
    value = rows.sum(query, coef, every(1))
    assert value.faults[:3] == rows.sum(moments, None, every(1)).faults[:3]
    fine = np.isfinite(X).all(axis=1) & np.isfinite(y) & (~np.isin(y, [5.0, 7.0, 9.0]) | (not labels))
    check(value, reference.loss_sums(X[fine], y[fine], prep, loss, coef))
    with pytest.raises(ValueError, match="must be finite"):
        rows.total(query, coef)


@pytest.mark.parametrize("kind", ["ball", "cube"])
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("d", [3, 40])
def test_values_outside_their_bounds_are_counted_as_in_the_moments(path, kind, labels, d):
    prep = make_prep(kind, d, labels=labels)
    X, y = make_data(kind, 1000, d, labels=labels)
    X[:3] *= 1e200
    rows, loss = ArrayRows(X, y, prep), LOGISTIC if labels else NUMERIC[1]
    faults = rows.total(LossGradient(loss, d, True), coefficients(prep)).faults
    assert faults == rows.total(Moments(d, True)).faults
    assert sum(faults.outside) > 100


@loop("length", [0.0, 1e-320, 1 - 1e-9, 1.0, 1 + 1e-15, 1.1, 1e10, 1e140, 1e150, 1e300])
@loop("d", [1, 3, 13, 40])
def test_no_row_is_longer_than_the_ball(path, length, d):
    """A gradient of squared loss far from its target shows the row itself: residual -1 at coef 0 and target 1."""
    prep = make_prep("ball", d, fit_intercept=False, labels=False)
    for direction in (np.ones(d), np.random.default_rng(d).normal(size=d)):
        x = direction / np.linalg.norm(direction) * length
        value = total(np.stack([x, x * 0]), np.full(2, 5.0), prep, NUMERIC[0], np.zeros(d))
        square = sum(Fraction(float(v)) ** 2 for v in value.gradient)
        assert square <= 1
        assert float(square) >= min(1.0, length) ** 2 * (1 - 1e-12) - 1e-300
        if length < 1 - 1e-10:
            assert_array_equal(value.gradient, -x)


def at_the_limit_of_squares(direction, limit=1e290):
    """The longest multiple whose squared norm, summed entry by entry, is at most the limit."""
    low, high = 0.5e145, 2e145
    for _ in range(70):
        middle = (low + high) / 2
        within = float(np.cumsum((direction * middle) ** 2)[-1]) <= limit
        low, high = (middle, high) if within else (low, middle)
    return direction * low


@pytest.mark.parametrize("d", [3, 9, 40, 100])
def test_rows_on_which_orders_of_summation_disagree_are_bounded(path, d):
    """Whether a squared norm is too large to be trusted may depend on the order of its sum; the row's bound may not."""
    prep = make_prep("ball", d, fit_intercept=False)
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=d)
        x /= np.linalg.norm(x)
        gradient = total(at_the_limit_of_squares(x)[np.newaxis], np.ones(1), prep, LOGISTIC, x, hessian=False).gradient
        assert_allclose(gradient, -x / (1 + np.exp(1)), rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_terms_far_below_the_rounding_of_the_sum_are_kept(path, threads):
    """One in each group of 512 rows, between a half and its opposite, which cancel."""
    X, y = np.zeros((3 * 8192, 1)), np.ones(3 * 8192)
    X[512:-512:512] = 2.0**-60
    X[0] = X[-1] = 0.5
    y[-1] = -1.0
    prep = ball_prep(1, False, None)
    value = total(X, y, prep, NUMERIC[0], np.zeros(1), threads=threads)
    assert value.gradient[0] == -(np.count_nonzero(X) - 2) * 2.0**-60


def test_nan_coefficients_show_in_the_gradient(path):
    prep = make_prep("ball", 3)
    X, y = make_data("ball", 50, 3)
    for loss in LABELLED:
        value = total(X, y, prep, loss, np.array([np.nan, 0, 0, 0]))
        assert np.isnan(value.gradient).all()
        assert np.isnan(value.loss)


def adversarial_points():
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, 36.0, 37.0, 745.0, 745.13, 745.14, 746.0, 708.3, 709.7, 1e308, 1e-300, 5e-324, 0.88137, 0.34657]
    near = np.outer([1.0, 36.0, 709.0, 745.0, 0.881373587], 1 + np.arange(-20, 21) * 2.0**-52).ravel()
    spread = [rng.uniform(-1, 1, 1500), rng.uniform(-40, 40, 2500), rng.uniform(-750, 750, 800)]
    wide = 10.0 ** rng.uniform(-300, 308, 300)
    z = np.concatenate([ends, near, wide, *spread])
    return np.concatenate([z, -z])


@pytest.mark.oracle
def test_curves_are_within_two_units_in_the_last_place(path, oracle):
    mpmath = oracle("mpmath")
    z = adversarial_points()
    sigmoid, softplus = curves(z, path.encode())
    with mpmath.workprec(200):
        for point, p, value in zip(z, sigmoid, softplus, strict=True):
            small = mpmath.exp(-abs(mpmath.mpf(point))) if abs(point) < 1e5 else mpmath.mpf(0)
            exact = (small if point < 0 else 1) / (1 + small)
            assert abs(mpmath.mpf(p) - exact) <= 2 * np.spacing(float(exact)), point
            exact = max(mpmath.mpf(point), 0) + mpmath.log1p(small)
            assert abs(mpmath.mpf(value) - exact) <= 2 * np.spacing(float(exact)), point


def test_curves_keep_a_nan(path):
    for values in curves(np.array([np.nan, 1.0, np.nan]), path.encode()):
        assert_array_equal(np.isnan(values), [True, False, True])


def exact_gradient(mpmath, X, y, constant, coef):
    """Of the summed logistic loss, to 60 digits; rows inside the ball."""
    rows = [[*map(mpmath.mpf, x.tolist()), *constant] for x in X]
    out = [mpmath.mpf(0)] * len(rows[0])
    for row, label in zip(rows, y, strict=True):
        s = 1 if label else -1
        margin = mpmath.fdot(row, coef)
        residual = -s / (1 + mpmath.exp(s * margin))
        out = [total + residual * entry for total, entry in zip(out, row, strict=True)]
    return out


@pytest.mark.grid(4)
@pytest.mark.oracle
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("norm", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("d", [2, 20])
def test_rounding_error_of_the_gradient_is_below_its_bound(path, oracle, copies, norm, d):
    """Copies of one row, whose margin is the small difference of large products, do not average the error."""
    mpmath = oracle("mpmath")
    rng = np.random.default_rng(d)
    prep = make_prep("ball", d)
    coef = rng.normal(size=d + 1)
    coef[d] = 0
    coef *= norm / np.linalg.norm(coef)
    X = rng.normal(size=(600, d))
    X -= np.outer(X @ coef[:d] - rng.normal(size=600), coef[:d]) / norm**2
    X *= 0.99 / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    y = rng.integers(0, 2, 600).astype(float)
    repeats = 20 if copies else 1
    if copies:
        X, y = np.repeat(X[:1], 600, axis=0), np.repeat(y[:1], 600)
    value = total(np.tile(X, (repeats, 1)), np.tile(y, repeats), prep, LOGISTIC, coef, hessian=False)
    with mpmath.workdps(60):
        exact = exact_gradient(mpmath, X, y, [mpmath.mpf(0.5)], [*map(mpmath.mpf, coef.tolist())])
        parts = zip(value.hi[:-1].tolist(), value.lo[:-1].tolist(), exact, strict=True)
        error = float(mpmath.norm([hi + mpmath.mpf(lo) - repeats * g for hi, lo, g in parts]))
    bound = gradient_rounding_bound(LOGISTIC, 600 * repeats, d, np.sqrt(1.25), norm, 0.0, 0.0, 0.0)
    assert error <= bound
    if copies and norm == 1e4 and d == 20:
        assert error >= bound / 1e4  # the bound is not idle


@pytest.mark.oracle
@pytest.mark.parametrize("d", [1, 13, 40, 100])
@loop("length", [1 - 1e-15, 1.0, 1 + 1e-15, 3.0, 1e100, 1e145, 1e300])
def test_one_bounded_row_is_meant_by_one_model_and_by_many(path, oracle, length, d):
    """Copies of a row around and outside the ball, against min(1, e / norm) times the row in 60 digits."""
    mpmath = oracle("mpmath")
    rng = np.random.default_rng(d)
    n, prep, norm = 1000, ball_prep(d, False, (0.0, 1.0)), 1e3
    x, coef = rng.normal(size=(2, d))
    x *= length / np.linalg.norm(x)
    coef *= norm / np.linalg.norm(coef)
    if d > 1:
        coef -= (coef @ (x / length) - 0.5) * (x / length)  # no saturated residual
    X, y = np.tile(x, (n, 1)), np.ones(n)
    with mpmath.workdps(60):
        row = [mpmath.mpf(v) for v in x.tolist()]
        shortened = min(mpmath.mpf(1), (1 - mpmath.mpf(d + 8) * mpmath.mpf(2) ** -52) / mpmath.norm(row))
        row = [shortened * v for v in row]
        residual = -1 / (1 + mpmath.exp(mpmath.fdot(row, [*map(mpmath.mpf, coef.tolist())])))
        bound = gradient_rounding_bound(LOGISTIC, n, d, 1.0, float(np.linalg.norm(coef)), 0.0, 0.0, 0.0)
        alone = total(X, y, prep, LOGISTIC, coef, hessian=False).gradient
        many = ArrayRows(X, y, prep).loss_gradients(LOGISTIC, np.tile(coef, (11, 1)))  # fewer are summed one by one
        for gradient in (alone, many[0], many[-1]):
            error = mpmath.norm([mpmath.mpf(v) - n * residual * e for v, e in zip(gradient.tolist(), row, strict=True)])
            assert float(error) <= bound


@pytest.mark.parametrize("residual", [1 - 2.0**-40 - 2.0**-53, 0.8414709848078965, 0.6])
@pytest.mark.parametrize("constant", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("d", [1, 40, 96])
def test_errors_that_do_not_cancel_stay_below_the_theorem_s_count_of_additions(path, residual, constant, d):
    """Equal terms, whose partial sums round the same way again and again: 80 u for each, of one model and of many."""
    prep = replace(ball_prep(d, False, None), geometry=Geometry(d, intercept=constant))
    n, loss, coef = 4096, huber_residual(residual), np.zeros(d + (constant > 0))
    X, y = np.zeros((n, d)), np.ones(n)
    X[:, 0] = 0.5
    exact = [-n * Fraction(residual) * Fraction(entry) for entry in (0.5, *[0] * (d - 1), constant)]
    alone = total(X, y, prep, loss, coef, hessian=False).gradient
    many = ArrayRows(X, y, prep).loss_gradients(loss, np.tile(coef, (11, 1)))  # fewer are summed one by one
    for gradient in (alone, many[0], many[-1]):
        for value, right in zip(gradient.tolist(), exact, strict=False):
            assert abs(Fraction(value) - right) <= 80 * Fraction(2.0**-53) * abs(right)


def test_an_inserted_nan_or_unknown_loss_is_refused_by_the_kernel():
    prep = make_prep("ball", 2)
    X, y = make_data("ball", 10, 2)
    with pytest.raises(KeyError):
        total(X, y, prep, replace(LOGISTIC, name="hinge"), np.zeros(3))
    with pytest.raises(ValueError, match="coef must have"):
        total(X, y, prep, LOGISTIC, np.zeros(2))
