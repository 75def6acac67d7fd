"""The score release: what it sums, its noise, its steps and the equation that it leaves."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

import dplr
from dplr.inference.intervals import UNBOUNDED, intervals
from dplr.mechanisms.score import noise as of_rounds
from dplr.mechanisms.score import spec as rounds
from dplr.mechanisms.score.noise import round_at_zero
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from made_rows import make_groups

RELATIONS = ["replace_one", "add_remove"]

KINDS = ("score", "diagonal", "off_diagonal")


def made(n=4000, d=3, seed=0, strength=1.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, d))
    margins = (X - 0.5) @ (strength * (-1.0) ** np.arange(d)) + 0.4
    return X, (rng.random(n) < special.expit(margins)).astype(int)


def fitted(X, y, eps=1.0, delta=1e-6, rng=0, **options):
    mechanism = options.pop("mechanism", "score")
    bounds = dplr.Bounds([(0, 1)] * X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(
            X, y, eps=eps, delta=delta, mechanism=mechanism, bounds=bounds, classes=[0, 1], rng=rng, **options
        )


def planned(n, d, eps=1.0, delta=1e-6, **options):
    mechanism = options.pop("mechanism", "score")
    target = (0, 1) if options.get("model") == "linear" else None
    bounds = dplr.Bounds([(0, 1)] * d, target=target)
    return dplr.plan(n_rows=n, bounds=bounds, eps=eps, delta=delta, mechanism=mechanism, **options)


def newton(Z, y, steps=30):
    """Maximum likelihood and its information, by a solver of a few lines."""
    w = np.zeros(Z.shape[1])
    for _ in range(steps):
        p = special.expit(Z @ w)
        information = (Z.T * (p * (1 - p))) @ Z
        w = w + np.linalg.solve(information, Z.T @ (y - p))
    return w, information


def scaled(X):
    """Rows of the scaled problem, constant last."""
    c = math.sqrt(1 / X.shape[1])
    return np.hstack([(2 * X - 1) * c, np.full((len(X), 1), 0.5)])


@pytest.mark.parametrize("number_of_rounds", [1, 2])
def test_without_noise_it_is_maximum_likelihood(number_of_rounds):
    X, y = made()
    est = fitted(X, y, math.inf, 0.0, None, mechanism=dplr.ScoreRelease(rounds=number_of_rounds))
    expected, _ = newton(np.hstack([X, np.ones((len(X), 1))]), y)
    tolerance = {1: 2e-3, 2: 1e-4}[number_of_rounds]
    np.testing.assert_allclose(np.append(est.coef_, est.intercept_), expected, atol=tolerance)
    assert {block.law for block in est.privacy_.released.values()} == {"none"}


def test_without_noise_the_equation_is_the_information_at_the_last_point():
    X, y = made(20_000)
    est = fitted(X, y, math.inf, 0.0, None)
    plan, Z = planned(20_000, 3, math.inf, 0.0), scaled(X)
    (reading,) = dplr.ScoreRelease().readings(plan, [est.released_], [])
    mle, information = newton(Z, y)
    np.testing.assert_allclose(reading.matrix, information, rtol=2e-3, atol=1.0)
    np.testing.assert_allclose(reading.center + np.linalg.solve(reading.matrix, reading.vector), mle, atol=1e-3)
    np.testing.assert_allclose(reading.sampling, reading.matrix, rtol=1e-9, atol=1e-6)
    assert reading.estimand == "log-odds"
    table = intervals(reading, np.eye(4))
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(table.std_error, errors, rtol=0.01)
    np.testing.assert_allclose(table.estimate, mle, atol=1e-3)


def test_intervals_cover_the_log_odds_and_would_not_without_their_noise():
    """150 tables of two columns at eps = 1: noise makes intervals more than twice as wide as maximum likelihood's."""
    plan, covered, blind, widths = planned(2000, 2), [], [], []
    truth = np.array([1.5, -1.5]) / (2 * math.sqrt(0.5))  # in the scaled problem
    for seed in range(150):
        X, y = made(2000, 2, seed)
        est = fitted(X, y, rng=1000 + seed)
        (reading,) = dplr.ScoreRelease().readings(plan, [est.released_], [])
        for found, each in ((covered, reading), (blind, replace(reading, vector_noise=np.zeros((3, 3))))):
            table = intervals(each, np.eye(3)[:2])
            found += ((table.low <= truth) & (truth <= table.high))[table.verdict != UNBOUNDED].tolist()
            widths.append(table.std_error)
    assert 0.92 <= np.mean(covered) <= 0.985
    assert np.mean(blind) < 0.8
    assert np.median(widths[::2]) > 1.5 * np.median(widths[1::2])


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_noise_of_every_block_has_the_deviation_of_the_plan(relation):
    X, y = made(500)
    plan = planned(500, 3, neighbouring=relation)
    exact = fitted(X, y, math.inf, 0.0, None, neighbouring=relation, n_rows=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        fits = dplr.fit_many(
            X, y, eps=[1.0] * 400, delta=1e-6, mechanism="score", bounds=dplr.Bounds([(0, 1)] * 3), classes=[0, 1],
            rng=0, neighbouring=relation, n_rows=500,
        )  # fmt: skip
    many = [est.released_ for est in fits]
    for kind in KINDS:
        name = f"round_1_{kind}"  # made at zero, whatever the noise is
        errors = np.array([part[name] - exact.released_[name] for part in many]).ravel()
        deviation = plan.released[name].scale
        assert abs(errors.mean()) < 4 * deviation / math.sqrt(errors.size)
        assert errors.std() == pytest.approx(deviation, rel=0.08)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("number_of_rounds", [1, 2])
def test_squares_of_mu_of_all_rounds_add_up_to_that_of_the_guarantee(relation, number_of_rounds):
    plan = planned(5000, 4, neighbouring=relation, mechanism=dplr.ScoreRelease(rounds=number_of_rounds))
    spent = 0.0
    for number in range(number_of_rounds + 1):
        block = plan.released[f"round_{number + 1}_score"]
        spent += (block.sensitivity / block.scale) ** 2
        for kind in ("diagonal", "off_diagonal"):
            other = plan.released[f"round_{number + 1}_{kind}"]
            assert other.scale * other.weight == pytest.approx(block.scale, rel=1e-6)
            assert other.sensitivity == block.sensitivity
    assert spent == pytest.approx(plan.statement.guarantee.mu**2, rel=1e-5)
    assert spent <= plan.statement.guarantee.mu**2


def test_a_replaced_record_counts_twice_and_the_hessian_costs_nothing():
    row_norm = math.hypot(1, 0.5)
    for relation, times in (("replace_one", 2), ("add_remove", 1)):
        plan = planned(5000, 3, neighbouring=relation)
        last = plan.released["round_3_score"]
        assert last.sensitivity == pytest.approx(times * row_norm, rel=1e-4)
        assert plan.released["round_3_diagonal"].weight > (3.3 if times == 1 else 4.7) / row_norm


def test_bits_do_not_depend_on_the_order_of_rows_or_the_number_of_threads(monkeypatch):
    X, y = made(20_000)
    order = np.random.default_rng(1).permutation(len(y))
    first = fitted(X, y)
    for other in (fitted(X[order], y[order]), fitted(np.asfortranarray(X), y)):
        np.testing.assert_array_equal(other.coef_, first.coef_)
    monkeypatch.setenv("DPLR_NUM_THREADS", "2")
    np.testing.assert_array_equal(fitted(X, y).coef_, first.coef_)


def test_the_last_point_is_a_function_of_what_was_released_before():
    X, y = made(2000)
    est, plan = fitted(X, y), planned(2000, 3)
    point = rounds.point_of(plan, est.released_, 2)
    np.testing.assert_array_equal(point * 2**20, np.rint(point * 2**20))
    assert 0 < np.linalg.norm(point) <= of_rounds.reach(4)
    others = {name: np.zeros_like(block) for name, block in est.released_.items() if name.startswith("round_3")}
    np.testing.assert_array_equal(rounds.point_of(plan, dict(est.released_) | others, 2), point)
    (reading,) = dplr.ScoreRelease().readings(plan, [est.released_], [])
    step = rounds.equation_of(plan, est.released_, 2)
    values, vectors = np.linalg.eigh(step.hessian)
    noise = step.score_noise**2 + 4 * step.hessian_noise**2 / 2
    coef = point + vectors @ (values / (values**2 + noise) * (vectors.T @ reading.vector))
    np.testing.assert_allclose(est.coef_.ravel(), coef[:3] * math.sqrt(1 / 3) * 2, rtol=1e-5)


def test_points_stay_where_rounds_are_made_whatever_was_released():
    plan = planned(2000, 3)
    part = {name: np.full(block.shape, 1e12) for name, block in plan.released.items()}
    part["round_2_diagonal"] = np.full(4, 1e-3)
    assert np.linalg.norm(rounds.point_of(plan, part, 2)) <= of_rounds.reach(4)


@pytest.mark.parametrize(("relation", "kinds"), list(itertools.product(RELATIONS, ["n2", "n3n", "mn2", "nq", "nde"])))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_derived_cells_are_those_of_the_exact_hessian(relation, kinds, fit_intercept):
    """Without noise the matrix of the equation is sum h v v', whatever the layout leaves out."""
    if "m" in kinds and not fit_intercept:
        pytest.skip("marks need an intercept")
    from dplr.rows import ArrayRows

    prep, X, y = make_groups(kinds, 3000, fit_intercept=fit_intercept)
    problem = Problem(LOGISTIC, prep.geometry, Neighbouring(relation), 3000, None, ())
    plan = dplr.ScoreRelease().plan(problem, math.inf, 0.0)
    from dplr.noise import Source

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = ArrayRows(X, y, prep)
        released = dplr.ScoreRelease().run(rows, plan, Source(0))
        point = rounds.point_of(plan, released, 2)
        exact = rows.total(rounds.query_of(problem, problem.loss), point)
    q = prep.geometry.n_coefs
    whole = np.triu(exact.integers(-40).astype(float)) * 2.0**-40
    expected = whole[:q, :q] + np.triu(whole[:q, :q], 1).T
    (reading,) = dplr.ScoreRelease().readings(plan, [released], [released["coef"]])
    np.testing.assert_allclose(reading.matrix, expected, atol=3000 * 2.0**-18)
    np.testing.assert_array_equal(reading.vector, whole[:q, q])


def test_cells_of_the_equation_carry_the_noise_of_the_plan():
    prep, *_ = make_groups("n3n", 10)
    for relation in Neighbouring:
        problem = Problem(LOGISTIC, prep.geometry, relation, 2000, None, ())
        plan = dplr.ScoreRelease().plan(problem, 1.0, 1e-6)
        part = {name: np.ones(block.shape) for name, block in plan.released.items()}
        (reading,) = dplr.ScoreRelease().readings(plan, [part], [])
        diagonal, beside = (plan.released[f"round_3_{kind}"].deviation ** 2 for kind in KINDS[1:])
        c = prep.geometry.half_width
        np.testing.assert_array_equal(reading.tied, [0, 2 * c, 2 * c, 2 * c, 0, 0])
        np.testing.assert_array_equal(np.diag(reading.cells), [diagonal, 0, 0, 0, diagonal, diagonal])
        assert not reading.cells[1:4, 1:4].any()
        assert (reading.cells[[0, 0, 1, 4], [1, 5, 5, 5]] == beside).all()
        np.testing.assert_array_equal(reading.cells, reading.cells.T)
        np.testing.assert_array_equal(reading.vector_noise, np.eye(6) * plan.released["round_3_score"].deviation ** 2)
        assert not reading.laplace


def test_a_public_start_takes_the_place_of_the_sums_at_zero():
    X, y = made(3000)
    old_X, old_y = made(3000, seed=1)
    est = fitted(X, y, public=(old_X, old_y))
    names = [name for name in est.released_ if name.endswith("score")]
    assert names == ["round_1_score", "round_2_score"]
    block = est.privacy_.released["round_1_score"]
    assert block.sensitivity == pytest.approx(2 * math.hypot(1, 0.5), rel=1e-4)
    assert np.abs(est.coef_ - fitted(X, y, math.inf, 0.0, None).coef_).max() < 1.0


def test_a_ridge_of_the_user_pulls_to_zero():
    X, y = made(4000)
    plain, pulled = (fitted(X, y, 3.0, l2=l2) for l2 in ("auto", 1.0))
    assert np.linalg.norm(pulled.coef_) < 0.5 * np.linalg.norm(plain.coef_)


def test_without_noise_and_with_a_ridge_it_is_the_ridge_solution():
    X, y = made(4000)
    est, Z = fitted(X, y, math.inf, 0.0, None, l2=0.01), scaled(X)
    w = np.zeros(4)
    for _ in range(30):
        p = special.expit(Z @ w)
        slope = Z.T @ (y - p) - 0.01 * len(y) * w
        w = w + np.linalg.solve((Z.T * (p * (1 - p))) @ Z + 0.01 * len(y) * np.eye(4), slope)
    # One step from a point that is near the solution without a ridge: right to second order.
    np.testing.assert_allclose(est.coef_.ravel(), w[:3] * math.sqrt(1 / 3) * 2, rtol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, '`delta` must be positive with mechanism="score"; got 0.*ObjectivePerturbation'),
        ({"model": "linear"}, '`model` must be "logistic" or "huber" or "poisson" with mechanism="score"; got'),
        ({"model": "svm"}, '`model` must be "logistic" or "huber" or "poisson" with mechanism="score"; got'),
    ],
)
def test_what_it_cannot_promise_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        planned(5000, 3, **options)


@pytest.mark.parametrize("wrong", [0, 3, 1.0, True, "2", None])
def test_a_wrong_number_of_rounds_is_refused(wrong):
    with pytest.raises(ValueError, match="`rounds` must be 1 or 2; got"):
        dplr.ScoreRelease(rounds=wrong)


def test_rows_that_are_not_finite_are_refused_before_noise_is_drawn():
    X, y = made(100)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted(X, y)


def test_it_is_saved_loaded_and_priced(tmp_path):
    X, y = made(2000)
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-5)
    est = dplr.fit(
        X, y, eps=1.0, delta=1e-6, mechanism="score", bounds=dplr.Bounds([(0, 1)] * 3), classes=[0, 1], ledger=ledger
    )
    dplr.save_model(est, tmp_path / "model.json")
    other = dplr.load_model(tmp_path / "model.json")
    assert other.mechanism == est.mechanism
    assert other.privacy_ == est.privacy_
    np.testing.assert_array_equal(other.coef_, est.coef_)
    for name, numbers in est.released_.items():
        np.testing.assert_array_equal(other.released_[name], numbers)
    assert ledger.spent()[0] <= 1.0 + 1e-9


def test_several_classes_have_a_release_each():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (6000, 2))
    y = np.digitize(X[:, 0] + rng.normal(0, 0.1, 6000), [0.33, 0.66])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        est = dplr.fit(
            X, y, eps=3.0, delta=1e-6, mechanism="score", bounds=dplr.Bounds([(0, 1)] * 2), classes=[0, 1, 2], rng=0
        )
    assert est.coef_.shape == (3, 2)
    assert np.mean(est.predict(X) == y) > 0.6


def test_mechanisms_without_intervals_say_why_and_what_to_use():
    for name, word, facts in (
        ("output", "ridge", {"delta": 0.0}),
        ("ngd", "clips gradients", {}),
        ("score", None, {}),
    ):
        plan = planned(5000, 3, mechanism=name, **facts)
        said = dplr.mechanisms.as_mechanism(name).lacks_intervals(plan)
        assert said == "" if word is None else (word in said and 'aim="coefficients"' in said)


@pytest.mark.parametrize("neighbouring", list(Neighbouring))
@pytest.mark.parametrize("iota", [0.0, 0.5])
def test_no_record_moves_the_sums_at_zero_by_more_than_their_sensitivity_and_one_does(neighbouring, iota):
    """There every record has p = 1/2: half of a row, with the sign of its label, and a quarter of its square."""
    geometry = Geometry(3, intercept=iota)
    weight, stated = round_at_zero(geometry, 1.0, neighbouring)
    v = np.array([1.0, 0.0, 0.0, iota])
    one = np.append(v / 2, weight * np.outer(v, v).ravel() / 4)
    other = np.append(-v / 2, weight * np.outer(v, v).ravel() / 4)
    moved = np.linalg.norm(one if neighbouring is Neighbouring.ADD_REMOVE else one - other)
    assert moved <= stated * (1 + 1e-9)
    assert moved >= 0.99 * stated
