"""Standardised noisy gradient descent: what it releases, what that costs, where it goes, and when it is chosen."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import fits as fitting
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.noisy_gd import spec as descent
from dplr.mechanisms.noisy_gd.spec import Frame, frame_of, numeric_columns
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.calibration import continuous_target
from dplr.privacy.gaussian import gaussian_log_delta, gaussian_mu
from dplr.privacy.guarantees import Gaussian, Neighbouring
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.rows.exact import LARGEST_COEF, ClippedGradient, ColumnMoments
from made_rows import make_groups

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::dplr.PrivacyWarning")

BOUNDS = dplr.Bounds([(0, 100), (-5, 5), (0, 1)])


def spec(**options):
    return dplr.NoisyGradientDescent(**{"standardise": "on", **options})


def made(n=3000, seed=0, model="logistic"):
    """Columns off the middle of wide bounds."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(25, 4, n), rng.normal(2, 1, n), rng.random(n) < 0.1])
    score = (X[:, 0] - 25) / 4 - (X[:, 1] - 2) + X[:, 2] + rng.normal(0, 0.3, n)
    return X, (score > 0).astype(int) if model == "logistic" else score.clip(-3, 3)


def fit(X, y, eps=1.0, delta=1e-5, bounds=BOUNDS, **options):
    facts = {name: options.pop(name) for name in list(options) if name not in dplr.NoisyGradientDescent.__slots__}
    return dplr.fit(X, y, eps=eps, delta=delta, bounds=bounds, mechanism=spec(**options), **facts)


def problem_of(kinds="nn3", n=200, loss=LOGISTIC, neighbouring=Neighbouring.REPLACE_ONE):
    prep, X, y = make_groups(kinds, n)
    return Problem(loss, prep.geometry, neighbouring, n, None, ()), ArrayRows(X, y, prep)


# What it costs


@pytest.mark.parametrize("neighbouring", list(Neighbouring))
@pytest.mark.parametrize(("eps", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-5)])
@pytest.mark.parametrize("kinds", ["n", "nn3", "34", "mm", "ce"])
def test_squares_of_mu_of_columns_and_steps_add_up_to_that_of_the_plan(kinds, eps, delta, neighbouring):
    problem, _ = problem_of(kinds, neighbouring=neighbouring)
    planned = spec().plan(problem, eps, delta)
    released, steps = planned.statement.released, planned.settings.steps
    means, gradients = released["means"], released["gradients"]
    of_columns, of_steps = means.sensitivity / means.scale, gradients.sensitivity / gradients.scale * math.sqrt(steps)
    mu = planned.statement.guarantee.mu
    assert isinstance(planned.statement.guarantee, Gaussian)
    assert math.hypot(of_columns, of_steps) <= mu * (1 + 1e-12)
    assert of_columns == pytest.approx(math.sqrt(0.1) * mu, rel=1e-6)
    assert of_steps == pytest.approx(math.sqrt(0.9) * mu, rel=1e-6)
    numbers = sum(math.prod(block.shape) for block in released.values())
    assert mu == gaussian_mu(*continuous_target(eps, delta, numbers))
    assert gaussian_log_delta(eps, mu) <= math.log(delta)


@pytest.mark.parametrize("neighbouring", list(Neighbouring))
def test_columns_are_charged_their_joint_sensitivity_and_squares_a_weight(neighbouring):
    problem, _ = problem_of("nn3", neighbouring=neighbouring)
    released, c = spec().plan(problem, 1.0, 1e-5).statement.released, problem.geometry.half_width
    blocks = [("means", 5, 1.0), ("squares", 2, 1 / c)]
    if neighbouring is Neighbouring.REPLACE_ONE:
        exact = sensitivity.columns_replace_one(2, (3,), c)
    else:
        exact = sensitivity.columns_add_remove(2, 1, c)
        blocks.append(("records", 1, c))
    for name, size, weight in blocks:
        block = released[name]
        assert (block.shape, block.weight) == ((size,), weight)
        assert block.law == "discrete Gaussian"
        assert exact < block.sensitivity < exact * (1 + 1e-4)  # flooring is charged too
        assert block.scale * weight == pytest.approx(released["means"].scale, rel=1e-6)
    assert list(released) == [*(name for name, *_ in blocks), "gradients"]
    marked = spec().plan(problem_of("nm3", neighbouring=neighbouring)[0], 1.0, 1e-5).statement.released
    assert marked["means"].shape == (6,)  # the mark has a mean, and costs nothing
    assert marked["squares"].shape == (2,)
    assert marked["means"].sensitivity == pytest.approx(exact, rel=1e-4)
    shared = spec().plan(problem_of("nq3", neighbouring=neighbouring)[0], 1.0, 1e-5).statement.released
    assert (shared["means"].shape, shared["squares"].shape) == ((7,), (4,))  # of which three are charged as one number
    assert shared["means"].sensitivity == pytest.approx(exact, rel=1e-4)
    assert list(spec().plan(problem_of("34")[0], 1.0, 1e-5).statement.released) == ["means", "gradients"]


def test_what_is_left_for_the_steps_is_what_the_defaults_know():
    """Steps, rate and clip are functions of public facts, as without standardisation; the horizon is shorter."""
    problem = Problem(LOGISTIC, problem_of()[0].geometry, Neighbouring.REPLACE_ONE, 40_000, None, ())
    on, off = (dplr.NoisyGradientDescent(standardise=mode).plan(problem, 0.5, 1e-5).settings for mode in ("on", "off"))
    assert (on.standardised, off.standardised) == (True, False)
    assert on.clip == pytest.approx(off.clip * 0.9**0.25, rel=1e-3)
    assert 0.6 < on.steps * on.learning_rate / (off.steps * off.learning_rate) < 0.75


def test_too_many_numbers_are_counted_together():
    problem, _ = problem_of("n", n=1000)
    with pytest.raises(ValueError, match="`steps` must be at most 500000"):
        spec(steps=600_000).plan(problem, 1.0, 1e-5)


# What it releases


class Recorded(Source):
    """A source that keeps what it drew."""

    def __init__(self):
        super().__init__()
        self.variances, self.noise = [], []

    def gaussian(self, variance, size):
        self.variances.append(variance)
        self.noise.append(super().gaussian(variance, size))
        return self.noise[-1]


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=lambda loss: loss.name)
@pytest.mark.parametrize("neighbouring", list(Neighbouring))
def test_every_release_is_the_floored_sum_of_its_rows_plus_its_own_noise(neighbouring, loss):
    problem, rows = problem_of("nn3", loss=LOGISTIC, neighbouring=neighbouring)
    if loss is SQUARED:
        prep, X, y = make_groups("nn3", 200)
        rows = ArrayRows(X, y, type(prep)(prep.geometry, prep.shift, prep.scale, prep.low, prep.high))
        problem = Problem(SQUARED, prep.geometry, neighbouring, 200, None, ())
    mechanism, source = spec(steps=4, learning_rate=2.0), Recorded()
    done = fitting.run_many(rows, problem, mechanism, [1.0, 3.0], 1e-5, NullLedger(), source)
    noise, variances = iter(source.noise), iter(source.variances)
    sums, cells_of = rows.total(ColumnMoments(5, True)), {"means": range(5), "squares": (5, 6)}
    if neighbouring is Neighbouring.ADD_REMOVE:
        cells_of["records"] = (10,)
    for eps, found in zip([1.0, 3.0], done, strict=True):
        planned = mechanism.plan(problem, eps, 1e-5)
        for name, cells in cells_of.items():
            block = planned.statement.released[name]
            exact = sums.integers(round(math.log2(block.grid)), list(cells))
            assert_array_equal(found.released[name], (exact + next(noise)) * block.grid)
            assert next(variances) == block.units
        frame, walk = frame_of(found.released, planned), planned.settings
        moved, block = frame.of(rows), planned.statement.released["gradients"]
        query = ClippedGradient(loss, 5, True, walk.clip * frame.shrink)
        for step in range(4):
            point = np.round(frame.points(found.iterates[step]) * 2**20) / 2**20
            exact = moved.total(query, point).integers(round(math.log2(block.grid * frame.shrink)))
            assert_array_equal(found.released["gradients"][step], (exact + next(noise)) * block.grid)
            assert next(variances) == block.units
    assert (list(noise), list(variances)) == ([], [])


def test_the_way_follows_from_what_was_released():
    """In standardised rows: their gradients, divided by n, go against the coefficients there."""
    problem, rows = problem_of("nn3")
    mechanism = spec(steps=20, learning_rate=3.0, momentum=0.5, clip=0.7)
    found = fitting.run(rows, problem, mechanism, 2.0, 1e-5, NullLedger(), Source(3))
    frame = frame_of(found.released, mechanism.plan(problem, 2.0, 1e-5))
    coef = velocity = np.zeros(6)
    for step in range(20):
        own = coef[:5] * frame.factors / frame.shrink
        expected = np.append(own, coef[5] - own @ frame.center / 0.5)
        assert_allclose(found.iterates[step], expected, atol=step * 1e-4)
        velocity = 0.5 * velocity + 0.5 * found.released["gradients"][step] / 200
        coef = coef - 3.0 * velocity
    assert_allclose(found.coef, found.iterates[-5:].mean(axis=0), rtol=1e-12)


def test_without_noise_it_finds_the_exact_minimiser():
    X, y = made(800, model="linear")
    X = X.clip([0, -5, 0], [100, 5, 1])
    bounds = dplr.Bounds([(0, 100), (-5, 5), (0, 1)], target=(-3, 3))
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(800)]), y, rcond=None)[0]
    found = fit(
        X, y, eps=math.inf, delta=0.0, model="linear", bounds=bounds, steps=2000, learning_rate=1.5, clip=50.0,
        averaging="last",
    )  # fmt: skip
    assert_allclose([*found.coef_, found.intercept_], exact, rtol=1e-3)
    assert [block.law for block in found.privacy_.released.values()] == ["none"] * 3


def test_a_value_fault_is_found_before_any_noise(entropy):
    X, y = made(50)
    X[3] = np.nan
    with pytest.raises(ValueError, match="must be finite"):
        fit(X, y)
    assert entropy.bytes == 0


# The frame


def released_of(problem, means, squares):
    n = problem.n_rows
    return {"means": np.array(means) * n, "squares": np.array(squares) * n}


@pytest.mark.parametrize("power", [0.3, 0.8])
@pytest.mark.parametrize("kinds", ["n", "nn3", "2n4n", "n29", "m", "mnm2", "p", "nq2", "c", "nde"])
def test_no_row_leaves_the_unit_ball_in_any_frame_and_the_next_power_of_two_would_let_one(kinds, power, monkeypatch):
    monkeypatch.setattr(descent, "_KNOTS_POWER", power)
    problem, _ = problem_of(kinds)
    planned, c, rng = spec().plan(problem, 1.0, 1e-5), problem.geometry.half_width, np.random.default_rng(0)
    numeric = numeric_columns(problem.geometry)
    for _ in range(200):
        means = np.where(numeric, rng.uniform(-1.2, 1.2, len(numeric)), rng.uniform(-0.1, 1.1, len(numeric))) * c
        frame = frame_of(released_of(problem, means, rng.uniform(-0.1, 1, numeric.sum()) * c**2), planned)
        corners = np.where(numeric, rng.choice([-c, c], (400, len(numeric))), 0.0)
        for first, size in problem.geometry.blocks:
            level = rng.integers(0, size + 1, 400)
            corners[np.flatnonzero(level < size), first + level[level < size]] = c
        for first in problem.geometry.marked:
            missing = rng.random(400) < 0.5
            corners[missing, first], corners[missing, first + 1] = 0.0, c
        for first, size in problem.geometry.shared:
            corners[:, first : first + size] *= rng.integers(0, size, 400)[:, None] == np.arange(size)
        for first, size, knots in problem.geometry.hats:
            knot, share = rng.integers(0, size, 400), 0.3 * c * rng.integers(0, 2, 400)
            share[((knot + 1) % knots == 0) | (knot + 1 == size)] = 0.0  # nothing behind the last knot of a run
            corners[np.arange(400), first + knot] = c - share
            corners[np.arange(400), np.minimum(first + knot + 1, first + size - 1)] += share
            corners[rng.random(400) < 0.1, first : first + size] = 0.0
        norms = np.linalg.norm(frame.factors * (corners - frame.center), axis=1)
        assert norms.max() <= 1 - 2.0**-11
        assert frame.shrink == 1.0 or norms.max() > 0.45
        assert math.frexp(frame.shrink)[0] == 0.5
        assert frame.shrink >= 2.0**-19  # the intercept's constant stays on the grid


def test_columns_of_all_blocks_weigh_the_same():
    problem, _ = problem_of("n29m")
    planned, c = spec().plan(problem, 1.0, 1e-5), problem.geometry.half_width
    means = [0.0, *[c / 3] * 2, *[c / 10] * 9, 0.0, c / 4]
    frame = frame_of(released_of(problem, means, [c * c / 9] * 2), planned)
    assert len(set(frame.factors[1:12])) == 1
    assert frame.factors[13] == frame.factors[1]
    assert frame.factors[0] == frame.factors[12] > frame.factors[1]


def test_shares_of_knots_weigh_more_the_more_knots_there_are():
    problem, _ = problem_of("n29m")
    curved = replace(problem, geometry=replace(problem.geometry, blocks=(), hats=((1, 2, 2), (3, 9, 4))))
    c, means = problem.geometry.half_width, [0.0, *[0.1] * 11, 0.0, 0.1]
    factors = [
        frame_of(released_of(each, means, [c * c / 9] * 2), spec().plan(each, 1.0, 1e-5)).factors
        for each in (problem, curved)
    ]
    ratios = factors[1] / factors[0]
    assert_allclose(ratios / ratios[13], [1, *[2**0.3] * 2, *[4**0.3] * 9, 1, 1])


def test_standardised_rows_are_centred_and_have_the_mean_square_norm_one():
    prep, X, y = make_groups("nn3", 20_000)
    problem, rows = Problem(LOGISTIC, prep.geometry, Neighbouring.REPLACE_ONE, 20_000, None, ()), ArrayRows(X, y, prep)
    found = fitting.run(rows, problem, spec(steps=1), math.inf, 0.0, NullLedger(), Source(0))
    frame = frame_of(found.released, spec(steps=1).plan(problem, math.inf, 0.0))
    scaled = np.clip(X, -1, 1) * prep.geometry.half_width
    assert_allclose(frame.center, scaled.mean(axis=0), atol=1e-6)
    assert ((scaled - frame.center) * frame.factors / frame.shrink).var(axis=0).sum() == pytest.approx(1.0, rel=1e-4)


def test_noise_that_drowns_the_columns_leaves_all_numbers_alike_and_near_the_middle():
    problem, _ = problem_of("nn", n=20)
    planned, c = spec().plan(problem, 0.05, 1e-5), problem.geometry.half_width
    frame = frame_of(released_of(problem, [c, -c / 2], [0.0, c * c]), planned)
    assert frame.factors[0] == frame.factors[1]
    assert np.abs(frame.center).max() < 0.01 * c


def test_coefficients_and_points_are_ways_to_and_fro_with_the_same_margins():
    rng = np.random.default_rng(1)
    frame = Frame(rng.normal(size=3), rng.uniform(0.1, 2, 3), 0.25, 0.5)
    coefs, x = rng.normal(size=(4, 4)), rng.normal(size=(9, 3))
    points = frame.points(coefs)
    assert_allclose(frame.coefs(points), coefs, rtol=1e-12)
    there = np.column_stack([frame.factors * (x - frame.center), np.full(9, 0.5 * 0.25)])
    assert_allclose(there @ points.T, np.column_stack([x, np.full(9, 0.5)]) @ coefs.T, rtol=1e-9)


@pytest.mark.parametrize("declared", [3_000, 20_000, 300_000])
@pytest.mark.parametrize("eps", [8.0, math.inf])
def test_means_are_over_the_records_whatever_reference_was_declared(declared, eps):
    prep, X, y = make_groups("nn3", 20_000)
    problem, rows = Problem(LOGISTIC, prep.geometry, Neighbouring.ADD_REMOVE, declared, None, ()), ArrayRows(X, y, prep)
    delta = 0.0 if math.isinf(eps) else 1e-5
    found = fitting.run(rows, problem, spec(steps=1), eps, delta, NullLedger(), Source(0))
    frame, c = frame_of(found.released, spec(steps=1).plan(problem, eps, delta)), prep.geometry.half_width
    assert_allclose(frame.center, (np.clip(X, -1, 1) * c).mean(axis=0), atol=0.01 * c)
    assert found.released["records"] == pytest.approx(20_000, abs=0.0 if math.isinf(eps) else 30.0)


def test_a_frame_over_no_records_is_one_of_noise():
    """Noise may take the number below 1: the frame is then that of columns of which nothing is known."""
    problem, _ = problem_of("nn", neighbouring=Neighbouring.ADD_REMOVE)
    planned, c = spec().plan(problem, 1.0, 1e-5), problem.geometry.half_width
    for records in (-50.0, 0.0, 1.0):
        frame = frame_of(released_of(problem, [c, -c / 2], [0.0, c * c]) | {"records": np.array([records])}, planned)
        assert frame.factors[0] == frame.factors[1]
        assert np.abs(frame.center).max() < 0.01 * c


# As a user sees it


def test_history_and_coefficients_are_in_the_users_units_and_a_public_start_is_where_it_begins():
    X, y = made(2000)
    start = (np.array([0.2, -0.9, 0.5]), -4.0)
    est = fit(X, y, public=start, steps=9)
    assert_allclose(est.history_.coefs[0], start[0], rtol=1e-3)
    assert_allclose(est.history_.intercepts[0], start[1], rtol=1e-3)
    assert_allclose(est.coef_[0], est.history_.coefs[-2:].mean(axis=0), rtol=1e-9)
    assert_array_equal(est.history_.gradients, est.released_["gradients"])
    assert not fit(X, y, steps=2).history_.coefs[0].any()


@pytest.mark.parametrize("model", ["logistic", "linear", "svm"])
def test_it_learns_where_the_bounds_are_wide_and_better_than_without(model):
    X, y = made(20_000, model="linear" if model == "linear" else "logistic")
    bounds = dplr.Bounds([(0, 100), (-5, 5), (0, 1)], target=(-3, 3)) if model == "linear" else BOUNDS
    scores = {}
    for mode in ("on", "off", "auto"):
        options = {"eps": 0.5, "bounds": bounds, "model": model, "steps": 200}
        fits = [fit(X, y, standardise=mode, rng=k, **options) for k in range(5)]
        scores[mode] = np.mean([est.score(X, y) for est in fits])
    assert scores["on"] == scores["auto"]
    assert 1 - scores["on"] < 0.8 * (1 - scores["off"])


def test_classes_have_columns_of_their_own_within_one_statement():
    X, y = made(3000)
    labels = np.where(X[:, 0] > 30, "c", np.where(y, "a", "b"))
    est = fit(X, labels, classes=("a", "b", "c"), steps=5)
    statement = est.privacy_
    assert list(statement.released) == [f"{name}['{k}']" for k in "abc" for name in ("means", "squares", "gradients")]
    assert (statement.eps, statement.delta) == (1.0, 1e-5)
    assert not (est.released_["means['a']"] == est.released_["means['b']"]).any()
    assert gaussian_log_delta(1.0, statement.guarantee.mu) <= math.log(1e-5)


def test_many_fits_have_noise_and_frames_of_their_own():
    X, y = made(500)
    one, two, other = dplr.fit_many(X, y, eps=[1.0, 1.0, 4.0], delta=1e-5, bounds=BOUNDS, mechanism=spec(steps=3))
    assert not (one.released_["means"] == two.released_["means"]).any()
    assert [est.privacy_.eps for est in (one, two, other)] == [1.0, 1.0, 4.0]
    coarse, fine = (est.privacy_.released["means"].grid for est in (one, other))
    assert fine < coarse
    assert np.fmod(other.released_["means"], coarse).any()  # it has the noise of its own plan
    alone = dplr.fit(X, y, eps=math.inf, bounds=BOUNDS, mechanism=spec(steps=15))
    for est in dplr.fit_many(X, y, eps=[math.inf] * 3, bounds=BOUNDS, mechanism=spec(steps=15)):
        assert_array_equal(est.coef_, alone.coef_)


def test_fits_of_which_auto_standardises_some_come_in_their_order():
    X, y = made(300)
    levels = [1.0, 0.05, 0.05, 2.0, 0.05]
    mixed = dplr.fit_many(X, y, eps=levels, delta=1e-5, bounds=BOUNDS, mechanism="ngd")
    assert [est.privacy_.eps for est in mixed] == levels
    assert ["means" in est.released_ for est in mixed] == [True, False, False, True, False]
    for est in mixed:
        assert est.released_.keys() == est.privacy_.released.keys()


def test_a_fit_has_the_same_bits_from_arrays_frames_and_threads(monkeypatch):
    X, y = made(700)
    named = dplr.Bounds({"a": (0, 100), "b": (-5, 5), "c": (0, 1)})
    fits = [
        fit(data, y, rng=5, steps=9, bounds=bounds)
        for data, bounds in (
            (X, BOUNDS), (np.asfortranarray(X), BOUNDS), (pd.DataFrame(X, columns=list("abc")), named),
        )
    ]  # fmt: skip
    for path in ("portable", "baseline"):
        monkeypatch.setenv("DPLR_ISA", path)
        fits.append(fit(X, y, rng=5, steps=9))
    for est in fits[1:]:
        for name in ("means", "squares", "gradients"):
            assert_array_equal(est.released_[name], fits[0].released_[name])
        assert_array_equal(est.coef_, fits[0].coef_)


def test_coefficients_that_run_away_stay_in_the_ball_where_sums_are_exact():
    X, y = made(100)
    est = fit(X, y, steps=5, learning_rate=1e30, eps=0.1)
    assert np.isfinite(est.coef_).all()
    assert np.abs(est.history_.coefs).max() < LARGEST_COEF * 1e3


@pytest.mark.parametrize("neighbouring", list(Neighbouring))
def test_a_saved_model_comes_back_with_its_columns_and_a_changed_one_is_refused(neighbouring, tmp_path):
    X, y = made(300)
    added = neighbouring is Neighbouring.ADD_REMOVE
    facts = {"neighbouring": "add_remove", "n_rows": 300} if added else {}
    est, path = fit(X, y, steps=4, **facts), tmp_path / "model.json"
    dplr.save_model(est, path)
    read = dplr.load_model(path)
    assert list(read.released_) == ["means", "squares", *["records"] * added, "gradients"]
    for name, block in est.released_.items():
        assert_array_equal(read.released_[name], block)
    assert read.privacy_ == est.privacy_
    assert_array_equal(read.predict(X), est.predict(X))


def test_the_plan_and_the_statement_say_it():
    text = str(dplr.plan(n_rows=1000, bounds=BOUNDS, eps=1.0, delta=1e-5, mechanism=spec(steps=40)))
    assert "40 steps of rate" in text
    assert "over all rows, standardised" in text
    assert "means: 3 numbers, discrete Gaussian" in text
    assert "squares: 3 numbers, discrete Gaussian" in text
    assert "rows centred and rescaled by sums of the columns, released before for 10% of mu^2" in " ".join(text.split())
    assert "noisy_gd.md, theorem 3" in text


# When it is chosen


def standardised(**options):
    target = {"target": (-1, 1)} if options.get("model") == "linear" else {}
    bounds = dplr.Bounds(BOUNDS.to_dict()["features"], **target)
    facts = {"n_rows": 1000, "bounds": bounds, "eps": 1.0, "delta": 1e-5, "mechanism": "ngd", **options}
    return dplr.plan(**facts).settings.standardised


def test_auto_standardises_where_means_are_not_drowned_and_no_regression_with_a_public_start():
    assert standardised()
    assert standardised(eps=math.inf, delta=0.0)
    assert standardised(eps=0.1)
    assert not standardised(eps=0.1, n_rows=300)  # the noise of a mean is larger than half the bounds
    assert standardised(eps=0.1, n_rows=300, mechanism=spec())
    assert standardised(model="linear")
    assert standardised(public=(np.zeros(3), 0.0))
    assert not standardised(model="linear", public=(np.zeros(3), 0.0))
    assert not standardised(bounds=None, n_features=3)
    assert not standardised(fit_intercept=False)
    assert not standardised(l2=0.1)
    for options in ({"clipping": "aggregate"}, {"composition": "per-step"}, {"standardise": "off"}):
        assert not standardised(mechanism=dplr.NoisyGradientDescent(**options))
    pytest.importorskip("dp_accounting")
    assert not standardised(mechanism=dplr.NoisyGradientDescent(batch=100))


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"bounds": None, "n_features": 3}, "`standardise` must be 'auto' or 'off' without bounds.*Declare"),
        ({"fit_intercept": False}, "must be 'auto' or 'off' without an intercept.*fit_intercept=True"),
        ({"l2": 0.1}, "must be 'auto' or 'off' with a ridge.*l2='auto'"),
    ],
)
def test_what_cannot_be_standardised_is_refused_with_a_remedy(facts, rule):
    with pytest.raises(ValueError, match=rule):
        standardised(mechanism=spec(), **facts)


@pytest.mark.parametrize("options", [{"batch": 50}, {"clipping": "aggregate"}, {"composition": "per-step"}])
def test_options_that_do_not_go_together_are_refused(options):
    with pytest.raises(ValueError, match=r"`standardise` must be 'auto' or 'off' with Poisson batches.*batch='full'"):
        spec(**options)
    with pytest.raises(ValueError, match="`standardise` must be"):
        dplr.NoisyGradientDescent(standardise=True)
