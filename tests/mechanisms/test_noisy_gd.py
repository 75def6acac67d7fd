"""Noisy gradient descent: its plans, its statement, its way, and what it does to the data it is given."""

import math
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import fits as fitting
from dplr._core import go_down
from dplr.bounds.scaling import ball_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.noisy_gd.spec import InTheBall
from dplr.noise import Source
from dplr.privacy.guarantees import Gaussian, Neighbouring, Poisson
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ALL, ArrayRows, chosen
from dplr.rows.exact import ClippedGradient, Faults, Total, on_coef_grid
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::dplr.PrivacyWarning")

N = 5_000


def spec(**options):
    return dplr.NoisyGradientDescent(**options)


def plan(eps=1.0, delta=1e-5, n_rows=N, n_features=3, **options):
    names = ("neighbouring", "model", "public", "l2", "fit_intercept")
    facts = {name: options.pop(name) for name in names if name in options}
    return dplr.plan(n_rows=n_rows, n_features=n_features, eps=eps, delta=delta, mechanism=spec(**options), **facts)


def easy(n=N, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    return X, (X @ np.arange(1, d + 1) + 0.1 * rng.normal(size=n) > 0).astype(int)


def fit(X, y, eps=1.0, delta=1e-5, **options):
    facts = {name: options.pop(name) for name in list(options) if name not in spec().__slots__}
    return dplr.fit(X, y, eps=eps, delta=delta, mechanism=spec(**options), **facts)


# The noise


@pytest.mark.parametrize(
    ("eps", "delta", "deviation"),
    [(1, 1e-5, 3.7306316), (1, 1e-6, 4.2246788), (0.1, 1e-5, 30.749566), (10, 1e-5, 0.499889), (20, 1e-6, 0.309085)],
)
@pytest.mark.parametrize("steps", [1, 100])
def test_noise_has_the_published_deviation_times_the_root_of_the_steps(eps, delta, deviation, steps):
    release = plan(eps, delta, steps=steps, clip=0.5).statement.released["gradients"]
    assert release.scale == pytest.approx(math.sqrt(steps) * deviation * release.sensitivity, rel=2e-6)
    assert release.sensitivity == pytest.approx(1 + math.sqrt(4) * release.grid, rel=1e-9)  # flooring is charged
    assert release.shape == (steps, 4)


@pytest.mark.oracle
@pytest.mark.parametrize("eps", [0.05, 0.5, 1.0, 4.0, 15.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_noise_equals_that_of_dp_accounting(oracle, eps, delta):
    accounting = oracle("dp_accounting")
    release = plan(eps, delta, steps=7, clip=0.5, n_rows=99).statement.released["gradients"]
    expected = accounting.get_sigma_gaussian(eps, delta) * math.sqrt(7) * release.sensitivity
    # The correction for discrete noise moves eps by up to 2e-9 here; without it they agree to 1e-8.
    assert release.scale >= expected * (1 - 1e-8)
    assert release.scale == pytest.approx(expected, rel=1e-6)


def test_a_replaced_record_counts_twice_and_an_added_one_once():
    replaced = plan(steps=10, clip=0.25).statement.released["gradients"]
    added = plan(steps=10, clip=0.25, neighbouring="add_remove").statement.released["gradients"]
    assert replaced.sensitivity == pytest.approx(0.5, rel=1e-4)
    assert added.sensitivity == pytest.approx(0.25, rel=1e-4)


@pytest.mark.parametrize(("steps", "real"), [(10, 2.6884), (50, 6.8246), (100, 10.3939)])
def test_steps_that_are_not_composed_cost_what_the_statement_says(steps, real):
    statement = plan(1.0, 1e-5, steps=steps, clip=0.5, composition="per-step").statement
    assert statement.eps == pytest.approx(real, rel=1e-4)
    release = statement.released["gradients"]
    assert statement.guarantee.mu == pytest.approx(math.sqrt(steps) * release.sensitivity / release.scale, rel=1e-9)
    assert "for all of them" in statement.calibration


def test_the_printed_method_says_how_little_it_hides():
    """HHA23 calibrates the clipped sum of n rows to 2C/n."""
    statement = plan(1.0, 1e-5, n_rows=400, steps=1, clip=0.25, clipping="aggregate", composition="per-step").statement
    assert statement.guarantee.mu == pytest.approx(400 / math.sqrt(2 * math.log(1.25e5)), rel=1e-3)
    assert statement.eps > 3000


def test_the_sum_clipped_as_a_whole_is_private_at_the_eps_asked_for():
    for clip, sensitivity in [(0.25, 0.5), (100.0, 2 * math.sqrt(1.25))]:
        statement = plan(1.0, 1e-5, steps=5, clip=clip, clipping="aggregate").statement
        assert statement.eps == 1.0
        assert statement.released["gradients"].sensitivity == pytest.approx(sensitivity, rel=1e-4)
    assert plan(1.0, 1e-5, steps=5, clip=0.25, clipping="aggregate").settings.clip >= math.sqrt(1.25)  # rows untouched


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("clip", [0.25, 0.6, 1.5])
def test_a_record_moves_the_clipped_sum_by_at_most_the_sensitivity_and_by_nearly_as_much(neighbouring, clip):
    """One record more, or another one in its place, can carry a sum across a ball smaller than its gradient."""
    problem = Problem(LOGISTIC, ball_prep(2, False, (0.0, 1.0)).geometry, Neighbouring(neighbouring), 100, None, ())
    planned = spec(steps=1, clip=clip, clipping="aggregate").plan(problem, 1.0, 1e-5)
    release = planned.statement.released["gradients"]
    query = ClippedGradient(LOGISTIC, 2, False, planned.settings.clip)
    rng, largest = np.random.default_rng(0), 0.0

    def clipped(vector):
        units = np.rint(np.ldexp(vector, -query.exponent)).astype(np.int64)
        total = Total(units >> 32, units & (2**32 - 1), query.exponent, Faults(1, 0, 0, (0, 0, 0)))
        return InTheBall(total, planned.settings.radius).integers(round(math.log2(release.grid))) * release.grid

    def record():
        direction = rng.normal(size=2)
        return direction / np.linalg.norm(direction)  # the largest gradient: L = R = 1

    for _ in range(300):
        added = record()
        removed = np.zeros(2) if neighbouring == "add_remove" else rng.choice([-added, record()])
        others = rng.choice([-(added + removed) / 2, 3 * record(), 0.5 * record()])
        moved = np.linalg.norm(clipped(others + added) - clipped(others + removed))
        assert moved <= release.sensitivity
        largest = max(largest, moved)
    assert largest > 0.99 * release.sensitivity


def test_flooring_of_a_clipped_sum_is_charged_on_the_finest_grid_too():
    """A projected sum is no multiple of the sums' spacing, and that is the release grid here."""
    clip, size = 2.0**-20, 7
    problem = Problem(LOGISTIC, ball_prep(size, False, (0.0, 1.0)).geometry, Neighbouring.REPLACE_ONE, 10, None, ())
    planned = spec(steps=1, clip=clip, clipping="aggregate").plan(problem, 3.0, 1e-5)
    release = planned.statement.released["gradients"]
    exponent = ClippedGradient(LOGISTIC, size, False, planned.settings.clip).exponent
    assert release.grid == 2.0**exponent
    ends = []
    for sign in (1, -1):  # one record on the sphere, or its opposite
        units = np.full(size, sign * 2**37)
        total = Total(units >> 32, units & (2**32 - 1), exponent, Faults(1, 0, 0, (0,) * (size + 1)))
        ends.append(InTheBall(total, planned.settings.radius).integers(exponent))
    squared = sum(int(k) ** 2 for k in ends[0] - ends[1])
    assert squared > (2 * clip / release.grid) ** 2  # it does cost
    assert squared <= (release.sensitivity / release.grid) ** 2


def test_clipped_sums_beyond_64_bits_are_whole_numbers_too():
    """Ten million rows that pull one way, without noise: the grid is that of the sums."""
    rows = 10**7
    total = Total(np.array([rows * 2**8]), np.array([5]), -40, Faults(rows, 0, 0, (0, 0)))
    assert InTheBall(total, float(rows)).integers(-40).tolist() == [rows * 2**40]
    assert InTheBall(total, float(rows)).integers(-20).tolist() == [rows * 2**20]


# Poisson batches


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_poisson_batches_are_charged_by_the_accountant(neighbouring):
    from dplr.privacy.accounting import poisson_eps

    planned = plan(1.0, 1e-5, steps=50, clip=0.5, batch=250, neighbouring=neighbouring)
    statement, release = planned.statement, planned.statement.released["gradients"]
    assert statement.guarantee == Poisson(planned.settings.rate, statement.guarantee.noise_multiplier, 50)
    assert planned.settings.rate == pytest.approx(0.05, rel=1e-7)
    assert release.scale == pytest.approx(statement.guarantee.noise_multiplier * release.sensitivity, rel=1e-6)
    assert release.sensitivity == pytest.approx(0.5, rel=1e-5)
    assert 0.99 < poisson_eps(statement.guarantee, 1e-5, Neighbouring(neighbouring)) <= 1.0


@pytest.mark.parametrize("batch", ["full", 250])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_the_outlook_takes_the_clip_of_a_row_from_what_is_charged(neighbouring, batch):
    planned = plan(1.0, 1e-5, steps=50, clip=0.5, batch=batch, neighbouring=neighbouring)
    slope = dplr.NoisyGradientDescent(batch=batch).gradient_noise(planned).slope
    assert slope * planned.problem.geometry.row_norm == pytest.approx(0.5, rel=1e-4)


def test_a_fit_on_poisson_batches_learns():
    X, y = easy()
    est = fit(X, y, eps=2.0, steps=60, learning_rate=20, batch=500)
    assert est.score(X, y) > 0.85
    assert isinstance(est.privacy_.guarantee, Poisson)


def test_every_model_of_a_step_sums_a_batch_of_its_own():
    """The accountant adds the steps of all models up as if each drew its own."""
    planned, batches = plan(1.0, 1e-5, steps=2, clip=0.5, batch=250), []

    class Rows:
        units = N

        def of_units(self, units):
            batches.append(units.tolist())
            return units

        def total(self, query, coef, rows=None):
            zeros = np.zeros(query.shape, np.int64)
            return Total(zeros, zeros, -40, Faults(0, 0, 0, ()))

    rows, source = Rows(), Source(3)
    for _ in range(3):
        planned.mechanism.run(rows, planned, source)
    assert len(batches) == 6
    assert len(set(map(tuple, batches))) == 6


def test_a_fit_on_poisson_batches_without_the_accountant_is_refused_before_any_noise(monkeypatch, entropy):
    from dplr.privacy import accounting

    accounting.poisson_noise_multiplier.cache_clear()
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ModuleNotFoundError, match=r"\.\[accounting\]"):
        fit(*easy(), batch=100, steps=11)
    assert entropy.bytes == 0


# What is refused


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"learning_rate": -1.0}, "`learning_rate` must be positive"),
        ({"clip": 0.0}, "`clip` must be positive"),
        ({"clip": 1e-9}, "`clip` must be between"),
        ({"momentum": 1.0}, "`momentum` must be at least 0"),
        ({"averaging": "first"}, "`averaging` must be one of"),
        ({"batch": "half"}, "`batch` must be one of"),
        ({"batch": 0}, "`batch` must be at least 1"),
        ({"init": "random"}, "`init` must be one of"),
        ({"clipping": "sum"}, "`clipping` must be one of"),
        ({"composition": "none"}, "`composition` must be one of"),
        ({"batch": 10, "composition": "per-step"}, "`batch` must be 'full'"),
    ],
)
def test_options_outside_their_range_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        spec(**options)


@pytest.mark.parametrize("number", [np.float32(0.3), np.float16(0.3), Fraction(3, 10)])
def test_options_of_any_real_type_are_taken_as_floats(number):
    for clipping in ("example", "aggregate"):
        one = plan(clip=number, learning_rate=number, momentum=number, clipping=clipping)
        other = plan(clip=float(number), learning_rate=float(number), momentum=float(number), clipping=clipping)
        assert one == other


def test_pure_eps_is_refused_with_the_mechanisms_that_offer_it(entropy):
    with pytest.raises(ValueError, match=r'`delta` must be positive.*"fm", "output" or "objective"'):
        dplr.fit(*easy(), eps=1.0, mechanism="ngd")
    assert entropy.bytes == 0


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        ({"neighbouring": "add_remove", "n_rows": None}, "`n_rows` is required"),
        ({"batch": N + 1}, "`batch` must be at most"),
        ({"clipping": "aggregate", "model": "linear"}, "`clipping` must be 'example'"),
        ({"steps": 10**6}, "`steps` must be at most 250000"),
        ({"eps": 1e-9, "delta": 1e-12}, "`eps`"),
        ({"learning_rate": 1e300}, "`learning_rate` must be at most"),
        ({"public": ([1e300, 1, 1], 1), "l2": 1e10}, "`learning_rate` must be at most"),
        ({"public": ([1e9, 1, 1], 1), "l2": 1e300}, "`learning_rate` must be at most"),
    ],
)
def test_plans_that_no_theorem_covers_are_refused(facts, match):
    with pytest.raises(ValueError, match=match):
        plan(**facts)


def test_the_longest_way_that_is_planned_can_be_walked():
    X, y = easy(n=10)
    for eps in (0.01, 1000.0):
        est = fit(X, y, eps=eps, learning_rate=8e270, momentum=0.0, steps=20)
        assert np.linalg.norm(est.history_.coefs[-1]) <= 4096
    held = fit(X, y, public=([1e9, 1, 1], 1), l2=1e250, steps=20)
    assert np.isfinite(held.coef_).all()


# The descent


@pytest.mark.parametrize("model", ["logistic", "linear", "svm"])
def test_without_noise_it_finds_the_minimum(model):
    X, y = easy(n=400)
    y = y if model != "linear" else 2 * y - 1.0
    est = dplr.fit(
        X, y, eps=math.inf, model=model, l2=0.01,
        mechanism=spec(steps=3000, learning_rate=1.5 if model == "linear" else 3.0, clip=4.0, averaging="last"),
    )  # fmt: skip
    if model == "linear":
        A = np.column_stack([X, np.full(len(X), 0.5)])
        exact = np.linalg.solve(A.T @ A / len(X) + 0.01 * np.eye(4), A.T @ y / len(X))
        exact[-1] *= 0.5
    else:
        reference = dplr.fit(X, y, eps=math.inf, model=model, l2=0.01, mechanism="none")
        exact = np.append(reference.coef_, reference.intercept_)
    assert_allclose(np.append(est.coef_, est.intercept_), exact, atol=2e-4)


def test_the_way_follows_from_what_was_released():
    X, y = easy()
    est = fit(X, y, steps=20, learning_rate=3.0, momentum=0.5, clip=0.7, l2=0.1, fit_intercept=False)
    history = est.history_
    assert_array_equal(history.gradients, est.released_["gradients"])
    coef = velocity = np.zeros(3)
    for step in range(20):
        assert_array_equal(history.coefs[step], coef)
        velocity = 0.5 * velocity + 0.5 * (history.gradients[step] / N + 0.1 * coef)
        coef = on_coef_grid(coef - 3.0 * velocity)
    assert_array_equal(history.coefs[20], coef)
    assert_allclose(np.ravel(est.coef_), history.coefs[-5:].mean(axis=0), rtol=1e-12)
    assert history.public_loss is None


class Recorded(Source):
    """A source that keeps what it drew."""

    def __init__(self):
        super().__init__()
        self.asked, self.batches, self.noise = [], [], []

    def gaussian(self, variance, size):
        self.noise.append(super().gaussian(variance, size))
        self.asked.append(variance)
        return self.noise[-1]

    def bernoulli_indices(self, n, rate_units):
        self.asked.append((n, rate_units))
        self.batches.append(super().bernoulli_indices(n, rate_units))
        return self.batches[-1]


@pytest.mark.parametrize(
    ("options", "divisor"), [({}, 100), ({"batch": 40}, 40), ({"clip": 0.8, "clipping": "aggregate"}, 1)]
)
def test_every_release_is_the_floored_sum_of_its_rows_plus_its_own_noise(options, divisor):
    X, y = make_data("cube", 100, 2)
    prep = make_prep("cube", 2)
    problem = Problem(LOGISTIC, prep.geometry, Neighbouring.REPLACE_ONE, 100, None, ())
    mechanism = spec(steps=6, learning_rate=2.0, momentum=0.0, standardise="off", **options)
    source, rows = Recorded(), ArrayRows(X, y, prep)
    batches, levels = "batch" in options, [1.0, 3.0]
    fits = fitting.run_many(rows, problem, mechanism, levels, 1e-5, NullLedger(), source)
    plans = [mechanism.plan(problem, eps, 1e-5) for eps in levels]
    asked, noise, drawn = iter(source.asked), iter(source.noise), iter(source.batches)
    for released, planned in zip(fits, plans, strict=True):
        release, walk = planned.statement.released["gradients"], planned.settings
        for step in range(6):
            if batches:
                assert next(asked) == (100, walk.rate_units) == (100, round(0.4 * 2**32))
            assert next(asked) * release.grid**2 == pytest.approx(release.scale**2, rel=1e-12)
            query, coef = ClippedGradient(LOGISTIC, 2, True, walk.clip), released.iterates[step]
            total = rows.total(query, coef, chosen(next(drawn)) if batches else ALL)
            exponent = round(math.log2(release.grid))
            value = total.integers(exponent)
            if walk.radius < math.inf:
                value = InTheBall(total, walk.radius).integers(exponent)
            gradient = released.released["gradients"][step]
            assert_array_equal(gradient, (value + next(noise)) * release.grid)
            assert_allclose(released.iterates[step + 1], on_coef_grid(coef - 2.0 * gradient / divisor), atol=2**-19)
    assert all(len(set(draw.tolist())) == 3 for draw in source.noise)
    assert (list(asked), list(noise), list(drawn)) == ([], [], [])


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_down_has_the_bits_of_its_formula(l2, momentum):
    rng = np.random.default_rng(3)
    for models, size in [(1, 1), (3, 7), (33, 4)]:
        gradients = rng.normal(size=(models, 5, size))[:, 2] * 1e5
        center, (velocity, coefs) = rng.normal(size=size), rng.normal(size=(2, models, size))
        slope = gradients / 1234.5 + l2 * (coefs - center)
        expected = momentum * velocity + (1 - momentum) * slope
        point = coefs - 0.7 * expected
        go_down(gradients, 1234.5, l2, center, momentum, 0.7, velocity, coefs)
        assert_array_equal(velocity, expected)
        assert_array_equal(coefs, point)


def test_history_is_in_the_users_units_with_the_loss_on_public_data():
    X, y = easy(n=600)
    X = 50 + 20 * X
    bounds = dplr.Bounds([(0, 100)] * 3)
    public = (X[:200], y[:200])
    est = fit(X[200:], y[200:], eps=50.0, bounds=bounds, public=public, steps=12)
    history = est.history_
    assert (history.coefs.shape, history.intercepts.shape) == ((13, 3), (13,))
    start = dplr.fit(*public, eps=math.inf, mechanism="none", bounds=bounds)
    assert_allclose(history.coefs[0], start.coef_[0], atol=1e-4)
    margins = (2 * y[:200] - 1) * (public[0] @ history.coefs[5] + history.intercepts[5])
    assert history.public_loss[5] == pytest.approx(np.logaddexp(0, -margins).mean(), rel=1e-6)
    assert dplr.fit(X, y, eps=1.0, bounds=bounds).history_ is None


def test_a_public_start_is_where_it_begins_and_the_ridge_pulls_there():
    X, y = easy()
    start = (np.array([1.0, 2.0, 3.0]), 0.25)
    assert_allclose(fit(X, y, public=start).history_.coefs[0], start[0], atol=1e-6)
    assert not fit(X, y, public=start, init="zero").history_.coefs[0].any()
    held = fit(X, y, public=start, l2=0.3, steps=200, learning_rate=3.0, eps=math.inf, delta=0.0)
    free = fit(X, y, l2=0.3, steps=200, learning_rate=3.0, eps=math.inf, delta=0.0)
    assert np.linalg.norm(held.coef_ - start[0]) < np.linalg.norm(free.coef_ - start[0]) / 2


@pytest.mark.parametrize("model", ["logistic", "linear", "svm"])
def test_defaults_learn(model):
    X, y = easy(20_000)
    est = dplr.fit(X, y if model != "linear" else 2 * y - 1.0, eps=1.0, delta=1e-6, mechanism="ngd", model=model)
    assert est.score(X, y if model != "linear" else 2 * y - 1.0) > (0.5 if model == "linear" else 0.9)


def test_two_fits_never_share_noise():
    X, y = easy(n=100)
    one, other = fit(X, y), fit(X, y)
    assert not (one.released_["gradients"][0] == other.released_["gradients"][0]).any()
    many = dplr.fit_many(X, y, eps=[1.0, 1.0], delta=1e-5, mechanism="ngd")
    assert not (many[0].released_["gradients"][0] == many[1].released_["gradients"][0]).any()


def test_many_models_take_the_ways_that_they_would_take_alone():
    X, y = easy()
    options = {"delta": 0.0, "mechanism": spec(steps=15), "l2": 0.05}
    alone = dplr.fit(X, y, eps=math.inf, **options)
    for est in dplr.fit_many(X, y, eps=[math.inf] * 3, **options):
        assert_array_equal(est.coef_, alone.coef_)
    mixed = dplr.fit_many(X, y, eps=[0.1, 5.0], delta=1e-5, mechanism="ngd")
    assert [est.privacy_.eps for est in mixed] == [0.1, 5.0]
    assert all(len(est.released_["gradients"]) == est.privacy_.released["gradients"].shape[0] for est in mixed)


def test_a_fit_has_the_same_bits_from_arrays_frames_and_threads(monkeypatch):
    X, y = easy()
    fits = [fit(data, y, rng=5, steps=9) for data in (X, np.asfortranarray(X), pd.DataFrame(X, columns=list("abc")))]
    for path in ("portable", "baseline"):
        monkeypatch.setenv("DPLR_ISA", path)
        fits.append(fit(X, y, rng=5, steps=9))
    for est in fits[1:]:
        assert_array_equal(est.released_["gradients"], fits[0].released_["gradients"])
        assert_array_equal(est.coef_, fits[0].coef_)


# The budget


class Book:
    """A ledger that writes down what happens."""

    def __init__(self):
        self.events = []

    def reserve(self, statement):
        self.events.append("reserve")
        return self

    def draw(self):
        self.events.append("draw")

    def commit(self, outbox):
        self.events.append("commit")

    def refund(self):
        self.events.append("refund")


def run(book, track, loss=LOGISTIC, **options):
    X, y = make_data("cube", 100, 2, labels=loss.classification)
    prep = make_prep("cube", 2, labels=loss.classification)
    problem = Problem(loss, prep.geometry, Neighbouring.REPLACE_ONE, 100, None, ())
    mechanism = spec(steps=8, standardise="off", **options)
    return fitting.run_many(ArrayRows(X, y, prep), problem, mechanism, [1.0], 1e-5, book, Source(), track)


def test_an_interrupt_between_steps_releases_nothing_and_leaves_the_budget_spent():
    def interrupted(items, label):
        for item in items:
            if item == 3:
                raise KeyboardInterrupt
            yield item

    book = Book()
    with pytest.raises(KeyboardInterrupt):
        run(book, interrupted)
    assert book.events == ["reserve", "draw"]


def test_an_interrupt_before_the_first_noise_gives_the_budget_back():
    def interrupted(items, label):
        raise KeyboardInterrupt

    book = Book()
    with pytest.raises(KeyboardInterrupt):
        run(book, interrupted)
    assert book.events == ["reserve", "refund"]


def test_progress_sees_every_step_once():
    seen = []

    def track(items, label):
        for item in items:
            seen.append(item)
            yield item

    book = Book()
    (released,) = run(book, track, SQUARED)
    assert seen == list(range(8))
    assert book.events == ["reserve", "draw", "commit"]
    assert released.iterates.shape == (9, 3)
    assert isinstance(released.statement.guarantee, Gaussian)


def test_a_value_fault_is_found_before_any_noise(entropy):
    X, y = easy(n=50)
    X[3] = np.nan
    with pytest.raises(ValueError, match="must be finite"):
        fit(X, y)
    with pytest.raises(ValueError, match="must be finite"):
        fit(X, y, batch=5)
    assert entropy.bytes == 0


def test_planning_reads_no_row():
    problem = Problem(LOGISTIC, ball_prep(3, True, (0.0, 1.0)).geometry, Neighbouring.REPLACE_ONE, 100, None, ())
    assert spec().plan(problem, 1.0, 1e-5).settings.steps >= 1
    assert NullLedger().reserve(spec().plan(problem, 1.0, 1e-5).statement) is not None


def test_a_plan_reads_well():
    text = str(plan(steps=40, learning_rate=2.5, clip=0.5, averaging="tail"))
    assert "40 steps of rate 2.5 over all rows, momentum 0.9, clip 0.5, the last 10 averaged" in text
    assert "each row's gradient clipped to 0.5" in text


def test_progress_must_be_a_flag():
    with pytest.raises(TypeError, match="`progress` must be True or False"):
        dplr.fit(*easy(n=50), eps=1.0, progress="yes")


def test_progress_without_tqdm_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(UserWarning, match=r"\.\[progress\]"):
        dplr.fit(*easy(n=50), eps=1.0, delta=1e-5, mechanism=spec(steps=2), progress=True)
