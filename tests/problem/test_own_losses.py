"""Losses of a user's own: constants are exact, wrong ones refused with the margin, and no function sees a record."""

import copy
import dataclasses
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model

import dplr
import own_losses
import reference
from dplr._core import cpu_paths
from dplr.auditor import search
from dplr.bounds.scaling import ball_prep, layout_prep
from dplr.mechanisms import ObjectivePerturbation, OutputPerturbation
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.knots import knotted
from dplr.problem.losses import LOGISTIC, SQUARED, loss_of, poisson
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.rows.losses import LossGradient, LossGradientHessian
from dplr.solvers.certificate import Objective, gradient_rounding_bound, least_tolerance, pass_limit
from own_losses import KNOTTED, own_log_cosh, own_logistic
from sixty_digits import gradient_of, mp
from specs import spec_with

each = pytest.mark.parametrize("loss", KNOTTED, ids=lambda loss: loss.label)
UNIT = 2.0**-53


def logistic_value(v):
    return np.logaddexp(0, -v)


def logistic_slope(v):
    return -1 / (1 + np.exp(v))


def logistic_curvature(v):
    return 1 / (2 + np.exp(v) + np.exp(-v))


def square_well(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 2))
    return X, X @ (1.0, -0.5) + rng.normal(0, 0.5, n)


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


# Constants


@each
def test_the_kernels_keep_the_stated_constants_at_every_margin(path, loss):
    knots = loss.knots
    ends = knots.places[[0, -1]]
    z = np.unique(np.concatenate([knots.places, np.linspace(ends[0] - 30, ends[1] + 30, 4001), [-1e300, 1e300]]))
    worst = 0.0
    for y in (0.0, 1.0) if loss.classification else (-1.0, -0.3, 1.0):
        prep = ball_prep(1, False, (0.0, 1.0) if loss.classification else None)
        rows, query = ArrayRows(np.full((1, 1), 0.5), np.full(1, y), prep), LossGradientHessian(loss, 1, False)
        sums = [rows.total(query, np.array([2 * place])) for place in z[::7]]
        slopes, weights = (np.array(part) for part in zip(*((2 * s.gradient[0], 4 * s.hessian[0, 0]) for s in sums),
                                                          strict=True))  # fmt: skip
        assert (np.diff(slopes) >= -8 * UNIT * loss.lipschitz).all()
        assert (np.abs(slopes) <= loss.lipschitz * (1 + 8 * UNIT)).all()
        assert ((weights >= 0) & (weights <= loss.smoothness * (1 + 8 * UNIT))).all()
        if loss.one_signed:
            assert (slopes * (2 * y - 1) <= 0).all()
        worst = max(worst, np.abs(slopes).max())
    assert worst >= loss.lipschitz * (1 - 1e-6) - (0 if loss.classification else 1e-6)


@each
def test_no_loss_at_zero_is_further_above_its_smallest_value_than_stated(loss):
    z = np.linspace(-80, 80, 200_001)
    targets = (-1.0, 1.0) if loss.classification else (-1.0, -0.5, 0.0, 0.5, 1.0)
    falls = []
    for y in targets:
        values = reference.loss_curve(loss, np.append(z, 0.0), np.full(len(z) + 1, y))[2]
        falls.append(values[-1] - values.min())
    assert max(falls) <= loss.fall <= max(falls) + loss.smoothness / loss.knots.per_unit**2 + 1e-6


def test_constants_that_are_not_given_are_found():
    loss = own_logistic()
    assert loss.lipschitz == pytest.approx(1.0, abs=2e-7)
    assert loss.smoothness == pytest.approx(0.25, rel=1e-5)
    assert loss.one_signed
    assert loss.classification
    assert own_logistic(lipschitz=1.5).lipschitz == 1.5  # larger is allowed, and costs noise


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lipschitz": 0.99}, r"`lipschitz` must be at least \|slope\|, which is 1 at -16; got 0.99"),
        ({"smoothness": 0.2475}, r"`smoothness` must be at least the curvature, which is 0.25 at 0; got 0.2475"),
        ({"reach": 4}, r"`slope` must have come to 0 at 4"),
        ({"reach": 0.5}, r"`reach` must be between 1 and 256; got 0.5"),
        ({"name": "poisson"}, r"`name` must be none of logistic, .*Those are built in"),
        ({"name": "<script>"}, r"`name` must be up to 40 letters"),
        ({"name": "logistic"}, r"`name` must be none of logistic, squared"),  # whose theorem is sharper
        ({"value": lambda v: 1.01 * logistic_value(v)}, r"`slope` must be the derivative of value; it is not near -16"),
        ({"curvature": lambda v: 1.05 * logistic_curvature(v)}, r"`curvature` must be the derivative of slope"),
        ({"curvature": lambda v: -logistic_curvature(v)}, r"`curvature` must not be negative"),
        ({"slope": lambda v: -logistic_slope(v)}, r"`slope` must never fall"),
        ({"slope": lambda v: np.where(v == 3, np.nan, logistic_slope(v))}, r"`slope` must be finite, also at 3"),
        ({"slope": lambda v: 0 * v}, r"`slope` must not be 0 everywhere"),
    ],
)
def test_wrong_constants_and_functions_are_refused_with_the_margin(change, message):
    functions = {"value": logistic_value, "slope": logistic_slope, "curvature": logistic_curvature}
    with pytest.raises(ValueError, match=message):
        dplr.losses.margin_loss(**(functions | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": 1.0}, "`slope` must be a function of an array of margins"),
        ({"slope": lambda v: "steep"}, "`slope` must return numbers"),
        ({"slope": lambda v: v[:3]}, r"`slope` must return one number for each margin; got \(3,\)"),
    ],
)
def test_what_is_no_function_of_margins_is_refused(change, message):
    functions = {"value": logistic_value, "slope": logistic_slope, "curvature": logistic_curvature}
    with pytest.raises(TypeError, match=message):
        dplr.losses.margin_loss(**(functions | change))


def test_a_corner_between_knots_is_charged_at_what_the_kernel_has():
    """l'' is 0 wherever it is asked, and the slope still rises: what counts is the slope."""

    def slope(r):
        return np.where(r > 1 / 300, 1.0, -1.0)

    with pytest.raises(ValueError, match="`curvature` must be the derivative of slope; it is not near 0"):
        dplr.losses.residual_loss(np.abs, slope, lambda r: 0 * r, smoothness=1.0)


# What sees a record


def test_the_functions_are_called_before_any_fit_and_never_again():
    calls = []

    def spy(function):
        def called(v):
            calls.append(v.copy())
            return function(v)

        return called

    loss = dplr.losses.margin_loss(*map(spy, (logistic_value, logistic_slope, logistic_curvature)))
    assert len(calls) == 3
    for places in calls:
        assert_array_equal(places, np.arange(-4096, 4097) / 256)
    X, y = square_well()
    for mechanism, delta in (("objective", 0.0), ("output", 0.0), ("ngd", 1e-6)):
        est = dplr.MarginClassifier(loss=loss, mechanism=mechanism, delta=delta, bounds=dplr.Bounds([(0, 10)] * 2))
        est.fit(X, y > 0).predict(X)
    assert len(calls) == 3


def test_a_loss_is_a_value():
    assert own_logistic() == own_logistic()
    assert hash(own_logistic()) == hash(own_logistic())
    assert own_logistic() != own_logistic(reach=17)
    with pytest.raises(dataclasses.FrozenInstanceError):
        own_logistic().lipschitz = 0.1


# Models


def test_an_own_logistic_loss_gives_the_model_of_the_built_in_one():
    X, y = square_well()
    bounds = dplr.Bounds([(0, 10)] * 2)
    facts = {"eps": math.inf, "mechanism": "none", "bounds": bounds, "l2": 1e-3}
    own = dplr.fit(X, y > 0, model=own_logistic(), **facts)
    assert isinstance(own, dplr.MarginClassifier)
    assert_allclose(own.coef_, dplr.fit(X, y > 0, **facts).coef_, rtol=1e-4)


def test_a_poisson_model_without_noise_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (5000, 2))
    y = rng.poisson(np.exp(X @ (1.5, -1.0)))
    bounds = dplr.Bounds([(0, 1)] * 2, target=(0, 40))
    for intercept in (True, False):
        est = dplr.PoissonRegressor(
            eps=math.inf, mechanism="none", bounds=bounds, l2=1e-9, fit_intercept=intercept
        ).fit(X, y)
        other = linear_model.PoissonRegressor(alpha=0, tol=1e-10, fit_intercept=intercept).fit(X, y)
        assert_allclose(est.coef_, other.coef_, atol=1e-3)
        assert_allclose(est.intercept_, other.intercept_, atol=1e-3)
        assert est.score(X, y) == pytest.approx(other.score(X, y), abs=1e-5)
        assert_allclose(est.to_sklearn().predict(X), est.predict(X), rtol=1e-12)
        text = est.to_sql(columns=["a", "b"])
        assert text.startswith("EXP(")


def test_counts_need_a_declared_range_of_counts():
    X, y = np.zeros((10, 1)), np.arange(10)
    with pytest.raises(
        ValueError, match='`bounds` must declare the range of the counts with model="poisson"; got None'
    ):
        dplr.PoissonRegressor().fit(X, y)
    for target in ((-9, -1), (-1, 0), (5, 5.000001)):
        with pytest.raises(ValueError, match="`bounds` must have a target with 0 <= lower < upper"):
            dplr.PoissonRegressor(bounds=dplr.Bounds([(0, 1)], target=target)).fit(X, y)


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_a_range_of_counts_that_begins_below_0_is_one_from_0_on(tmp_path):
    """Learned bounds of counts may begin a step below 0, by their noise: what was paid for them is not lost."""
    X, y = np.random.default_rng(0).uniform(0, 1, (500, 2)), np.arange(500) % 7
    below, plain = (
        dplr.fit(X, y, eps=1.0, model="poisson", rng=1, bounds=dplr.Bounds([(0, 1)] * 2, target=(low, 9)))
        for low in (-3, 0)
    )
    np.testing.assert_array_equal(below.coef_, plain.coef_)
    assert below.privacy_.assumptions == plain.privacy_.assumptions
    dplr.save_model(below, tmp_path / "m.json")
    np.testing.assert_array_equal(dplr.load_model(tmp_path / "m.json").predict(X), plain.predict(X))


@pytest.mark.parametrize("mechanism", ["objective", "output", "ngd"])
@pytest.mark.parametrize("kind", ["huber", "poisson", "own residual", "own margin"])
def test_every_model_is_planned_fitted_saved_and_read(kind, mechanism, tmp_path):
    X, y = square_well()
    bounds, model = dplr.Bounds([(0, 10)] * 2, target=(-5, 10)), kind
    if kind == "poisson":
        y, bounds = np.round(np.maximum(y, 0)), dplr.Bounds([(0, 10)] * 2, target=(0, 10))
    if kind == "own residual":
        model = own_log_cosh()
    if kind == "own margin":
        y, bounds, model = y > 0, dplr.Bounds([(0, 10)] * 2), dplr.losses.smoothed_hinge(0.3)
    facts = {"eps": 3.0, "delta": 1e-6 * (mechanism == "ngd"), "model": model, "mechanism": mechanism, "bounds": bounds}
    est = dplr.fit(X, y, **facts)
    assert est.score(X, y) > 0.5
    assert dplr.plan(n_rows=len(y), **facts).released == est.privacy_.released
    if kind.startswith("own"):
        said = f"the loss {model.label} was chosen without looking at the data"
        assert said in est.privacy_.assumptions
    path = tmp_path / "model.json"
    dplr.save_model(est, path)
    other = dplr.load_model(path)
    assert type(other) is type(est)
    assert other.privacy_ == est.privacy_
    assert_array_equal(other.predict(X), est.predict(X))
    assert other._loss() == est._loss()


def tampered(path, change):
    """The file with one entry of its loss changed, and the right hash."""
    from dplr.model_file.strict_json import digest

    content = json.loads(path.read_text())
    change(content["model"]["parameters"]["loss"])
    content["sha256"] = digest(content["model"])
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loss: loss.update(lipschitz=0.5), "`lipschitz` must be finite and at least 1"),
        (lambda loss: loss.update(smoothness=0.5), "`smoothness` must be finite and at least"),
        (lambda loss: loss.update(lipschitz=1e308), "`lipschitz` must be between"),
        (lambda loss: loss["slopes"].reverse(), "`slopes` must be finite, not all 0, and never fall"),
        (lambda loss: loss["slopes"].__setitem__(0, -1.0 - 2.0**-50), "`slopes` must be rounded to a common grid"),
        (lambda loss: loss.update(slopes=[-5e-324, 0.0]), "common grid|2.-100"),
        (lambda loss: loss.update(name="a\nb"), "`name` must be up to 40 letters"),
        (lambda loss: loss.update(name="logistic"), "`name` must be none of"),
        (lambda loss: loss.update(per_unit=3.0), "`per_unit` must be a power of two"),
        (
            lambda loss: loss.update(form="residual"),
            "`fall` must be|without further claims|loss of the margin|fit each",
        ),
        (lambda loss: loss.update(slopes=[]), "`slopes` must be two or more"),
    ],
)
def test_a_file_with_a_broken_loss_is_refused(change, message, tmp_path):
    X, y = square_well()
    est = dplr.fit(
        X, y > 0, model=dplr.losses.smoothed_hinge(0.3), mechanism="output", eps=1.0, bounds=dplr.Bounds([(0, 10)] * 2)
    )
    dplr.save_model(est, tmp_path / "model.json")
    with pytest.raises(dplr.model_file.ModelFileError, match=message):
        dplr.load_model(tampered(tmp_path / "model.json", change))


def test_an_estimator_takes_only_a_loss_of_its_form():
    X, y = square_well()
    for wrong in (None, "hinge", own_log_cosh(), LOGISTIC):
        with pytest.raises(TypeError, match="`loss` must be a loss of the margin"):
            dplr.MarginClassifier(loss=wrong).fit(X, y > 0)
    with pytest.raises(TypeError, match="`loss` must be a loss of the residual"):
        dplr.ResidualRegressor(loss=own_logistic()).fit(X, y)
    with pytest.raises(ValueError, match=r"`model` must be .* with mechanism=.fm."):
        dplr.fit(X, y > 0, model=own_logistic(), mechanism="fm", eps=1.0)


def test_public_rows_of_another_loss_start_a_fit():
    X, y = square_well()
    bounds = dplr.Bounds([(0, 10)] * 2, target=(-5, 10))
    est = dplr.HuberRegressor(eps=0.01, bounds=bounds, public=square_well(500, 1), mechanism="objective", rng=0)
    with pytest.warns(dplr.PrivacyWarning, match="rng is set"):  # one fit in some hundred is a little worse
        est.fit(X, y)
    assert est.score(X, y) > 0.8


# Numbers


@each
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_rounding_of_the_gradient_is_below_its_bound_and_the_minimum_is_certified(path, loss, size):
    rng, n, d = np.random.default_rng(3), 60, 4
    X = rng.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None] * 1.001
    y = rng.integers(0, 2, n).astype(float) if loss.classification else rng.uniform(-1, 1, n)
    prep = ball_prep(d, True, (0.0, 1.0) if loss.classification else None)
    rows, coef = ArrayRows(X, y, prep), size * rng.normal(size=d + 1)
    exact = gradient_of(X, y, prep, loss, coef, np.zeros(d + 1))
    found = rows.total(LossGradient(loss, d, True), coef).gradient
    error = float(mp.norm([mp.mpf(a) - b for a, b in zip(found.tolist(), exact, strict=True)]))
    radius = math.hypot(1.0, 0.5)
    assert error <= gradient_rounding_bound(loss, n, d, radius, float(np.linalg.norm(coef)), 0.0, 0.0, 0.0)
    ridge, linear = 0.05, rng.normal(size=d + 1)
    tau = least_tolerance(loss, n, d, radius, ridge, 0.0, float(np.linalg.norm(linear)))
    objective = Objective(loss, ridge, np.zeros(d + 1), linear)
    coef, bound = rows.minimise(objective, tau, pass_limit(loss, n, radius, ridge, tau, 10.0))
    gradient = gradient_of(X, y, prep, loss, coef, np.zeros(d + 1))
    norm = float(
        mp.norm(
            [
                g + ridge * mp.mpf(w) + mp.mpf(b)
                for g, w, b in zip(gradient, coef.tolist(), linear.tolist(), strict=True)
            ]
        )
    )
    # The point is rounded to float64, which moves its gradient by the curvature.
    assert norm <= tau + 2 * UNIT * (n * loss.smoothness * radius**2 + ridge) * float(np.linalg.norm(coef))
    assert bound <= tau


# Privacy: the auditor has the loss from its own functions


class Twin:
    """First and second derivative of a user's loss, without the package's knots."""

    def __init__(self, slope, curvature, form):
        self.slope, self.curvature, self.form = slope, curvature, form

    def residual(self, margin, y):
        if self.form == "margin":
            return y * self.slope(y * margin)
        return self.slope(margin - y) if self.form == "residual" else self.slope(margin) - y

    def weight(self, margin, y):
        return self.curvature(
            y * margin if self.form == "margin" else margin - y if self.form == "residual" else margin
        )


def hinge_slope(v):
    return -np.clip((1 - v) / 0.5, 0, 1)


def hinge_curvature(v):
    return np.where((v >= 0.5) & (v <= 1), 2.0, 0.0)


def rate_slope(z):
    return (np.minimum(np.exp(np.minimum(z, 9)), 8.0) - 4) / 4


def rate_curvature(z):
    return np.where(z <= math.log(8), np.exp(np.minimum(z, 9)), 0.0) / 4


def cosh_curvature(r):
    return np.cosh(np.clip(r / 0.2, -300, 300)) ** -2.0


TWINS = {
    "own logistic": (own_logistic(), Twin(logistic_slope, logistic_curvature, "margin")),
    "smoothed hinge": (dplr.losses.smoothed_hinge(0.5), Twin(hinge_slope, hinge_curvature, "margin")),
    "log cosh": (own_log_cosh(0.2), Twin(lambda r: 0.2 * np.tanh(r / 0.2), cosh_curvature, "residual")),
    "poisson": (poisson(0.0, 8.0), Twin(rate_slope, rate_curvature, "family")),
}


@pytest.mark.grid(5)
@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize(("eps", "multiple"), [(0.5, 8.0), (1.0, 3.0), (4.0, 0.3)])
def test_no_density_ratio_of_a_plan_exceeds_its_eps(eps, multiple, name, relation):
    loss, twin = TWINS[name]
    ridge = multiple * loss.smoothness
    problem = Problem(loss, Geometry(2), relation, 100, ridge / 100, ())
    facts = {"loss": twin, "neighbouring": str(relation)}
    plan = ObjectivePerturbation().plan(problem, eps, 0.0)
    scale = plan.statement.noise_scale
    found = search(2, ridge=plan.settings.ridge, scale=scale, pairs=60_000, **facts)
    assert 0.5 * eps <= found.log_ratio <= eps * (1 + 1e-6)
    plan = OutputPerturbation().plan(problem, eps, 0.0)
    found = search(2, ridge=ridge, scale=plan.statement.noise_scale, mechanism="output", pairs=10_000, **facts)
    assert 0.5 * eps <= found.log_ratio <= eps * (1 + 1e-6)


@pytest.mark.parametrize("name", TWINS)
def test_the_auditor_sees_a_loss_whose_constants_are_too_small(name):
    """What a wrong constant would do if it were not refused."""
    loss, twin = TWINS[name]
    with pytest.raises(ValueError, match=r"`lipschitz` must be finite and at least .*, as the knots say"):
        dataclasses.replace(loss, lipschitz=loss.lipschitz / 2)
    halved = copy.copy(loss)
    object.__setattr__(halved, "lipschitz", loss.lipschitz / 2)
    ridge = 3 * loss.smoothness
    problem = Problem(halved, Geometry(2), Neighbouring.REPLACE_ONE, 100, ridge / 100, ())
    plan = ObjectivePerturbation().plan(problem, 1.0, 0.0)
    found = search(2, ridge=plan.settings.ridge, scale=plan.statement.noise_scale, loss=twin, pairs=60_000)
    assert found.log_ratio > 1.01


# Linear regression under output perturbation


@pytest.mark.filterwarnings("ignore")
def test_output_perturbation_of_numbers_says_that_it_minimises_a_huber_loss():
    X, y = square_well()
    bounds = dplr.Bounds([(0, 10)] * 2, target=(-5, 10))
    est = dplr.LinearRegression(eps=3.0, mechanism="output", bounds=bounds, rng=0).fit(X, y)
    assert est.score(X, y) > 0.8
    assert "minimises the huber_residual (" in est.privacy_.calibration
    assert "instead of the squared one" in est.privacy_.calibration
    assert est.privacy_.estimand == "margin"
    own = dplr.OutputPerturbation(cut=0.25)
    plan = dplr.plan(n_rows=3000, bounds=bounds, model="linear", mechanism=spec_with(own, "off"), eps=3.0)
    twin = dplr.plan(n_rows=3000, bounds=bounds, model="huber", eps=3.0,
                     mechanism=dplr.OutputPerturbation(ranges="off"), l2=plan.settings.ridge / 3000)  # fmt: skip
    width = twin.problem.loss.width
    assert plan.statement.sensitivity == pytest.approx(twin.statement.sensitivity * 0.25 / width, rel=1e-3)


@pytest.mark.parametrize(
    "claim",
    [
        {"name": "logistic"},
        {"name": "two\nlines"},
        {"fading": "logistic"},
        {"slope": 0.5},
        {"curvature": 0.5},
        {"classification": False},
        {"link": "log"},
        {"smoothness": 1.9},
        {"smoothness": 1e3},
        {"lipschitz": math.inf},
        {"lipschitz": 2.0**101},
        {"fall": 0.1},
        {"fall": math.inf},
    ],
)
def test_no_loss_with_knots_claims_more_than_they_say(claim):
    said = "as the knots say|none of logistic|without further claims|letters, digits|at most 512|between 2.-100"
    with pytest.raises(ValueError, match=said):
        dataclasses.replace(dplr.losses.smoothed_hinge(0.5), **claim)


def test_corners_on_which_newton_s_method_ended_nowhere_are_refused():
    """A slope that jumps over 2^-16: a fit of some rows did not end in the time of a fit."""
    knots = knotted("residual", -1, 2.0**16, np.array([-1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="`smoothness` must be positive and at most 512 times the largest slope"):
        loss_of("lad", knots)


def test_a_tail_comes_to_its_end_slowly():
    """Its smoothness is that of the loss, not that of a jump to 0 at the end of its reach."""
    temperature = 30.0

    def slope(v):
        return -1 / (1 + np.exp(v / temperature))

    def curvature(v):
        return 1 / (2 + np.exp(v / temperature) + np.exp(-v / temperature)) / temperature

    loss = dplr.losses.margin_loss(
        lambda v: temperature * np.logaddexp(0, -v / temperature), slope, curvature, reach=250, smoothness=1 / 120
    )
    assert loss.smoothness <= 1 / 120 * (1 + 1e-6)
    assert loss.knots.values[-1] == 0
    assert np.diff(loss.knots.values)[-1] <= np.diff(loss.knots.values).max() / 4


def test_plan_and_check_take_the_losses_that_fit_takes():
    forged = dplr.losses.Loss("logistic", classification=True, lipschitz=0.01, smoothness=0.01)
    X, y = square_well(100)
    bounds = dplr.Bounds([(0, 10)] * 2)
    for call in (
        lambda: dplr.plan(eps=1.0, n_rows=100, bounds=bounds, model=forged, mechanism="output"),
        lambda: dplr.fit(X, y > 0, eps=1.0, bounds=bounds, model=forged),
        lambda: dplr.check(X, y > 0, bounds=bounds, model=forged),
    ):
        with pytest.raises(ValueError, match="`model` must be the name of a model, or a loss of a user's own"):
            call()
    assert not dplr.check(X, y > 0, bounds=bounds, model=dplr.losses.smoothed_hinge()).refused
    counts = dplr.Bounds([(0, 10)] * 2, target=(-9, -1))
    assert any("0 <= lower < upper" in said for said in dplr.check(X, y, bounds=counts, model="poisson").refused)


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_a_poisson_model_does_not_depend_on_the_unit_of_the_counts():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (20_000, 2))
    y = rng.poisson(np.exp(X @ (1.5, -1.0)))
    scores = []
    for unit in (1e-3, 1.0, 1e4):
        bounds = dplr.Bounds([(0, 1)] * 2, target=(0, 20 * unit))
        est = dplr.PoissonRegressor(eps=1.0, mechanism=dplr.OutputPerturbation(ranges="off"), bounds=bounds, rng=0).fit(
            X, y * unit
        )
        scores.append(est.score(X, y * unit))
    assert scores[0] > 0.1
    assert_allclose(scores, scores[1], rtol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_own_losses_are_exported(classes):
    X, _ = square_well()
    y = np.digitize(X[:, 0], [3, 7][: classes - 1])
    est = dplr.MarginClassifier(
        loss=dplr.losses.smoothed_hinge(),
        eps=math.inf,
        mechanism="none",
        classes=range(classes),
        bounds=dplr.Bounds([(0, 10)] * 2),
    ).fit(X, y)
    assert_array_equal(est.to_sklearn().predict(X), est.predict(X))
    assert "CASE" in est.to_sql(columns=["a", "b"])


def test_knots_that_fall_are_refused():
    with pytest.raises(ValueError, match="`slopes` must be finite, not all 0, and never fall"):
        knotted("margin", 0, 1.0, np.array([0.0, -1.0]))
    with pytest.raises(ValueError, match="`fall` must be finite"):
        loss_of("endless", knotted("margin", 0, 1.0, np.array([-1.0, -0.5])))
    assert SQUARED.knots is None
    assert own_losses.FORMS[2].link == "log"


def test_coefficients_of_a_poisson_model_find_their_way_back():
    """Public coefficients are a start in the scaled problem, offset and all."""
    for intercept in (True, False):
        prep = layout_prep(dplr.Bounds([(0, 4), (1, 9)]).layout, intercept, None, (2.0, 50.0), "log")
        scaled = np.array([0.3, -0.2, 0.7][: 2 + intercept])
        assert_allclose(prep.from_user_units(*prep.to_user_units(scaled)), scaled, rtol=1e-12)
