"""Standardised noisy gradient descent clips numbers to ranges made of its own sums, for no further eps."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import fits as fitting
from dplr.bounds.scaling import box_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.noisy_gd.spec import frame_of
from dplr.mechanisms.protocol import CLIPS
from dplr.noise import Source
from dplr.plots._view import read_model
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient
from forgeries import forgery

pytestmark = pytest.mark.filterwarnings("ignore:missing values of X count", "ignore::dplr.PrivacyWarning")

PAIRS = [(0, 100), (-50, 50)]
BOUNDS = dplr.Bounds(PAIRS, target=(-100, 200))
FACTS = {"model": "linear", "mechanism": "ngd", "delta": 1e-6, "bounds": BOUNDS, "eps": 1.0}


def table(n=10_000, seed=0):
    """A number with a long tail, whose effect saturates, and one in the middle of wide bounds."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.exponential(5, n).clip(0, 100), rng.normal(0, 8, n).clip(-50, 50)])
    return X, 3 * np.minimum(X[:, 0], 12) + X[:, 1] + rng.normal(0, 4, n)


def ngd(ranges):
    return dplr.NoisyGradientDescent(ranges=ranges)


def fit(X, y, **changes):
    return dplr.fit(X, y, **FACTS | changes)


def clips(**changes):
    """Whether the statement of a plan says so."""
    return CLIPS in dplr.plan(**{**FACTS, "n_rows": 10_000} | changes).statement.assumptions


# ---- what it costs ----


@pytest.mark.parametrize("eps", [0.1, 1.0, 8.0])
def test_it_costs_nothing_and_changes_no_noise(eps):
    """Plan and statement are those without ranges, but for one sentence."""
    with_it, without = (
        dplr.plan(**FACTS | {"n_rows": 10_000, "eps": eps, "mechanism": ngd(each)}) for each in ("auto", "off")
    )
    assert with_it.statement.assumptions == (*without.statement.assumptions, CLIPS)
    assert with_it.settings == without.settings
    for name in without.statement.__slots__:
        if name != "assumptions":
            assert getattr(with_it.statement, name) == getattr(without.statement, name)


def test_the_sums_of_the_columns_are_those_of_rows_that_are_not_clipped():
    X, y = table(2_000)
    with_it, without = (fit(X, y, mechanism=ngd(each), rng=5) for each in ("auto", "off"))
    for name in ("means", "squares"):
        assert_array_equal(with_it.released_[name], without.released_[name])
    assert (with_it.released_["gradients"] != without.released_["gradients"]).any()
    assert with_it.ranges_
    assert not without.ranges_


class Recorded(Source):
    """A source that keeps what it drew."""

    def __init__(self):
        super().__init__()
        self.variances, self.noise = [], []

    def gaussian(self, variance, size):
        self.variances.append(variance)
        self.noise.append(super().gaussian(variance, size))
        return self.noise[-1]


def test_every_release_is_the_floored_sum_of_clipped_rows_plus_its_own_noise():
    X, y = table(3_000)
    prep = box_prep(PAIRS, True, None, (-100.0, 200.0))
    rows, source = ArrayRows(X, y, prep), Recorded()
    problem = Problem(SQUARED, prep.geometry, Neighbouring.REPLACE_ONE, 3_000, None, (), clippable=(0, 1))
    mechanism = dplr.NoisyGradientDescent(standardise="on", steps=3)
    found = fitting.run(rows, problem, mechanism, 2.0, 1e-6, NullLedger(), source)
    planned = mechanism.plan(problem, 2.0, 1e-6)
    middles, half_widths = planned.mechanism.intervals_of(planned, found.released)
    assert (half_widths < prep.geometry.half_width).all()
    ends = [(middles + side * half_widths) * 2**20 / prep.scale[:2] + prep.shift[:2] for side in (-1, 1)]
    frame, walk, block = frame_of(found.released, planned), planned.settings, planned.statement.released["gradients"]
    moved = frame.of(ArrayRows(np.clip(X, *ends), y, prep))
    query = ClippedGradient(SQUARED, 2, True, walk.clip * frame.shrink)
    for step, noise in enumerate(source.noise[2:]):
        point = np.round(frame.points(found.iterates[step]) * 2**20) / 2**20
        exact = moved.total(query, point).integers(round(math.log2(block.grid * frame.shrink)))
        assert_array_equal(found.released["gradients"][step], (exact + noise) * block.grid)
    assert source.variances[2:] == [block.units] * 3
    assert source.variances[:2] == [planned.statement.released[name].units for name in ("means", "squares")]


# ---- what it does ----


def test_ranges_are_the_mean_and_three_deviations_of_what_was_released():
    """In units of the first number: a scaled unit is 50 / c of them, from their middle, 50."""
    X, y = table()
    est = fit(X, y)
    c = est._record.prep.geometry.half_width
    means, squares = est.released_["means"] / len(X), est.released_["squares"] / len(X)
    noise = est.privacy_.released["squares"].scale / len(X)
    reach = 3 * np.sqrt(np.maximum(squares - means**2, 0) + noise)
    low, high = (np.clip(means + side * reach, -c, c) * 50 / c + [50, 0] for side in (-1, 1))
    assert list(est.ranges_) == ["column 0", "column 1"]
    assert_allclose(list(est.ranges_.values()), np.transpose([low, high]), atol=1e-9)
    assert 5 < high[0] < 50  # of numbers of mean 5 and deviation 5, at most 100; 22 with a deviation of 4


@pytest.mark.parametrize("declared", [2_000, 10_000, 100_000])
def test_ranges_are_over_the_released_records_whatever_reference_was_declared(declared):
    X, y = table()
    est = fit(X, y, neighbouring="add_remove", n_rows=declared, rng=5)
    (records,), c = est.released_["records"], est._record.prep.geometry.half_width
    assert records == pytest.approx(10_000, abs=200)
    means, squares = est.released_["means"] / records, est.released_["squares"] / records
    reach = 3 * np.sqrt(np.maximum(squares - means**2, 0) + est.privacy_.released["squares"].scale / records)
    low, high = (np.clip(means + side * reach, -c, c) * 50 / c + [50, 0] for side in (-1, 1))
    assert_allclose(list(est.ranges_.values()), np.transpose([low, high]), atol=1e-9)
    assert (low[1], high[1]) == pytest.approx((-24, 24), rel=0.2)  # three deviations of 8


def test_fit_and_predictions_clip_in_the_same_way():
    """With next to no noise: least squares of the clipped columns."""
    X, y = table(50_000)
    spec = dplr.NoisyGradientDescent(steps=500, learning_rate=1.0, clip=2.0)
    est = fit(X, y, eps=1e3, mechanism=spec)
    ends = np.transpose(list(est.ranges_.values()))
    clipped = np.clip(X, *ends)
    assert 0.01 < (clipped != X).any(axis=1).mean() < 0.1
    expected = np.linalg.lstsq(np.column_stack([clipped, np.ones(len(X))]), y, rcond=None)[0]
    other = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    assert_allclose([*est.coef_, est.intercept_], expected, rtol=1e-2)
    assert abs(other[0] / expected[0] - 1) > 0.05
    assert_array_equal(est.predict(X), est.predict(clipped))
    assert np.ptp(est.predict(np.array([[ends[1, 0], 0.0], [99.0, 0.0], [1e9, 0.0]]))) == 0


def test_it_pays_where_an_effect_saturates():
    """R^2 of 20 fits is 0.873 with ranges, and 0.837 without; the standard error of the difference is 0.003."""
    X, y = table(20_000)
    held_X, held_y = table(20_000, seed=1)
    scores = {}
    for each in ("auto", "off"):
        fits = dplr.fit_many(X, y, **FACTS | {"eps": [1.0] * 20, "mechanism": ngd(each)})
        scores[each] = np.mean([est.score(held_X, held_y) for est in fits])
    assert scores["auto"] > scores["off"] + 0.015


def test_levels_and_marks_of_missing_values_keep_their_bounds():
    rng = np.random.default_rng(3)
    X, y = table(5_000)
    a = np.where(rng.random(len(X)) < 0.2, np.nan, X[:, 0])
    yes = rng.choice(["no", "yes"], len(X), p=[0.99, 0.01])
    frame = pd.DataFrame({"a": a, "b": X[:, 1], "yes": yes, "kind": rng.choice(["x", "y", "z"], len(X))})
    bounds = dplr.Bounds(
        {
            "kind": {"levels": ["x", "y", "z"]}, "yes": {"levels": ["no", "yes"], "binary": True},
            "a": {"lower": -100, "upper": 200, "missing": "indicator"}, "b": (-50, 50),
        },
        target=(-100, 200),
    )  # fmt: skip
    est = fit(frame, y, bounds=bounds, eps=30.0)
    assert list(est.ranges_) == ["a", "b"]
    assert_allclose(est.ranges_["b"], [-24, 24], rtol=0.1)  # three deviations of 8
    low, high = est.ranges_["a"]  # around the middle of the bounds, which the missing fifth counts as
    assert (low + high) / 2 == pytest.approx(50)
    assert 60 < high - low < 240  # of 300
    far = frame.assign(a=frame["a"].clip(*est.ranges_["a"]), b=frame["b"].clip(*est.ranges_["b"]))
    assert_allclose(est.predict(frame), est.predict(far), rtol=1e-12)


def test_a_frame_and_its_array_have_the_same_bits():
    X, y = table(2_000)
    named = dplr.Bounds({"a": (0, 100), "b": (-50, 50)}, target=(-100, 200))
    one, other = fit(X, y, rng=5), fit(pd.DataFrame(X, columns=["a", "b"]), y, rng=5, bounds=named)
    assert_array_equal(one.released_["gradients"], other.released_["gradients"])
    assert_array_equal(one.coef_, other.coef_)
    assert list(one.ranges_.values()) == list(other.ranges_.values())


@pytest.mark.parametrize("n", [1_000, 10**6])
def test_ranges_lie_within_the_bounds_and_are_not_too_narrow_whatever_was_released(n):
    geometry = box_prep(PAIRS, True, None, (-100.0, 200.0)).geometry
    problem = Problem(SQUARED, geometry, Neighbouring.REPLACE_ONE, n, None, (), clippable=(0, 1))
    planned = dplr.NoisyGradientDescent(standardise="on").plan(problem, 1.0, 1e-6)
    rng, c = np.random.default_rng(0), geometry.half_width
    noise = planned.statement.released["squares"].scale / n
    for size in (0.1, 1.0, 3.0):
        means, squares = size * c * rng.uniform(-1, 1, (1_000, 2)), size * c**2 * rng.uniform(-1, 1, (1_000, 2))
        for one, two in zip(means, squares, strict=True):
            middles, half_widths = planned.mechanism.intervals_of(planned, {"means": n * one, "squares": n * two})
            assert (np.abs(middles) + half_widths <= c * (1 + 1e-15)).all()
            assert (half_widths >= 0.05 * c).all()
            assert (np.abs(np.clip(one, -c, c) - middles) <= half_widths * (1 + 1e-12)).all()
            reach = np.minimum(3 * np.sqrt(np.maximum(two - np.clip(one, -c, c) ** 2, 0) + noise), c)
            assert (half_widths >= reach / 2 * (1 - 1e-12)).all()  # a half of it may be cut at the bounds


# ---- when ----


def test_only_numeric_targets_whose_rows_are_standardised_with_noise_clip():
    assert clips()
    assert not clips(mechanism=ngd("off"))
    assert not clips(model="logistic", bounds=dplr.Bounds(PAIRS))
    assert not clips(model="svm", bounds=dplr.Bounds(PAIRS))
    assert not clips(eps=math.inf, delta=0.0)
    assert clips(neighbouring="add_remove")
    assert not clips(mechanism=dplr.NoisyGradientDescent(standardise="off"))
    assert not clips(eps=0.05, n_rows=300)  # not standardised
    assert clips(mechanism=dplr.NoisyGradientDescent(standardise="on"))
    assert not clips(mechanism=dplr.NoisyGradientDescent(standardise="on"), public=(np.zeros(2), 0.0))
    assert not clips(bounds=dplr.Bounds({"kind": {"levels": ["x", "y"]}}, target=(-1, 1)))
    assert not clips(mechanism="fm")
    assert not clips(l2=0.1)


def test_without_noise_nothing_is_clipped():
    X, y = table(500)
    assert not fit(X, y, eps=math.inf, delta=0.0).ranges_


def test_ranges_that_are_bought_first_are_the_only_ones():
    est = fit(*table(5_000), mechanism=ngd("on"))
    assert list(est.released_) == ["range_sums", "range_squares", "means", "squares", "gradients"]
    assert CLIPS not in est.privacy_.assumptions
    c, n = est._record.prep.geometry.half_width, 5_000
    mean = np.clip(est.released_["range_sums"][0] / n, -c, c) * 50 / c + 50
    low, high = est.ranges_["column 0"]
    assert low < mean < high


# ---- with everything else ----


def test_every_fit_has_ranges_of_its_own():
    X, y = table(2_000)
    one, two, three = dplr.fit_many(X, y, **FACTS | {"eps": [1.0, 1.0, 3.0]})
    assert one.ranges_ != two.ranges_ != three.ranges_
    for est in (one, two, three):
        ends = np.transpose(list(est.ranges_.values()))
        assert_array_equal(est.predict(X), est.predict(np.clip(X, *ends)))


def test_history_ends_at_the_coefficients():
    est = fit(*table(2_000), mechanism=dplr.NoisyGradientDescent(steps=8))
    assert est.ranges_
    assert_allclose(est.coef_, est.history_.coefs[-2:].mean(axis=0), rtol=1e-9)
    assert_allclose(est.intercept_, est.history_.intercepts[-2:].mean(), rtol=1e-9)
    assert not est.history_.coefs[0].any()


@pytest.mark.parametrize("facts", [{}, {"neighbouring": "add_remove", "n_rows": 2_000}], ids=["replace", "add"])
def test_a_saved_model_clips_as_before(facts, tmp_path):
    X, y = table(2_000)
    est = fit(X, y, **facts)
    dplr.save_model(est, tmp_path / "model.json")
    read = dplr.load_model(tmp_path / "model.json")
    assert read.ranges_ == est.ranges_ != {}
    assert read.privacy_ == est.privacy_
    assert_array_equal(read.predict(X), est.predict(X))


def forbid(model):
    model["parameters"]["mechanism"]["ranges"] = "off"


def hide(model):
    model["statement"]["assumptions"].remove(CLIPS)


def claim(model):
    model["statement"]["assumptions"].append(CLIPS)


@pytest.mark.parametrize(("ranges", "change"), [("auto", forbid), ("auto", hide), ("off", claim)])
def test_files_that_do_not_say_what_was_clipped_are_refused(ranges, change, tmp_path):
    path = forgery(fit(*table(500), mechanism=ngd(ranges)), tmp_path / "model.json", change)
    with pytest.raises(dplr.model_file.ModelFileError, match="numbers are clipped where they are, and only there"):
        dplr.load_model(path)


def forget(model):
    for blocks in (model["released"][0], model["statement"]["released"]):
        blocks[:] = [block for block in blocks if block["block"] != "records"]


def test_a_file_without_the_number_of_records_is_refused(tmp_path):
    est = fit(*table(500), neighbouring="add_remove", n_rows=500)
    with pytest.raises(dplr.model_file.ModelFileError, match=r"must be about the blocks.*records"):
        dplr.load_model(forgery(est, tmp_path / "model.json", forget))


def test_a_public_start_is_saved_without_ranges(tmp_path):
    X, y = table(2_000)
    est = fit(X, y, mechanism=dplr.NoisyGradientDescent(standardise="on"), public=(np.array([1.0, 1.0]), 0.0))
    assert not est.ranges_
    dplr.save_model(est, tmp_path / "model.json")
    assert_array_equal(dplr.load_model(tmp_path / "model.json").predict(X), est.predict(X))


def test_plain_models_and_pictures_clip_too():
    X, y = table(2_000)
    est = fit(X, y)
    far = np.vstack([X, [[100.0, 50.0]]])
    assert_allclose(est.to_sklearn().predict(far), est.predict(far), rtol=1e-12, atol=1e-12)
    model = read_model(est)
    assert_array_equal(model.reach, list(est.ranges_.values()))
    with pytest.raises(ValueError, match="`public` must have no ranges of its own"):
        fit(X, y, public=est)


def test_clipped_rows_keep_their_scale_and_coefficients():
    prep = box_prep([(0.0, 100.0), (-1.0, 1.0)], True, None, (-1.0, 1.0))
    c = prep.geometry.half_width
    other = prep.clipped(np.array([-c / 2, 0.0]), np.array([c / 4, c]))
    for name in ("shift", "scale"):
        assert_array_equal(getattr(other, name), getattr(prep, name))
    assert other.geometry == prep.geometry
    assert_allclose(other.limits, [[12.5, -np.inf], [37.5, np.inf]])
    assert_allclose(other.low / 2**20, [-0.75 * c, -c, -1])
    assert_allclose(other.high / 2**20, [-0.25 * c, c, 1])
    assert prep.limits is None
    coef = np.array([0.3, -0.2, 0.1])
    for one, two in zip(prep.to_user_units(coef), other.to_user_units(coef), strict=True):
        assert_array_equal(one, two)
