"""Output and objective perturbation, and the exact minimiser: laws of the mechanisms, run through the whole story."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as ScikitLogisticRegression

import dplr
import fits as fitting
from dplr.bounds.scaling import ball_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.perturbation import minimisation as erm
from dplr.mechanisms.perturbation import noise as objective_noise
from dplr.mechanisms.perturbation.ridge import noise_norm, objective_ridge
from dplr.noise import Source
from dplr.privacy import calibration
from dplr.privacy.guarantees import Approx, Neighbouring, Pure
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED, huber_svm
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.solvers.certificate import NotCertified, fine_rounding_bound, gradient_rounding_bound
from margin_losses import SoftHuber, SoftLogistic

LOSSES = [LOGISTIC, huber_svm(0.5)]
UNCUT = dplr.ObjectivePerturbation(cut=None)


def ball_data(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def problem_of(d, *, loss=LOGISTIC, n=400, l2=0.05, relation="replace_one", intercept=True, w0=None):
    prep = ball_prep(d, intercept, (-1.0, 1.0))
    return Problem(loss, prep.geometry, Neighbouring(relation), n, l2, (), w0), prep


def run(mechanism, X, y, problem, prep, eps=1.0, delta=0.0, seed=None):
    rows = ArrayRows(X, y, prep)
    return fitting.run(rows, problem, mechanism, eps, delta, NullLedger(), Source(seed))


def gradient(loss, X, y, w, ridge, iota, w0=0.0):
    V = np.column_stack([X, np.full(len(X), iota)]) if iota else X
    v = y * (V @ w)
    slope = expit(-v) if loss.name == "logistic" else np.clip((1 + loss.width - v) / (2 * loss.width), 0, 1)
    return -V.T @ (y * slope) + ridge * (w - w0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [1e-4, 0.01, 1.0])
def test_no_privacy_is_scikit_learns_minimiser(l2, intercept):
    X, y = ball_data()
    est = dplr.fit(X, y, classes=(-1, 1), mechanism="none", eps=math.inf, l2=l2, fit_intercept=intercept)
    V = np.column_stack([X, np.full(len(X), 0.5)]) if intercept else X
    reference = ScikitLogisticRegression(
        solver="newton-cholesky", tol=1e-12, C=1 / (l2 * len(X)), fit_intercept=False, max_iter=1000
    ).fit(V, y)
    found = np.append(est.coef_[0], est.intercept_ / 0.5) if intercept else est.coef_[0]
    np.testing.assert_allclose(found, reference.coef_[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_without_noise_the_exact_minimiser_is_released(mechanism, loss):
    X, y = ball_data()
    problem, prep = problem_of(3, loss=loss)
    coef = run(dplr.mechanisms.as_mechanism(mechanism), X, y, problem, prep, eps=math.inf).coef
    assert np.linalg.norm(gradient(loss, X, y, coef, 0.05 * 400, 0.5)) < 1e-5


def test_the_huber_svm_has_the_minimiser_of_a_general_optimiser():
    X, y = ball_data(120, 2)
    problem, prep = problem_of(2, loss=huber_svm(0.5), n=120)

    def objective(w):
        v = y * (np.column_stack([X, np.full(len(X), 0.5)]) @ w)
        loss = np.where(v > 1.5, 0.0, np.where(v < 0.5, 1 - v, (1.5 - v) ** 2 / 2))
        return loss.sum() + 0.05 * 120 * (w @ w) / 2

    found = run(dplr.NoPrivacy(), X, y, problem, prep, eps=math.inf).coef
    best = optimize.minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def recovered_noise(mechanism, delta, fits, loss=LOGISTIC, relation="replace_one"):
    """The noise of many fits: on the coefficients (output) or in the objective (minus the gradient)."""
    X, y = ball_data(200, 2)
    problem, prep = problem_of(2, loss=loss, n=200, relation=relation)
    spec = UNCUT if mechanism == "objective" else dplr.OutputPerturbation()
    plan = spec.plan(problem, 1.0, delta)
    ridge = plan.settings.ridge
    exact = run(dplr.NoPrivacy(), X, y, problem, prep, eps=math.inf).coef
    coefs = [run(spec, X, y, problem, prep, delta=delta, seed=seed).coef for seed in range(fits)]
    if mechanism == "output":
        return plan, np.array(coefs) - exact
    return plan, np.array([-gradient(loss, X, y, w, ridge, 0.5) for w in coefs])


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_pure_noise_has_a_gamma_norm_of_the_stated_scale_and_no_direction(mechanism, relation):
    plan, noise = recovered_noise(mechanism, 0.0, 600, relation=relation)
    scale = plan.statement.released["coef"].scale
    norms = np.linalg.norm(noise, axis=1)
    assert stats.kstest(norms, stats.gamma(3, scale=scale).cdf).pvalue > 1e-4
    # One coordinate of a uniform direction in three dimensions is uniform on [-1, 1].
    for j in range(3):
        assert stats.kstest(noise[:, j] / norms, stats.uniform(-1, 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_gaussian_noise_has_the_stated_deviation_in_every_coordinate(mechanism):
    plan, noise = recovered_noise(mechanism, 1e-6, 600)
    scale = plan.statement.released["coef"].scale
    for j in range(3):
        assert stats.kstest(noise[:, j], stats.norm(scale=scale).cdf).pvalue > 1e-4


def test_constants_of_a_plan():
    problem, _ = problem_of(3, n=1000, l2=0.01)
    ridge, norm = 10.0, math.sqrt(1.25)
    output = dplr.OutputPerturbation().plan(problem, 0.5, 0.0)
    tau = output.settings.tolerance
    assert output.settings.ridge == ridge
    grid = output.statement.released["coef"].grid
    assert grid <= 2.0**-20 * output.statement.noise_scale
    assert output.statement.sensitivity == pytest.approx(2 * (norm + tau) / ridge + 2 * grid, rel=1e-9)
    assert output.statement.noise_scale == pytest.approx(output.statement.sensitivity / 0.5)
    assert output.statement.noise_scale > output.statement.sensitivity / 0.5
    assert output.statement.guarantee == Pure(0.5)
    objective = UNCUT.plan(problem, 0.5, 0.0)
    assert objective.statement.sensitivity == pytest.approx(2 * norm)
    assert objective.statement.noise_scale == pytest.approx(2 * norm / (0.5 * (1 - 2**-8)))  # Lam >= 2 R~^2 / eps
    curvature = ridge + 1000 * 1.25 / 4 / 4  # a quarter of R~^2 for each row, spread over four coefficients
    beside = norm * 2**-13 / (1 - 2**-8) * math.sqrt(5 / 8) / (1 + 2**-5) * ridge / curvature
    solved = objective.settings
    assert solved.tolerance == pytest.approx(beside)
    assert solved.offset == pytest.approx(2 * beside / ridge / solved.lattice + 4, abs=1.01)
    assert solved.noise_units == math.ceil(2 * solved.offset / Fraction(0.5 * 2**-8))
    assert 2 * 64 <= beside / ridge / solved.lattice < 4 * 64
    assert objective.statement.guarantee == Approx(0.5, 2.0**-64)
    assert objective.statement.delta == 2.0**-64
    gaussian = dplr.ObjectivePerturbation().plan(problem, 0.5, 1e-6)
    assert gaussian.statement.guarantee == Approx(0.5, 1e-6)


@pytest.mark.parametrize("kind", [dplr.OutputPerturbation, dplr.ObjectivePerturbation])
@pytest.mark.parametrize("coef_norm", [1e-308, 1e300])
def test_a_guess_that_no_ridge_can_follow_is_refused_by_name(kind, coef_norm):
    with pytest.raises(ValueError, match="`coef_norm` must be between"):
        kind(coef_norm=coef_norm)
    for limit in (2.0**-100, 2.0**100):
        for eps in (1e-9, 1.0, 1e9):
            for bounds in (None, dplr.Bounds([(-1, 1)] * 2)):
                plan = dplr.plan(n_rows=10, n_features=2, bounds=bounds, eps=eps, mechanism=kind(coef_norm=limit))
                assert 0 < plan.settings.ridge < math.inf


def test_the_tolerance_is_paid_for_out_of_eps():
    """With the eps' of the whole eps the sum of both costs would exceed it."""
    problem, _ = problem_of(3, n=1000, l2=0.01)
    plan = dplr.ObjectivePerturbation().plan(problem, 0.5, 0.0)
    noise_eps = plan.statement.sensitivity / plan.statement.noise_scale
    tolerance_eps = Fraction(2 * plan.settings.offset, plan.settings.noise_units)
    assert noise_eps + float(tolerance_eps) == pytest.approx(0.5, rel=1e-6)
    assert Fraction(noise_eps) + tolerance_eps <= Fraction(1, 2)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_printed_algorithm_states_the_privacy_loss_that_it_has(loss):
    problem, _ = problem_of(2, loss=loss, n=1000, l2=1e-5)
    printed = dplr.ObjectivePerturbation(calibration="cm08").plan(problem, 1.0, 0.0)
    assert printed.statement.eps > 2
    assert printed.statement.guarantee == Approx(printed.statement.eps, 2.0**-64)
    assert printed.statement.noise_scale == pytest.approx(2 * math.sqrt(1.25) / (1 - 2**-8))


def test_cms11_raises_the_ridge_where_eps_would_not_pay_for_the_curvature():
    problem, _ = problem_of(2, n=1000, l2=1e-5)
    plan = dplr.ObjectivePerturbation(calibration="cms11").plan(problem, 1.0, 0.0)
    assert plan.settings.ridge == pytest.approx(0.25 * 1.25 / math.expm1((1 - 2**-8) / 4))
    assert "ridge raised" in plan.statement.calibration
    assert plan.statement.eps == 1.0


@pytest.mark.parametrize("mechanism", ["objective", "output", "none"])
def test_a_ridge_pulls_towards_public_coefficients(mechanism):
    X, y = ball_data(50, 2)
    eps = math.inf if mechanism == "none" else 1.0
    est = dplr.fit(X, y, classes=(-1, 1), mechanism=mechanism, eps=eps, l2=1e4, public=(np.array([3.0, -2.0]), 0.25))
    np.testing.assert_allclose(est.coef_[0], [3, -2], atol=1e-2)
    np.testing.assert_allclose(est.intercept_, 0.25, atol=1e-2)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("model", ["logistic", "svm"])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_defaults_learn(mechanism, delta, model, neighbouring):
    X, y = ball_data(20_000, 4, seed=3)
    options = {"n_rows": 15_000} if neighbouring == "add_remove" else {}
    spec = dplr.ObjectivePerturbation if mechanism == "objective" else dplr.OutputPerturbation
    est = dplr.fit(
        X,
        y,
        classes=(-1, 1),
        mechanism=spec(noise="gaussian"),
        model=model,
        eps=1.0,
        delta=delta,
        neighbouring=neighbouring,
        **options,
    )
    exact = dplr.fit(X, y, classes=(-1, 1), mechanism="none", model=model, eps=math.inf)
    assert est.score(X, y) > exact.score(X, y) - 0.02
    assert est.released_ == {}
    assert est.privacy_.arithmetic == "integer"
    assert est.privacy_.delta == (delta or (2.0**-64 if mechanism == "objective" else 0.0))


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_released_numbers_lie_on_the_stated_grid(mechanism):
    X, y = ball_data()
    problem, prep = problem_of(3)
    fit = run(dplr.mechanisms.as_mechanism(mechanism), X, y, problem, prep)
    units = fit.coef / fit.statement.released["coef"].grid
    assert np.array_equal(units, np.rint(units))
    assert np.abs(units).max() < 2**40


def test_a_released_zero_does_not_say_from_which_side_it_was_rounded():
    grid = 2.0**-10
    zeros = erm.to_grid(np.array([-0.0, 0.0, -grid / 3, grid / 3, -grid / 2, -1e-300]), grid)
    assert zeros.tobytes() == np.zeros(6).tobytes()


def test_projection_keeps_the_coefficients_in_the_public_ball():
    X, y = ball_data()
    problem, prep = problem_of(3, l2=1e-4)
    fit = run(dplr.OutputPerturbation(projection=2.0), X, y, problem, prep, eps=0.01)
    assert np.linalg.norm(fit.coef) == pytest.approx(2.0, abs=2 * fit.statement.released["coef"].grid)


class Budget:
    def __init__(self):
        self.events = []

    def reserve(self, *statements):
        self.events.append(("reserve", len(statements)) if len(statements) > 1 else "reserve")
        return self

    def draw(self):
        self.events.append("draw")

    def commit(self, outbox):
        self.events.append("commit")

    def refund(self):
        self.events.append("refund")


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_missed_tolerance_releases_nothing_and_stays_spent(mechanism, monkeypatch):
    def missed(*_):
        raise NotCertified

    X, y = ball_data()
    problem, prep = problem_of(3)
    rows, budget = ArrayRows(X, y, prep), Budget()
    monkeypatch.setattr(erm, "minimise", missed)
    with pytest.raises(NotCertified):
        fitting.run(rows, problem, dplr.mechanisms.as_mechanism(mechanism), 1.0, 0.0, budget, Source())
    assert budget.events == ["reserve", "draw"]


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_fault_in_the_data_gives_the_budget_back_before_noise(mechanism, entropy):
    X, y = ball_data()
    X[7, 1] = np.nan
    problem, prep = problem_of(3)
    rows, budget = ArrayRows(X, y, prep), Budget()
    with pytest.raises(ValueError, match="must be finite"):
        fitting.run(rows, problem, dplr.mechanisms.as_mechanism(mechanism), 1.0, 0.0, budget, Source())
    assert budget.events == ["reserve", "refund"]
    assert entropy.bytes == 0


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_more_rows_than_the_tolerance_was_planned_for_are_refused_under_add_remove(mechanism):
    X, y = ball_data(400)
    with pytest.raises(ValueError, match="n_rows"):
        dplr.fit(X, y, classes=(-1, 1), mechanism=mechanism, eps=1.0, neighbouring="add_remove", n_rows=24)
    dplr.fit(X, y, classes=(-1, 1), mechanism=mechanism, eps=1.0, neighbouring="add_remove", n_rows=25)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mechanism": dplr.OutputPerturbation(cut=0.5)}, "cut"),
        ({"mechanism": dplr.ObjectivePerturbation(calibration="cms11"), "model": "linear", "classes": None}, "model"),
        ({"mechanism": dplr.ObjectivePerturbation(cut=1.5)}, "cut"),
        ({"mechanism": dplr.ObjectivePerturbation(cut=0.5), "model": "svm"}, "cut"),
        ({"l2": 0.0}, "l2"),
        ({"l2": 1e-8}, "l2"),
        ({"neighbouring": "add_remove"}, "n_rows"),
        ({"mechanism": dplr.ObjectivePerturbation(calibration="cms11"), "delta": 1e-6}, "delta"),
        ({"mechanism": "none"}, "eps"),
        ({"mechanism": "fm", "model": "svm"}, "model"),
        ({"mechanism": "ngd?"}, "mechanism"),
    ],
)
def test_what_no_theorem_covers_is_refused_before_any_noise(options, match, entropy):
    X, y = ball_data()
    with pytest.raises(ValueError, match=f"`{match}`"):
        dplr.fit(X, y, **{"mechanism": "objective", "eps": 1.0, "classes": (-1, 1)} | options)
    assert entropy.bytes == 0


@pytest.mark.parametrize("cut", [0.0, -1.0, math.inf, "soft", 1e-4, 1025.0, 1e30])
def test_a_cut_is_a_positive_number_or_auto_and_nothing_for_printed_algorithms(cut):
    with pytest.raises(ValueError, match="`cut`"):
        dplr.ObjectivePerturbation(cut=cut)
    with pytest.raises(ValueError, match=r"`cut`.*printed algorithms"):
        dplr.ObjectivePerturbation(cut=0.5, calibration="cm08")
    assert dplr.ObjectivePerturbation(cut="auto", calibration="cm08").cut == "auto"  # which keeps their loss


@pytest.mark.parametrize(("model", "cut", "match"), [("linear", None, 'must be "auto" or a number'),
                                                     ("svm", 0.5, 'must be "auto" or None')])  # fmt: skip
def test_a_cut_that_a_model_cannot_have_is_refused_by_name(model, cut, match):
    facts = {"n_rows": 1000, "n_features": 2, "eps": 1.0, "model": model}
    with pytest.raises(ValueError, match=f"`cut` {match} with model=.{model}"):
        dplr.plan(mechanism=dplr.ObjectivePerturbation(cut=cut), **facts)


@pytest.mark.parametrize("cut", [np.float32(0.75), np.int64(1), Fraction(3, 4)])
def test_any_kind_of_number_is_the_cut_and_none_means_auto(cut):
    spec = dplr.ObjectivePerturbation(cut=cut)
    assert type(spec.cut) is float
    plan = dplr.plan(n_rows=1000, n_features=2, eps=1.0, model="linear", mechanism=spec)
    assert plan.problem.loss.width == float(cut)


@pytest.mark.parametrize("l2", [0.002, 0.1, 10.0])
@pytest.mark.parametrize("cut", [2.0**-10, 2.0**10])
def test_the_solver_reaches_its_tolerance_at_the_limits_of_the_cut(cut, l2):
    X, y = ball_data(500)
    spec = dplr.ObjectivePerturbation(cut=cut)
    fits = dplr.fit_many(X, X[:, 0] + 0.1 * y, model="linear", mechanism=spec, eps=[1.0], repeats=20, l2=l2)
    assert all(np.isfinite(est.coef_).all() for est in fits)


def test_a_missing_number_of_rows_is_named_for_linear_regression_too():
    facts = {"n_features": 2, "eps": 1.0, "model": "linear", "neighbouring": "add_remove"}
    with pytest.raises(ValueError, match="`n_rows` is required"):
        dplr.plan(mechanism="objective", **facts)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("options", [{}, {"neighbouring": "add_remove", "n_rows": 20_000}])
def test_linear_regression_finds_a_line_says_which_loss_and_comes_back_from_its_file(options, delta, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 10, (20_000, 2))
    y = 3 * X[:, 0] - 2 * X[:, 1] + 5 + rng.normal(0, 1, len(X))
    bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
    spec = dplr.ObjectivePerturbation(noise="gaussian")
    est = dplr.fit(X, y, model="linear", mechanism=spec, eps=1.0, delta=delta, bounds=bounds, **options)
    assert est.score(X, y) > 0.9
    statement = est.privacy_
    assert "minimises the soft_huber" in statement.calibration
    assert statement.estimand == "location"
    assert statement.delta == (delta or 2.0**-64)
    dplr.save_model(est, tmp_path / "model")
    read = dplr.load_model(tmp_path / "model")
    assert (read.predict(X) == est.predict(X)).all()
    assert read.privacy_ == statement


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_without_noise_the_minimiser_is_that_of_the_named_loss(model):
    """Against scipy's minimiser of the soft losses as their page writes them."""
    X, y = ball_data(200)
    target = y if model == "logistic" else np.clip(X[:, 0] + 0.3 * y, -1, 1)
    spec = dplr.ObjectivePerturbation(cut=0.5)
    options = {"classes": (-1, 1)} if model == "logistic" else {}
    est = dplr.fit(X, target, model=model, mechanism=spec, eps=math.inf, l2=0.02, fit_intercept=False, **options)
    twin = SoftLogistic(0.5) if model == "logistic" else SoftHuber(0.5)
    gradient = X.T @ twin.residual(X @ np.ravel(est.coef_), target) / len(X) + 0.02 * np.ravel(est.coef_)
    assert np.linalg.norm(gradient) < 1e-3


def test_a_cut_of_the_logistic_loss_lowers_the_noise_and_is_named_in_the_statement():
    facts = {"n_rows": 30_000, "n_features": 10, "eps": 0.5}
    plain = dplr.plan(mechanism=UNCUT, **facts).statement
    cut = dplr.plan(mechanism=dplr.ObjectivePerturbation(cut=0.5), **facts).statement
    assert cut.noise_scale == pytest.approx(plain.noise_scale / 2, rel=1e-9)
    assert "minimises the soft_logistic (0.5) loss instead of the logistic one" in cut.calibration
    assert "instead" not in plain.calibration
    rule = dplr.plan(mechanism="objective", **facts).problem.loss
    assert 0.5 <= rule.lipschitz <= 1


@pytest.mark.parametrize("option", ["coef_norm", "projection"])
def test_options_must_be_positive(option):
    for value in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=option):
            dplr.OutputPerturbation(**{option: value})


def test_the_losses_state_their_constants():
    z = np.linspace(-40, 40, 400_001)
    for loss, values in (
        (LOGISTIC, np.logaddexp(0, -z)),
        (huber_svm(0.5), np.where(z > 1.5, 0, np.where(z < 0.5, 1 - z, (1.5 - z) ** 2 / 2))),
    ):
        slope = np.diff(values) / np.diff(z)
        curvature = np.diff(slope) / (z[1] - z[0])
        assert np.abs(slope).max() == pytest.approx(loss.lipschitz, rel=1e-3)
        assert curvature.max() == pytest.approx(loss.smoothness, rel=1e-2)
        assert (slope <= 1e-9).all() == loss.one_signed
    assert math.isinf(SQUARED.lipschitz)


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective"])
def test_many_fits_are_releases_of_their_own_with_noise_of_their_own(mechanism):
    X, y = ball_data(2000)
    fits = dplr.fit_many(X, y, classes=(-1, 1), eps=[0.5, 2.0], repeats=3, mechanism=mechanism, l2=0.05)
    assert [est.eps for est in fits] == [est.privacy_.eps for est in fits] == [0.5] * 3 + [2.0] * 3
    assert len({tuple(est.coef_[0]) for est in fits}) == 6
    single = dplr.fit(X, y, classes=(-1, 1), eps=2.0, mechanism=mechanism, l2=0.05)
    assert fits[-1].privacy_ == single.privacy_
    assert fits[0].get_params() == single.get_params() | {"eps": 0.5}
    for est in fits:
        assert est.score(X, y) > 0.5


def test_many_fits_reserve_for_every_release_before_the_first_row_is_read():
    X, y = ball_data()
    problem, prep = problem_of(3)
    budget = Budget()
    rows = ArrayRows(X, y, prep)
    fits = fitting.run_many(rows, problem, dplr.ObjectivePerturbation(), [1.0, 2.0, 1.0], 0.0, budget, Source())
    assert len(fits) == 3
    assert budget.events == [("reserve", 3), "draw", "commit"]  # all or nothing


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_data_holder_is_told_once_how_much_was_clipped(mechanism):
    X, y = ball_data()
    with pytest.warns(UserWarning, match="outside the unit ball") as caught:
        dplr.fit(3 * X, y, classes=(-1, 1), mechanism=mechanism, eps=1.0)
    assert len(caught) == 1


def test_refit_needs_a_release_that_holds_more_than_one_model():
    X, y = ball_data()
    with pytest.raises(ValueError, match="refit"):
        dplr.fit(X, y, classes=(-1, 1), mechanism="objective", eps=1.0).refit(l2=1.0)


def test_the_width_of_the_svm_is_checked_and_enters_the_statement():
    X, y = ball_data()
    with pytest.raises(ValueError, match="width"):
        dplr.HuberSVC(width=0.0).fit(X, y)
    wide = dplr.HuberSVC(width=2.0, l2=0.01, classes=(-1, 1)).fit(X, y).privacy_
    narrow = dplr.HuberSVC(width=0.5, l2=0.01, classes=(-1, 1)).fit(X, y).privacy_
    assert wide.noise_scale < narrow.noise_scale


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("eps", [1.0, 2000.0, 1e9, 1e100])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("l2", ["auto", 1e-9, 1e8])
def test_every_plan_that_is_made_can_be_run(mechanism, eps, delta, l2):
    """An error after the noise was drawn would spend the budget for nothing."""
    X, y = ball_data(2000)
    if l2 == 1e-9 and mechanism == "objective" and eps == 1.0:
        with pytest.raises(ValueError, match="`l2` must be above"):
            dplr.plan(n_rows=2000, n_features=3, mechanism=mechanism, eps=eps, delta=delta, l2=l2)
        return
    coef = dplr.fit(X, y, classes=(-1, 1), mechanism=mechanism, eps=eps, delta=delta, l2=l2).coef_
    assert np.isfinite(coef).all()


@pytest.mark.parametrize("mechanism", ["objective", "output", "none"])
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"public": (np.full(3, 1e100), 0.0)}, "public"),
        ({"public": (np.full(3, 1e200), 0.0)}, "public"),
        ({"l2": 1e300}, "l2"),
        ({"l2": 1e308}, "l2"),
    ],
)
def test_numbers_that_float64_cannot_minimise_with_are_refused_before_any_noise(mechanism, options, match, entropy):
    X, y = ball_data()
    with pytest.raises(ValueError, match=f"`{match}`"):
        dplr.fit(
            X, y, classes=(-1, 1), **{"mechanism": mechanism, "eps": math.inf if mechanism == "none" else 1.0} | options
        )
    assert entropy.bytes == 0


def test_the_limit_of_passes_fits_the_compiled_loop_for_any_number_of_rows():
    for n_rows in (10**4, 10**8, 10**12):
        for l2 in (1e-6 / n_rows * 1.001, 1 / n_rows):
            problem, _ = problem_of(3, n=n_rows, l2=l2)
            assert 0 < dplr.NoPrivacy().plan(problem, math.inf, 0.0).settings.passes < 2**63


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_gaussian_output_noise_is_the_sensitivity_over_mu(relation):
    problem, _ = problem_of(3, n=1000, l2=0.01, relation=relation)
    plan = dplr.OutputPerturbation().plan(problem, 0.5, 1e-6)
    distance = (2 if relation == "replace_one" else 1) * math.sqrt(1.25) + 2 * plan.settings.tolerance
    mu = calibration.gaussian_mu(0.5, 1e-6)
    assert plan.statement.guarantee.mu == mu
    grid = plan.statement.released["coef"].grid
    assert plan.statement.noise_scale == pytest.approx((distance / 10 + 2 * grid) / mu, rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_that_pays_for_the_tolerance_is_drawn_for_every_release(delta, monkeypatch):
    X, y = ball_data()
    problem, prep = problem_of(3)
    plans = [dplr.ObjectivePerturbation().plan(problem, eps, delta) for eps in (1.0, 2.0)]
    settings = {plan.settings.noise_units: plan.settings.lattice for plan in plans}
    source, added = Source(), 0.0
    monkeypatch.setattr(source, "normals", lambda deviation, size: np.zeros(size, np.int64))
    monkeypatch.setattr(source, "norm_gamma", lambda scale, size: np.zeros(size, np.int64))
    monkeypatch.setattr(source, "laplace", lambda scale, size: np.full(size, int(added / settings[scale])))

    def fits():
        rows = ArrayRows(X, y, prep)
        return fitting.run_many(rows, problem, dplr.ObjectivePerturbation(), [1.0, 2.0], delta, NullLedger(), source)

    quiet = fits()
    added = 64.0
    for before, after in zip(quiet, fits(), strict=True):
        np.testing.assert_allclose(after.coef - before.coef, 64.0, atol=1e-2)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_calibration_takes_the_norm_with_the_intercept_its_square_and_the_relation(loss, relation):
    geometry, ridge, eps, share = Geometry(2, radius=3.0, intercept=0.5), 8.0, 1.0, 2.0**-8
    problem = Problem(loss, geometry, Neighbouring(relation), 100, ridge / 100, ())
    left, signs, square = eps * (1 - share), 2 if relation == "replace_one" else 1, 9.25
    curvature = loss.smoothness * square / ridge

    def spent(e):
        if loss.name == "logistic":
            return objective_noise.logistic_loss(e, square / ridge, signs)
        return objective_noise.rank_one_loss(e, curvature)

    def scale(calibration, delta=0.0):
        return dplr.ObjectivePerturbation(calibration, cut=None).plan(problem, eps, delta).statement.noise_scale

    distance = signs * math.sqrt(square)
    printed, _ = objective_noise.cms11(left, curvature)
    assert scale("tight") == pytest.approx(distance / objective_noise.largest_noise_eps(spent, left), rel=1e-9)
    assert scale("cms11") == pytest.approx(distance / printed, rel=1e-9)
    cm08 = dplr.ObjectivePerturbation("cm08").plan(problem, eps, 0.0).statement
    assert cm08.eps == pytest.approx(max(eps, spent(left) + eps * share), rel=1e-9)

    def alone(e):
        return objective_noise.logistic_loss(e, square / ridge, 1) if loss.name == "logistic" else spent(e)

    sigma = objective_noise.gaussian_sigma(left, 1e-6, math.sqrt(square), alone, signs, one_signed=True)
    assert scale("tight", 1e-6) == pytest.approx(sigma, rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("eps", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("q", [1, 2, 50])
def test_the_solver_is_planned_for_linear_terms_of_any_length_that_delta_does_not_cover(q, eps, delta, monkeypatch):
    """A missed tolerance is as likely as a long term, and its delta is (1 + e^eps) times that."""
    problem, _ = problem_of(q, n=1000, l2=0.01, intercept=False)
    lengths, planned = [], erm.minimisation

    def spy(problem, ridge, linear_norm, *share):
        lengths.append(linear_norm)
        return planned(problem, ridge, linear_norm, *share)

    monkeypatch.setattr(erm, "minimisation", spy)
    scale = dplr.ObjectivePerturbation().plan(problem, eps, delta).statement.noise_scale
    law = stats.chi(q) if delta else stats.gamma(q)
    assert law.sf(lengths[0] / scale) * (1 + math.exp(eps)) <= 2.0**-64
    assert lengths[0] <= 1.5 * scale * law.isf(2.0**-64 / (1 + math.exp(eps)))


@pytest.mark.parametrize("calibration", ["tight", "cms11", "cm08"])
def test_objective_perturbation_without_a_delta_states_that_of_its_solver(calibration):
    problem, _ = problem_of(3, n=1000, l2=0.01)
    statement = dplr.ObjectivePerturbation(calibration).plan(problem, 0.5, 0.0).statement
    assert statement.delta == 2.0**-64
    assert statement.guarantee == Approx(statement.eps, 2.0**-64)
    assert "delta = 5.42101e-20 (2^-64)" in str(statement)
    assert "2^-64 for a linear term too long" in " ".join(str(statement).split())
    free = dplr.ObjectivePerturbation(calibration).plan(problem, math.inf, 0.0).statement
    assert (free.delta, free.guarantee) == (0.0, Pure(math.inf))
    assert "too long" not in str(free)
    output = dplr.OutputPerturbation().plan(problem, 0.5, 0.0).statement  # its solver ends before any noise
    assert (output.delta, output.guarantee) == (0.0, Pure(0.5))


@pytest.mark.parametrize("delta", [2.0**-63, 1e-12, 1e-6, 0.3])
def test_a_delta_that_was_asked_for_pays_for_the_solver_too(delta, monkeypatch):
    problem, _ = problem_of(3, n=1000, l2=0.01)
    given, found = [], objective_noise.gaussian_sigma

    def spy(eps, delta, *rest):
        given.append(delta)
        return found(eps, delta, *rest)

    monkeypatch.setattr(objective_noise, "gaussian_sigma", spy)
    statement = dplr.ObjectivePerturbation().plan(problem, 0.5, delta).statement
    assert statement.guarantee == Approx(0.5, delta)
    assert Fraction(given[0]) + Fraction(1, 2**64) <= Fraction(delta)
    assert given[0] == pytest.approx(delta - 2.0**-64, rel=1e-15)


@pytest.mark.parametrize("delta", [2.0**-64, 1e-30])
def test_a_delta_that_cannot_pay_for_the_solver_is_refused(delta):
    problem, _ = problem_of(3, n=1000, l2=0.01)
    with pytest.raises(ValueError, match=r"`delta` must be 0 or above 2\^-64 .* delta=0 takes pure noise"):
        dplr.ObjectivePerturbation().plan(problem, 0.5, delta)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_a_calibration_is_called_exact_where_it_is(columns, relation):
    problem, _ = problem_of(columns, n=1000, l2=0.01, relation=relation, intercept=False)
    said = UNCUT.plan(problem, 0.5, 0.0).statement.calibration
    bound = columns == 1 and relation == "replace_one"
    assert ("an upper bound with one coefficient" in said) is bound
    assert ("exact for the logistic loss" in said) is not bound


def test_many_fits_of_output_perturbation_start_from_the_minimum_of_their_own_ridge(monkeypatch):
    X, y = ball_data()
    problem, prep = problem_of(3, l2=None)
    source, levels = Source(), [0.5, 50.0, 0.5]
    monkeypatch.setattr(source, "norm_gamma", lambda scale, size: np.zeros(size))
    fits = fitting.run_many(
        ArrayRows(X, y, prep), problem, dplr.OutputPerturbation(), levels, 0.0, NullLedger(), source
    )
    ridges = [dplr.OutputPerturbation().plan(problem, eps, 0.0).settings.ridge for eps in levels]
    assert ridges[0] > 2 * ridges[1]
    for fit, ridge in zip(fits, ridges, strict=True):
        assert np.linalg.norm(gradient(LOGISTIC, X, y, fit.coef, ridge, 0.5)) < 1e-4


def test_a_row_may_be_longer_than_its_radius_by_its_rounding():
    """A projected row of d numbers has a norm within (d + 3) 2^-53 of 1."""
    assert Geometry(4096, intercept=0.5).row_norm >= math.sqrt(1.25) * (1 + 4099 * 2.0**-53)


@pytest.mark.parametrize(("ridge", "linear", "start"), [(1e-3, 0.0, 0.0), (1e-3, 5.0, 50.0), (1e7, 5.0, 0.0)])
def test_the_tolerance_of_a_plan_covers_the_rounding_at_the_longest_minimum_and_the_most_rows(ridge, linear, start):
    problem, _ = problem_of(1, n=10**7, l2=1e-7, intercept=False, w0=(start,), relation="add_remove")
    solved, rows = erm.minimisation(problem, ridge, linear), 16 * 10**7
    # With all rows and labels of one sign, the minimum solves rows sigma(-w) + linear = ridge (w - start).
    longest = optimize.brentq(lambda w: rows * expit(-w) + linear - ridge * (w - start), 0, 1e12)
    norm = problem.geometry.row_norm
    bound = fine_rounding_bound(LOGISTIC, rows, 1, norm, longest, ridge, start, linear)
    assert solved.tolerance >= 8 * bound
    plain = gradient_rounding_bound(LOGISTIC, rows, 1, norm, longest, ridge, start, linear)
    assert erm.minimisation(problem, ridge, linear, 0.0).tolerance >= 8 * plain
    assert erm.minimisation(problem, ridge, linear, 1e-30).tolerance >= 8 * bound


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("signs", [1, 2])
def test_the_default_ridge_is_the_largest_of_what_the_proof_names(delta, signs):
    def ridge(n_rows, size, eps, coef_norm):
        return objective_ridge(LOGISTIC, n_rows, size, eps, delta, 1.0, signs, coef_norm)

    c = noise_norm(5, 0.1, delta, 1.0, signs)
    assert ridge(10**9, 5, 0.1, 3.0) == pytest.approx(c / 3)
    assert ridge(10, 5, 0.1, 3.0) == pytest.approx(c**2 / 40)
    assert ridge(10**9, 5, 0.1, 1e9) == pytest.approx(signs / 0.1)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_noise_from_a_seed_is_said_to_be_reproducible(mechanism):
    X, y = ball_data()
    problem, prep = problem_of(3)
    for seed in (None, 1):
        fit = run(dplr.mechanisms.as_mechanism(mechanism), X, y, problem, prep, seed=seed)
        assert fit.statement.reproducible == (seed is not None)
