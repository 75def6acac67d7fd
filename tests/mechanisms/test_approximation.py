"""Quadratic approximations of the logistic loss, other models from one release, and public coefficients."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.solvers.stein import stein_coef

BOUNDS = dplr.Bounds([(-1, 1)] * 3)


def even_part(z):
    return np.logaddexp(0, -z) + z / 2


@pytest.mark.parametrize(
    ("bound", "taylor_error", "minimax_error", "c2"),
    [
        (1, 0.00244, 0.00059, 0.12011),
        (2, 0.0331, 0.0074, 0.10845),
        (4, 0.3375, 0.0593, 0.08281),
        (6, 1.095, 0.152, 0.06415),
        (8, 2.35, 0.262, 0.05167),
    ],
)
def test_minimax_quadratic_has_the_published_error_and_no_other_is_better(bound, taylor_error, minimax_error, c2):
    """Half-range errors: a constant does not change the minimiser, so it is chosen best for both."""
    z = np.linspace(-bound, bound, 20_001)

    def half_range(curvature):
        gap = even_part(z) - curvature * z**2 / 2
        return (gap.max() - gap.min()) / 2

    ours = LOGISTIC.curvature_on(bound)
    assert ours / 2 == pytest.approx(c2, abs=6e-6)
    assert half_range(ours) == pytest.approx(minimax_error, rel=0.02)
    assert half_range(LOGISTIC.curvature) == pytest.approx(taylor_error, rel=0.02)
    assert half_range(ours) <= min(half_range(ours * factor) for factor in (0.9, 0.99, 1.01, 1.1)) + 1e-12


def test_squared_loss_needs_no_approximation():
    assert SQUARED.curvature_on(4.0) == SQUARED.curvature == 1.0


def test_printed_average_error_of_fm12_drops_a_term():
    """Section 5: the expression equals 0.0303, not 0.015; the exact error on [-1, 1] lies in [-0.004885, 0]."""
    e = math.e
    first, second = (e**2 - e) / (6 * (1 + e) ** 3), (e - e**2) / (6 * (1 + e) ** 3)
    assert first - second == pytest.approx(0.0303, abs=5e-5)
    assert first == pytest.approx(0.015, abs=2e-4)
    z = np.linspace(-1, 1, 10_001)
    error = np.logaddexp(0, z) - (math.log(2) + z / 2 + z**2 / 8)
    assert error.max() == pytest.approx(0.0, abs=1e-12)
    assert error.min() == pytest.approx(-0.004885, abs=1e-6)


def test_third_derivative_of_the_logistic_loss_is_largest_outside_fm12s_interval():
    z = np.linspace(0, 5, 500_001)
    p = 1 / (1 + np.exp(-z))
    third = np.abs(p * (1 - p) * (1 - 2 * p))
    assert third.max() == pytest.approx(1 / (6 * math.sqrt(3)), abs=1e-9)
    assert z[third.argmax()] == pytest.approx(math.log(2 + math.sqrt(3)), abs=1e-4)


@pytest.mark.parametrize(("length", "taylor", "stein"), [(1.0, 0.97, 1.01), (4.0, 2.93, 4.33)])
def test_stein_recovers_the_length_that_taylor_loses(length, taylor, stein):
    """Rows uniform in the unit ball of R^5, infinitely many: E yx by quadrature over the margin's law."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400_000, 5))
    x *= (rng.random((400_000, 1)) ** 0.2) / np.linalg.norm(x, axis=1, keepdims=True)
    w = np.zeros(5)
    w[0] = length
    label = np.tanh(x @ w / 2)  # E[y | x]
    second = x.T @ x / len(x)
    coef = np.linalg.solve(second, 2 * x.T @ label / len(x))
    assert coef[0] == pytest.approx(taylor, abs=0.03)
    assert stein_coef(coef, second, 0.0, 0.0)[0] == pytest.approx(stein, abs=0.05)


def test_stein_with_an_intercept_matches_the_share_of_positives():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200_000, 2)) / 2
    p = 1 / (1 + np.exp(-(x @ [2.0, -1.0] + 1.5)))
    v = np.column_stack([x, np.full(len(x), 0.5)])
    second = v.T @ v / len(x)
    coef = np.linalg.solve(second, 2 * v.T @ (2 * p - 1) / len(x))
    found = stein_coef(coef, second, 0.5, float(np.mean(2 * p - 1)))
    assert_allclose(found, [2.0, -1.0, 3.0], atol=0.05)


@pytest.mark.parametrize("variance", [0.0, -1.0, 1e9])
def test_stein_is_finite_whatever_the_noise_made_of_the_moments(variance):
    found = stein_coef(np.array([3.0, 1.0]), np.diag([variance, 1.0]), 1.0, 0.2)
    assert np.isfinite(found).all()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (20_000, 3))
    return X, X @ [3.0, -2.0, 1.0] + 0.5 + rng.logistic(size=len(X)) > 0


@pytest.mark.parametrize("approximation", ["taylor", "minimax", "stein"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_approximation_predicts_as_well_as_the_others(data, approximation, delta, neighbouring, fit_intercept):
    X, y = data
    spec = dplr.FunctionalMechanism(approximation=approximation, noise="gaussian")
    options = {"mechanism": spec, "delta": delta, "neighbouring": neighbouring, "fit_intercept": fit_intercept}
    est = dplr.fit(X, y, eps=2.0, bounds=BOUNDS, **options)
    assert est.score(X, y) > 0.75
    assert est.privacy_.delta == delta


def test_refit_gives_another_model_from_the_same_numbers_and_draws_nothing(data, entropy):
    X, y = data
    est = dplr.fit(X, y, eps=1.0, bounds=BOUNDS, mechanism="fm")
    before, spent = est.coef_.copy(), entropy.bytes
    other = est.refit(approximation="taylor", l2=0.5)
    assert entropy.bytes == spent
    assert other.released_ is est.released_
    assert_array_equal(est.coef_, before)
    assert np.linalg.norm(other.coef_) < np.linalg.norm(est.coef_)
    assert "no further privacy loss" in other.privacy_.solution[-1]
    assert "l2 = 0.5" in other.privacy_.solution
    assert other.privacy_.released == est.privacy_.released
    assert other.get_params()["l2"] == 0.5
    assert other.predict(X[:3]).shape == (3,)
    assert_array_equal(est.refit().coef_, est.coef_)
    assert_array_equal(other.refit(approximation="minimax", l2="auto").coef_, est.coef_)


def test_refit_shows_the_parameters_of_the_release_whatever_was_set_since(data):
    X, y = data
    est = dplr.fit(X, y, eps=1.0, bounds=BOUNDS, public=(np.ones(3), 0.0), mechanism="fm")
    est.set_params(eps=0.01, neighbouring="add_remove", l2=3.0)
    other = est.refit()
    assert (other.eps, other.neighbouring, other.l2) == (1.0, "replace_one", "auto")
    assert other.privacy_.eps == 1.0
    assert other.public is est.public
    with pytest.raises(ValueError, match="read-only"):
        other.released_["linear"][0] = 0.0


def test_private_model_given_as_public_is_named_in_the_statement(data):
    X, y = data
    first = dplr.fit(X[:100], y[:100], eps=0.5, bounds=BOUNDS, mechanism="fm")
    est = dplr.fit(X[100:], y[100:], eps=1.0, bounds=BOUNDS, public=first, mechanism="fm")
    expected = "pure eps-differential privacy, eps = 0.5; on common records both add up"
    assert any(expected in fact for fact in est.privacy_.assumptions)


def test_refit_refuses_what_a_fit_refuses(data):
    X, y = data
    est = dplr.fit(X, y, eps=1.0, bounds=BOUNDS, neighbouring="add_remove")
    with pytest.raises(ValueError, match="`l2` needs a public number of rows"):
        est.refit(l2=1.0)
    with pytest.raises(ValueError, match="`approximation` must be one of"):
        est.refit(approximation="cubic")
    with pytest.raises(ValueError, match="`l2` must be 'auto', or at least 0"):
        est.refit(l2=-1.0)


@pytest.mark.parametrize("model", ["logistic", "linear"])
def test_strong_ridge_pulls_towards_the_public_coefficients(data, model):
    X, y = data
    y = y if model == "logistic" else 2.0 * y - 1
    public = (np.array([1.0, 2.0, -3.0]), 0.25)
    bounds = dplr.Bounds([(-1, 1)] * 3, target=(-1, 1)) if model == "linear" else BOUNDS
    est = dplr.fit(X, y, model=model, eps=1.0, bounds=bounds, public=public, l2=1e6)
    assert_allclose(np.ravel(est.coef_), public[0], rtol=1e-3)
    assert_allclose(np.ravel(est.intercept_), 0.25, atol=1e-3)
    assert any("public coefficients [" in fact for fact in est.privacy_.assumptions)


@pytest.mark.filterwarnings("ignore:rng is set")
def test_public_model_helps_where_private_data_are_few(data):
    X, y = data
    public = dplr.fit(X[2000:], y[2000:], eps=math.inf, bounds=BOUNDS)
    errors = {}
    for start in (None, public):
        fits = [dplr.fit(X[:200], y[:200], eps=0.1, bounds=BOUNDS, public=start, rng=seed) for seed in range(30)]
        errors[start is None] = np.mean([1 - est.score(X[500:2000], y[500:2000]) for est in fits])
    assert errors[False] < errors[True]


def test_public_coefficients_do_not_change_the_release(data):
    public = (np.ones(3), 0.0)
    plans = [dplr.plan(n_rows=100, bounds=BOUNDS, eps=1.0, public=start) for start in (None, public)]
    assert plans[0].released == plans[1].released
